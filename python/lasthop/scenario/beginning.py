"""The text of a first scenario: a server, a mobile host, the link between them, and a download."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from lasthop import catalogue
from lasthop.errors import InputError

DELAY = "25 ms"
"""Default one-way propagation delay."""
QUEUE = "100 packets"
"""Default limit of the queue."""


@dataclass(frozen=True)
class Answers:
    """The values of the file. `link` is a preset; without one, `rate`, `delay` and `queue` describe the link.

    An empty string is a value that was not given; a preset has its own queue.
    """

    name: str
    link: str
    rate: str = ""
    delay: str = ""
    queue: str = ""
    server: str = "linux-6"
    mobile: str = "linux-6"
    flows: int = 1
    amount: str = "5 MB"
    against: str = ""


def scenario_text(answers: Answers) -> str:
    """Return the text of the file."""
    return f"""\
# What this shows, and where to look. `lasthop show reference/scenario` describes each key; any key can be
# changed on the command line: lasthop run {answers.name}.toml --set links.lasthop.down.queue.discipline=codel
name = "{answers.name}"

# `lasthop list profiles` names the TCPs; `lasthop show {answers.server}` shows one with its sources.
[hosts]
server = {{ profile = "{answers.server}" }}
mobile = {{ profile = "{answers.mobile}" }}

{_link_text(answers)}
# `from` opens the connection and sends. `lasthop list workloads` has others: web, voip, interactive, …
# Instead of bytes it may be until = "30 s".
[[flows]]
name = "download"
from = "server"
to = "mobile"
bytes = "{answers.amount}"
{_count_text(answers)}{_rival_text(answers)}
# Recorded with --out: for pictures, `lasthop explain`, `lasthop report`, and Wireshark.
[record]
tables = ["segments", "tcp", "packets", "queue"]
captures = ["server"]
"""


def _link_text(answers: Answers) -> str:
    return _preset_text(answers.link, answers.queue) if answers.link else _own_link_text(answers)


def _preset_text(preset: str, queue: str) -> str:
    if _is_shared(preset):
        if queue:
            raise InputError("a shared channel has no queue of its own", help="leave --queue out")
        return f"""\
# A shared channel replaces the direction "down"; further links can add users to it (`channel`). `lasthop show {preset}`
# describes it, `lasthop list schedulers` lists its schedulers: cell.scheduler = "max-rate"
[[links]]
name = "lasthop"
between = ["server", "mobile"]
preset = "{preset}"
up = {{}}
"""
    own = f'{{ queue = {{ limit = "{queue}" }} }}' if queue else "{}"
    return f"""\
# The direction "down" leads from the first to the second. `lasthop show {preset}` has the rates, delays, queues; keys
# under down and up replace them: down = {{ queue = {{ limit = "50 packets" }} }}
[[links]]
name = "lasthop"
between = ["server", "mobile"]
preset = "{preset}"
down = {own}
up = {own}
"""


def _is_shared(preset: str) -> bool:
    """Whether a preset of the library is a shared channel."""
    files = {entry.name: entry.path for entry in catalogue.entries("presets")}
    return preset in files and "cell" in tomllib.loads(files[preset].read_text("utf-8"))


def _own_link_text(answers: Answers) -> str:
    delay, queue = answers.delay or DELAY, answers.queue or QUEUE
    one = f'{{ rate = "{answers.rate}", propagation = "{delay}", queue = {{ limit = "{queue}" }} }}'
    return f"""\
# The direction "down" leads from the first to the second. `lasthop show reference/link` has all keys of a link.
[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = {one}
up = {one}
"""


def _rival_text(answers: Answers) -> str:
    if not answers.against:
        return ""
    return f"""
# The same by another TCP: `profile` here is that of both ends, for these connections only.
[[flows]]
name = "against"
from = "server"
to = "mobile"
profile = "{answers.against}"
bytes = "{answers.amount}"
{_count_text(answers)}"""


def _count_text(answers: Answers) -> str:
    if answers.flows == 1:
        return ""
    return f'count = {answers.flows}\nstart = {{ uniform = ["0 s", "1 s"] }}\n'
