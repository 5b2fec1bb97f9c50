"""One self-contained page of one or several runs: `lasthop report`.

`payload` turns a run's tables into the numbers that the page shows, `packing` packs them, `page` writes the HTML. The
page's program is TypeScript, in `web/`; its built form, `viewer.js` and `viewer.css`, stands beside this file in the
wheel.
"""

from lasthop.report.page import write_report

__all__ = ["write_report"]
