"""Results in the formats of other tools: `lasthop export` and `lasthop.export`.

One file per format; `registry` lists them. Each is written from a result's tables, so analysed captures and runs in
real time can be exported, too. `mahimahi` also reads logs of mm-link.
"""

from lasthop.exchange.mahimahi import read_log, trace_of_log
from lasthop.exchange.registry import FORMATS, export

__all__ = ["FORMATS", "export", "read_log", "trace_of_log"]
