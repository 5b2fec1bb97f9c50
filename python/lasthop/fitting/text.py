"""A fitted link as a commented scenario file."""

from __future__ import annotations

from typing import Final

from lasthop.fitting.direction import Direction, Figure
from lasthop.fitting.link import Fit

ROOM: Final = 10
"""Limit of a queue that was never full, as a multiple of its longest length."""
LEAST_DELAY: Final = 1e-6
"""Least delay of reordered packets in seconds: below it, the text of a delay is zero, which reorders nothing."""
LEAST_BACK_RATE: Final = 10e6
"""Rate in bit/s of a reverse direction without queued packets, unless the other direction was faster."""


def scenario_text(fit: Fit, profile: str, name: str = "my-link") -> str:
    """Return the link with the capture's transfer over it, as the TOML text of a scenario that runs."""
    sender, receiver = fit.view.ends[fit.view.bulk_sender], fit.view.ends[1 - fit.view.bulk_sender]
    return f"""\
# A link fitted to what {fit.seen_from} saw: {sender} sent to {receiver}, {fit.seconds:.1f} s.
# Look at another TCP, or another queue, on the same link:
#   lasthop run {name}.toml --set hosts.server.profile=linux-6-bbr
#   lasthop run {name}.toml --set links.lasthop.down.queue.discipline=fq-codel
# A comment after each key gives its 95 % interval, its confidence, and its basis.
name = "{name}"
summary = "a link fitted to a capture"
flows = [{{ name = "transfer", from = "server", to = "mobile", bytes = "{max(fit.trips.acknowledged, 1)} bytes" }}]

[hosts]
server = {{ profile = "{profile}" }}
mobile = {{ profile = "{profile}" }}

[[links]]
name = "lasthop"
between = ["server", "mobile"]
{_down(fit)}
{_up(fit)}
[record]
tables = ["segments", "tcp", "packets", "queue"]
captures = ["server"]
"""


def _down(fit: Fit) -> str:
    one = fit.forward
    share = 1.0 if fit.backward else 0.5
    how = "" if fit.backward else "; half of both directions, which the sender's capture cannot separate"
    return (
        "[links.down]\n"
        + _rate(one)
        + _delay(one.delay, share, how)
        + _troubles(one)
        + _queue(one)
        + _tables(one, "down")
    )


def _up(fit: Fit) -> str:
    one = fit.backward
    least = max(fit.forward.rate.value if fit.forward.rate else 0.0, LEAST_BACK_RATE)
    if one is None:
        assumed = f'rate = "{_bits(least)}"  # assumed: a capture of the sender alone does not show this way\n'
        return "[links.up]\n" + assumed + _delay(fit.forward.delay, 0.5, "; the other half")
    return (
        "[links.up]\n"
        + (_rate(one) if one.rate else _assumed_rate(one, least))
        + _delay(one.delay, 1.0, "")
        + _troubles(one)
        + _queue(one)
        + _tables(one, "up")
    )


def _assumed_rate(one: Direction, rate: float) -> str:
    """Return the key of a rate that the packets of a way do not show."""
    why = "no packet queued on this way"
    if one.at_least is not None:
        why = f"never filled: its packets waited for grants or repairs as well; at least {_bits(one.at_least)}"
    return f'rate = "{_bits(rate)}"  # assumed, not measured: {why}\n'


def _rate(one: Direction) -> str:
    if one.at_least is not None:
        return _assumed_rate(one, max(one.at_least, LEAST_BACK_RATE))
    if one.rate is None:
        return "# No packet queued: the rate is not known, and transmission takes no time.\n"
    spread = f"{_bits(one.rate.low)} to {_bits(one.rate.high)}"
    if one.steps:
        return f"# The rate varies, {spread}: see capacity below ({one.rate.basis}).\n"
    return f'rate = "{_bits(one.rate.value)}"  # {spread}; {_sure(one.rate)}\n'


def _delay(figure: Figure, share: float, how: str) -> str:
    low, high = (f"{1e3 * share * bound:.3f}" for bound in (figure.low, figure.high))
    return f'propagation = "{_seconds(share * figure.value)}"  # {low} to {high} ms; {_sure(figure)}{how}\n'


def _queue(one: Direction) -> str:
    discipline = "" if one.discipline == "tail-drop" else f', discipline = "{one.discipline}"'
    if one.queue:
        limit = max(round(one.queue.value), 1)
        note = f"{one.queue.low:.0f} to {one.queue.high:.0f}; {_sure(one.queue)}"
        return f'queue = {{ limit = "{limit} packets"{discipline} }}  # {note}\n'
    limit = max(ROOM * one.longest_queue, 100)
    note = f"never full: up to {one.longest_queue} waited, so the limit is not known"
    if discipline:
        note = (
            f"losses come with long queues, far from any limit: an active queue; low; up to {one.longest_queue} waited"
        )
    return f'queue = {{ limit = "{limit} packets"{discipline} }}  # {note}\n'


def _troubles(one: Direction) -> str:
    text = ""
    if one.loss.value > 0:
        interval = f"{one.loss.low:.2g} to {one.loss.high:.2g}"
        text += f'errors = {{ effect = "drop", probability = {one.loss.value:.3g} }}  # {interval}; {_sure(one.loss)}\n'
    mean, deviation = one.reordering_delay
    if one.reordering and mean < LEAST_DELAY:
        text += "# Packets were overtaken, but by less than a microsecond: that is left out.\n"
    elif one.reordering:
        delay = f'"{_seconds(mean)}"'
        if deviation > 0.2 * mean:
            delay = f'{{ normal = {{ mean = "{_seconds(mean)}", deviation = "{_seconds(deviation)}" }} }}'
        share = one.reordering
        note = f"{share.low:.2g} to {share.high:.2g}; {_sure(share)}"
        text += f"reordering = {{ probability = {share.value:.3g}, delay = {delay} }}  # {note}\n"
    return text


def _tables(one: Direction, way: str) -> str:
    text = ""
    if one.spikes:
        starts = [start for start, _ in one.spikes]
        lengths = [length for _, length in one.spikes]
        ends = [0.0, *(start + length for start, length in one.spikes[:-1])]
        intervals = [max(start - end, 1e-3) for start, end in zip(starts, ends, strict=True)]
        text += f"[links.{way}.spikes]  # {len(starts)} times, with no arrival although packets waited\n"
        text += f"interval = {_spread(intervals)}\nlength = {_spread(lengths)}\n"
    if one.steps:
        steps = "\n".join(f'    {{ at = "{at:.3f} s", rate = "{_bits(rate)}" }},' for at, rate in one.steps)
        text += f"[links.{way}.capacity.schedule]  # the rate as the queue showed it\nsteps = [\n{steps}\n]\n"
    return text


def _spread(values: list[float]) -> str:
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f'"{_seconds(mean)}"'
    deviation = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5
    return f'{{ normal = {{ mean = "{_seconds(mean)}", deviation = "{_seconds(deviation)}" }} }}'


def _sure(figure: Figure) -> str:
    return f"{figure.confidence} ({figure.basis})"


def _bits(rate: float) -> str:
    return f"{max(round(rate), 1)} bit/s"


def _seconds(seconds: float) -> str:
    return f"{max(seconds, 0.0) * 1e3:.3f} ms"
