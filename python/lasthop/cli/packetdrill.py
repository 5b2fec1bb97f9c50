"""`lasthop packetdrill`: packetdrill scripts in virtual time."""

from __future__ import annotations

from collections.abc import Sequence

import click

from lasthop.cli.console import complain, print_json, print_line, remark
from lasthop.cli.names import completing
from lasthop.errors import InputError
from lasthop.packetdrill import (
    DEFAULT_PROFILE,
    DEFINITIONS,
    FolderCount,
    Refusal,
    ScriptResult,
    by_folder,
    run_scripts,
    scripts_of,
)


@click.command(name="packetdrill")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", shell_complete=completing("scripts"))
@click.option(
    "--profile",
    help="The TCP under test, of `lasthop list profiles` [that of a script's comment `// profile: NAME`, or linux-6].",
)
@click.option(
    "-D",
    "definitions",
    multiple=True,
    metavar="NAME=TEXT",
    help="Text of a name that scripts leave open. Those of packetdrill's own suite have one.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(files: tuple[str, ...], profile: str | None, definitions: tuple[str, ...], as_json: bool) -> int:
    """Run unmodified packetdrill scripts in virtual time against the TCP of a profile. FILE is a path, a folder with
    scripts, or a name of `lasthop list scripts`.

    System calls, segments with their options, kernel settings (sysctl) and assertions on tcp_info are those of
    packetdrill. Outgoing segments are compared as packetdrill does, with large sends joined. A script that sets
    something in the kernel's TCP for which no key of a profile stands is not run; settings of the machine are reported
    and skipped. A script that cannot be run is reported with its line and the remedy, and the others run. Scripts of
    more than one folder are counted by folder. The exit status is 1 if a script fails, 2 if one cannot be run.

    \b
    Examples:
      lasthop packetdrill fast_retransmit
      lasthop packetdrill mine.pkt --profile freebsd-14 --json
      lasthop packetdrill scripts/packetdrill/linux -D TFO_COOKIE=0123456789abcdef
    """
    scripts = scripts_of(files)
    results, refused = run_scripts(scripts, profile, {**DEFINITIONS, **_definitions(definitions)})
    folders = by_folder(results, refused)
    if as_json:
        print_json(
            {
                "profile": profile or DEFAULT_PROFILE,
                "scripts": [result.to_json() for result in results],
                "refused": [one.to_json() for one in refused],
                "folders": [count.to_json() for count in folders],
            }
        )
    else:
        for result in results:
            _print(result)
        if len(folders) > 1:
            _print_folders(folders)
        passed = sum(result.passed for result in results)
        more = f", {len(refused)} could not be run" if refused else ""
        print_line(f"{passed} of {len(scripts)} passed{more}")
    for one in refused:
        complain(_words(one))
    if refused:
        return InputError.exit_status
    return 0 if all(result.passed for result in results) else 1


def _definitions(written: Sequence[str]) -> dict[str, str]:
    pairs = [definition.partition("=") for definition in written]
    for name, equals, _ in pairs:
        if not (name.isidentifier() and equals):
            help = "write a name and its text, like CODE=net_unreachable"
            raise InputError(f"-D {name}{equals} defines no name", help=help)
    return {name: text for name, _, text in pairs}


def _print_folders(folders: Sequence[FolderCount]) -> None:
    width = max(len(count.folder) for count in folders)
    print_line(f"{'folder':<{width}}  passed  failed  refused")
    for count in folders:
        print_line(f"{count.folder:<{width}}  {count.passed:>6}  {count.failed:>6}  {count.refused:>7}")


def _words(refused: Refusal) -> str:
    return str(InputError(refused.message, file=refused.file, line=refused.line, help=refused.help))


def _print(result: ScriptResult) -> None:
    for note in result.notes:
        remark(f"{result.file}: {note}")
    if result.passed:
        print_line(f"passed  {result.file}{_against(result)}")
        return
    print_line(f"FAILED  {result.file}:{result.line}{_against(result)}")
    print_line(f"        expected  {result.expected}")
    print_line(f"        got       {result.got}")
    for entry in result.timeline:
        line = "" if entry.line is None else str(entry.line)
        print_line(f"        {entry.at_s:>12} {line:>5}  {entry.text}")


def _against(result: ScriptResult) -> str:
    """The profile of a result, unless it is the usual one."""
    return "" if result.profile == DEFAULT_PROFILE else f"  ({result.profile})"
