"""`lasthop cc`: congestion controls of Linux, in C."""

from __future__ import annotations

from pathlib import Path

import click

from lasthop.cli.console import print_json, print_line, print_table
from lasthop.cli.options import JSON


@click.group(name="cc")
def command() -> None:
    """Compile congestion controls of Linux, in C and unmodified.

    \b
    Examples:
      lasthop cc build tcp_mine.c
    """


@command.command(name="build")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.so", help="Write the plug-in to this file."
)
@JSON
def build(file: Path, out: Path | None, as_json: bool) -> None:
    """Compile a congestion-control module of Linux, load it, and show its name, its parameters, and the variables of
    its own state, which the key `state` records.

    FILE is C with a struct tcp_congestion_ops, as net/ipv4/tcp_cubic.c. It is compiled by the system's compiler (cc,
    gcc or clang, or the one in CC) against headers of lasthop's own. A scenario names the file itself, or the plug-in
    that --out writes, which needs no compiler: congestion = { linux = "tcp_mine.c" }. The module runs with your rights.

    \b
    Examples:
      lasthop cc build tcp_mine.c
      lasthop cc build tcp_mine.c --out tcp_mine.so --json
    """
    from lasthop.congestion.modules import build_module

    module = build_module(file)
    if out is not None:
        if out.suffix != ".so":
            raise click.BadParameter(f"{out} does not end in .so, as scenarios name plug-ins", param_hint="--out")
        out.write_bytes(module.plugin)
    if as_json:
        print_json({**module.to_json(), "plugin": None if out is None else str(out)})
        return
    print_line(f"{module.name}: {'cong_control' if module.governs_recovery else 'cong_avoid'}")
    if module.parameters:
        rows = [[known.name, known.value, known.text] for known in module.parameters]
        print_table(None, ["parameter", "default", "meaning"], rows)
    if module.state is None:
        print_line("state: none can be recorded, as the debug information names no struct of the module's own")
    else:
        print_line(f"state: struct {module.state.struct}: {', '.join(module.state.variables)}")
    print_line(f'congestion = {{ linux = "{out or file}" }}')
    if module.state is not None:
        print_line(f'congestion = {{ linux = {{ file = "{out or file}", state = "{module.state.struct}" }} }}')
