"""`lasthop fit`: estimates a link from captures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from lasthop.cli.console import complain, print_json, print_line, print_table, remark
from lasthop.errors import InputError

if TYPE_CHECKING:
    from lasthop.fitting import Fit
    from lasthop.fitting.direction import Direction, Figure
    from lasthop.fitting.rerun import Rerun
    from lasthop.joining.clocks import Choice


@click.command(name="fit")
@click.argument("captures", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="CAPTURE…")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the link as a scenario that runs.")
@click.option("--flow", metavar="NAME", help="A connection, named as in `lasthop analyze` [the one with most data].")
@click.option(
    "--profile",
    metavar="NAME",
    default="linux-6",
    show_default=True,
    help="The TCP of both ends in the rerun.",
)
@click.option(
    "--clocks",
    type=click.Choice(["auto", "same", "different"]),
    default="auto",
    show_default=True,
    help="Whether the captures of both ends were stamped by one clock.",
)
@click.option("--no-rerun", is_flag=True, help="Leave out the rerun over the fitted link.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@click.pass_context
def command(
    context: click.Context,
    captures: tuple[Path, ...],
    out: Path | None,
    flow: str | None,
    profile: str,
    clocks: str,
    no_rerun: bool,
    as_json: bool,
) -> None:
    """Estimate the link that a bulk transfer in CAPTURE crossed: rate, base delay, queue, losses, delay spikes and
    reordering, each with its interval and confidence. Captures of both ends give all of them; a capture of the sender
    gives less.

    The same transfer is then run over the fitted link, and the error is printed. If goodput or round trip are off by
    more than a quarter, the link is not proved: possible reasons are printed, and the status is 1.

    --out writes the link as a scenario; --set then shows what BBR, or FQ-CoDel, would have done, and `shell`, `fetch`
    and `router` take it as a link.

    \b
    Examples:
      lasthop fit server.pcapng phone.pcapng --out my-link.toml
      lasthop run my-link.toml --set hosts.server.profile=linux-6-bbr
      lasthop run my-link.toml --set links.lasthop.down.queue.discipline=fq-codel
      lasthop shell --link my-link.toml
    """
    from lasthop.fitting import fit, proof_of, rerun, scenario_text

    if out is not None and out.exists():
        raise InputError("exists, and is not overwritten", file=str(out), help="choose another name")
    found = fit(captures, flow=flow, clocks=cast("Choice", clocks))
    again = None if no_rerun else rerun(found, profile)
    proof = proof_of(found, again) if again else None
    if out is not None:
        _write(out, scenario_text(found, profile, out.stem), proved=proof is None or proof.holds)
    if as_json:
        checks = {"rerun": again.to_json() if again else None, "proof": proof.to_json() if proof else None}
        print_json({**found.to_json(), **checks})
    else:
        _print(found)
        if again:
            _print_rerun(again)
    if proof and not proof.holds:
        complain("the rerun is off by more than a quarter: the fitted link is not proved")
        for reason in proof.reasons:
            remark(f"  {reason}")
        context.exit(1)


def _write(out: Path, text: str, proved: bool) -> None:
    """Write the scenario, which `lasthop run` would take."""
    from lasthop.scenario import parse_scenario

    parse_scenario(text, source=str(out))
    try:
        out.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"cannot write here: {error.strerror}", file=str(out), help="choose --out") from error
    then = f"; now: lasthop run {out} --out results/{out.stem}, or lasthop shell --link {out}" if proved else ""
    remark(f"wrote {out}{then}")


def _print(found: Fit) -> None:
    fitted = found.to_json()
    print_line(f"{fitted['flow']}: captured at {fitted['seen_from']}, {found.seconds:.1f} s", style="bold")
    if found.clocks:
        print_line(f"clocks: {found.clocks.assumption}; the base delay of both ways together does not depend on it")
    rows = _rows("there" if found.backward else "there and back", found.forward)
    if found.backward:
        rows += _rows("back", found.backward)
    print_table(None, ["way", "figure", "value", "from", "to", "unit", "sure", "by"], rows)


def _rows(way: str, one: Direction) -> list[list[object]]:
    figures: list[tuple[str, Figure | None, float, str]] = [
        ("rate, mean" if one.steps else "rate", one.rate, 1e-6, "Mbit/s"),
        ("base delay", one.delay, 1e3, "ms"),
        ("queue limit", one.queue, 1.0, "packets"),
        ("random loss", one.loss, 100.0, "%"),
        ("reordering", one.reordering, 100.0, "%"),
    ]
    rows: list[list[object]] = []
    for name, figure, factor, unit in figures:
        if figure is not None:
            values = [f"{factor * value:.4g}" for value in (figure.value, figure.low, figure.high)]
            rows.append([way, name, *values, unit, figure.confidence, figure.basis])
    if one.rate is None:
        rows.insert(0, [way, "rate", "unknown", None, None, "Mbit/s", "none", _why_no_rate(one)])
    if one.queue is None:
        basis = f"never full; up to {one.longest_queue} packets waited"
        rows.append([way, "queue limit", "unknown", None, None, "packets", "none", basis])
    if one.spikes:
        lengths = [1e3 * length for _, length in one.spikes]
        values = [f"{sum(lengths) / len(lengths):.4g}", f"{min(lengths):.4g}", f"{max(lengths):.4g}"]
        rows.append([way, "delay spikes", *values, "ms", "medium", f"{len(lengths)} pauses while packets waited"])
    if one.discipline != "tail-drop":
        rows.append([way, "discipline", one.discipline, None, None, None, "low", "losses far from any limit"])
    return rows


def _why_no_rate(one: Direction) -> str:
    if one.at_least is None:
        return "no packet queued on this way"
    return f"never filled: packets waited for grants or repairs as well; at least {1e-6 * one.at_least:.4g}"


def _print_rerun(again: Rerun) -> None:
    print_line()
    rows: list[list[object]] = [
        [
            "goodput, Mbit/s",
            *(f"{1e-6 * value:.3f}" for value in again.goodput),
            f"{100 * again.error(again.goodput):+.1f} %",
        ],
        [
            "95 % round trip, ms",
            *(f"{1e3 * value:.1f}" for value in again.rtt_high),
            f"{100 * again.error(again.rtt_high):+.1f} %",
        ],
    ]
    print_table(f"The same transfer by {again.profile}, over the fitted link", ["", "capture", "rerun", "error"], rows)
