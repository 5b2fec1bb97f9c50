"""`lasthop convert`: files of earlier versions in the form of this one."""

from __future__ import annotations

from pathlib import Path

import click

from lasthop.cli.console import print_line, remark
from lasthop.errors import InputError


@click.command(name="convert")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|FOLDER…")
@click.option("--in-place", is_flag=True, help="Replace each FILE instead of writing NAME.converted.toml next to it.")
@click.option(
    "--check", is_flag=True, help="Write nothing; print the files that would change. Status 1 if there are any."
)
def command(paths: tuple[Path, ...], in_place: bool, check: bool) -> int:
    """Convert scenario, profile, link and study files of earlier versions, with their comments.

    A FOLDER stands for all TOML files below it. A choice that had its name under the key `algorithm`, as in
    congestion = { algorithm = "cubic", beta = 0.5 }, becomes congestion = { cubic = { beta = 0.5 } }. Files without
    such a choice are left as they are. What cannot be converted without a loss is refused, and nothing is written. If
    a converted scenario still has a mistake, it is reported, and the exit status is 1.

    \b
    Examples:
      lasthop convert my-lte.toml --check
      lasthop convert my-lte.toml --in-place
    """
    from lasthop.scenario.conversion import conversion_of, toml_files

    files = [file for path in paths for file in toml_files(path)]
    conversions = [conversion for file in files if (conversion := conversion_of(file)) is not None]
    if check:
        for conversion in conversions:
            print_line(str(conversion.file))
        return 1 if conversions else 0
    targets = [conversion.target(in_place=in_place) for conversion in conversions]
    for target in targets:
        if target.exists() and not in_place:
            raise InputError("exists, and is not overwritten", file=str(target), help="remove it, or use --in-place")
    for conversion, target in zip(conversions, targets, strict=True):
        conversion.write(target)
        remark(f"wrote {target}")
    remark(f"{len(files)} files read, {len(conversions)} converted")
    mistakes = [mistake for conversion in conversions if (mistake := conversion.remaining_mistake()) is not None]
    for mistake in mistakes:
        remark(f"still to be changed: {mistake}")
    return 1 if mistakes else 0
