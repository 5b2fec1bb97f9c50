"""A scenario and a study that run in a moment, as texts that tests may spoil."""

BASE = """
name = "base"
[hosts.server]
profile = "newreno"
[hosts.mobile]
profile = "newreno"
[[links]]
name = "lasthop"
between = ["server", "mobile"]
[links.down]
rate = "100 kbit/s"
propagation = "50 ms"
queue = { limit = "7 packets" }
[links.up]
rate = "100 kbit/s"
propagation = "50 ms"
[[flows]]
name = "download"
from = "server"
to = "mobile"
bytes = "60 kB"
"""

STUDY = """
title = "Queues and delays, small"
source = "these tests"
scenario = "./base.toml"
columns = ["table", "queue", "delay", "metric"]

[published]
file = "published.csv"

[[variables.queue]]
form = "{packets}"
set = { "links.lasthop.down.queue.limit" = "{packets} packets" }

[[variables.delay]]
form = "none"

[[variables.delay]]
form = "random"
set = { "links.lasthop.down.errors" = { per = "packet", probability = 0.05, effect = "delay", delay = "1 s" } }
replications = 4

[[variables.delay]]
form = "{packet}@{seconds}s"
set = { "links.lasthop.down.events" = [{ packet = "{packet}", delay = "{seconds} s" }] }
span = { over = "links.lasthop.down.events.*.packet", add = [-1, 0, 1] }

[metrics.elapsed_s]
says = "seconds until the last ACK"
flow = "elapsed_s"
fold = "max"

[metrics.drops]
says = "packets that overflowed the queue"
link = "lasthop.down.queue_drops"

[metrics.drops_slowstart]
says = "those before the first retransmission"
check = "drops_slowstart"
tables = ["packets"]

[[tables]]
id = "1"
title = "No delay, and one"
cases = [{ queue = [3, 7], delay = ["none", "10@2s"] }]
metrics = ["elapsed_s", "drops", "drops_slowstart"]

[[tables]]
id = "2"
title = "Random delays"
cases = [{ queue = 7, delay = "random" }]
metrics = ["elapsed_s"]

[[claims]]
id = "1"
says = "A delay takes time."
place = "nowhere"
holds = "with > without + 1"

[claims.values]
without = { table = "1", queue = "7", delay = "none", metric = "elapsed_s" }
with = { table = "1", queue = "7", delay = "10@2s", metric = "elapsed_s" }

[[claims]]
id = "2"
says = "The queue was full."
place = "nowhere"
check = "queue_was_full"
cases = [{ queue = 3, delay = "none" }]
tables = ["queue"]
"""

PUBLISHED = """table,queue,delay,stat,metric,value,uncertain
1,7,none,q25,elapsed_s,5.4,0
1,7,none,median,elapsed_s,5.5,0
2,7,random,median,elapsed_s,9.0,1
"""

CHECKS = '''
"""The small study's own check."""

from lasthop.study import Evidence, Verdict


def queue_was_full(evidence: Evidence) -> Verdict:
    """Whether the queue ever held as many packets as it may."""
    longest = {case: max(run.tables["queue"]["packets"].to_pylist()) for case, run in evidence.by("queue").items()}
    return Verdict(longest == {3: 3}, f"longest queue {longest}")
'''
