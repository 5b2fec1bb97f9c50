"""`lasthop packetdrill`: packetdrill scripts in virtual time."""

from __future__ import annotations

import click

from lasthop.cli.console import complain, print_json, print_line, remark
from lasthop.cli.names import completing
from lasthop.errors import InputError
from lasthop.packetdrill import Refusal, ScriptResult, run_scripts


@click.command(name="packetdrill")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", shell_complete=completing("scripts"))
@click.option("--profile", default="linux-6", show_default=True, help="The TCP under test, of `lasthop list profiles`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(files: tuple[str, ...], profile: str, as_json: bool) -> int:
    """Run unmodified packetdrill scripts in virtual time against the TCP of a profile. FILE is a path, or a name of
    `lasthop list scripts`.

    System calls, segments with their options, kernel settings (sysctl) and assertions on tcp_info are those of
    packetdrill. Outgoing segments are compared as packetdrill does, with large sends joined. A setting that no key of a
    profile stands for is reported and skipped. A script that cannot be run is reported with its line and the remedy,
    and the others run. The exit status is 1 if a script fails, 2 if one cannot be run.

    \b
    Examples:
      lasthop packetdrill fast_retransmit --profile sack-6675
      lasthop packetdrill mine.pkt --profile freebsd-14 --json
    """
    results, refused = run_scripts(files, profile)
    if as_json:
        scripts = [result.to_json() for result in results]
        print_json({"profile": profile, "scripts": scripts, "refused": [one.to_json() for one in refused]})
    else:
        for result in results:
            _print(result)
        passed = sum(result.passed for result in results)
        more = f", {len(refused)} could not be run" if refused else ""
        print_line(f"{passed} of {len(files)} passed{more}")
    for one in refused:
        complain(_words(one))
    if refused:
        return InputError.exit_status
    return 0 if all(result.passed for result in results) else 1


def _words(refused: Refusal) -> str:
    return str(InputError(refused.message, file=refused.file, line=refused.line, help=refused.help))


def _print(result: ScriptResult) -> None:
    for note in result.notes:
        remark(f"{result.file}: {note}")
    if result.passed:
        print_line(f"passed  {result.file}")
        return
    print_line(f"FAILED  {result.file}:{result.line}")
    print_line(f"        expected  {result.expected}")
    print_line(f"        got       {result.got}")
    for entry in result.timeline:
        line = "" if entry.line is None else str(entry.line)
        print_line(f"        {entry.at_s:>12} {line:>5}  {entry.text}")
