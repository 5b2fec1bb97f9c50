"""The `lasthop` command: one file per subcommand, collected here.

Exit status: 0 done, 1 the run failed, 2 the input is wrong; 130 where the user pressed Ctrl-C, 143 after SIGTERM. What
a command computes goes to standard output, everything about its doing (progress, warnings, errors) to standard error.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from types import FrameType

import click

from lasthop.errors import LasthopError

_GROUPS = {
    "To begin": {
        "new": ("lasthop.cli.new", "Write a scenario file to begin with."),
        "list": ("lasthop.cli.listing", "List what there is by name: links, profiles, algorithms, …"),
        "show": ("lasthop.cli.show", "Show one of them: a file with its sources, an algorithm, a queue, …"),
        "doctor": ("lasthop.cli.doctor", "Say what this machine can do, and the remedy for what it cannot."),
    },
    "Run": {
        "run": ("lasthop.cli.run", "Run one scenario in virtual time."),
        "study": ("lasthop.cli.study", "Repeat a document's experiments: published beside measured."),
        "live": ("lasthop.cli.live", "Run the same scenario in real time, between real kernels."),
        "packetdrill": ("lasthop.cli.packetdrill", "Run packetdrill scripts in virtual time against a profile."),
    },
    "Real programs and traffic": {
        "shell": ("lasthop.cli.shell", "Run a program, or your shell, behind an emulated link."),
        "fetch": ("lasthop.cli.fetch", "Fetch from a real web server by our own TCP: what a profile gains."),
        "serve-file": ("lasthop.cli.serve_file", "Serve a file to real clients by our own TCP."),
        "router": ("lasthop.cli.router", "Forward real traffic through the links of a scenario."),
        "set": ("lasthop.cli.set_router", "Change the links of a router that runs."),
    },
    "Results": {
        "plot": ("lasthop.cli.plot", "Draw a result: time sequence, cwnd, queue, …"),
        "explain": ("lasthop.cli.explain", "Tell what happened in a result, and why."),
        "compare": ("lasthop.cli.compare", "Compare results: runs, sweeps, studies."),
        "report": ("lasthop.cli.report", "Write one page of results: diagrams that zoom, windows, queues."),
        "export": ("lasthop.cli.export", "Write a result in another tool's format: CSV, xplot, Flent, qlog, Mahimahi."),
    },
    "Captures and logs": {
        "analyze": ("lasthop.cli.analyze", "Tell what the TCP connections of anybody's capture did."),
        "fit": (
            "lasthop.cli.fit",
            "Find out what the link was that a capture's transfer crossed; write it as a scenario.",
        ),
        "import": ("lasthop.cli.import_log", "Make a trace for a link out of a log of Mahimahi."),
        "trace": ("lasthop.cli.trace", "Write a link's capacity as a trace in Mahimahi's format."),
    },
}
"""The commands by what they are for: the module of each, imported when it is run, and its line in the help."""

_COMMANDS = {name: entry for group in _GROUPS.values() for name, entry in group.items()}

_FOR_PROGRAMS = {"live-part": ("lasthop.cli.live_part", "")}
"""Commands that we call ourselves: in no list."""

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM
"""What a shell expects of a command that was stopped by a signal."""


class _Terminated(KeyboardInterrupt):
    """SIGTERM: what cleans up after Ctrl-C cleans up after it too."""


class _Commands(click.Group):
    """The subcommands, in the order of the groups above."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        known = {**_COMMANDS, **_FOR_PROGRAMS}
        if cmd_name not in known:
            return None
        module, _ = known[cmd_name]
        command: click.Command = import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands' lines without importing their modules, as click's own method would."""
        widest = max(map(len, _COMMANDS))
        for title, commands in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), summary) for name, (_, summary) in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            message = f"{error.message} The commands are {', '.join(_COMMANDS)}."
            raise click.UsageError(message, ctx) from error


def _print_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print the engine's version: importing it takes a fifth of the time that the package's metadata takes."""
    if not wanted:
        return
    from lasthop._native import __version__

    click.echo(f"lasthop {__version__}")
    context.exit()


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def cli() -> None:
    """A laboratory for TCP over difficult last hops.

    Describe a path and its hosts in one small file. `run` it in virtual time, or `live` between real kernels, and see
    what TCP did and why. A `study` repeats a document's experiments and prints published beside measured.

    \b
    Examples:
      lasthop run scenarios/quickstart.toml --json
      lasthop run quickstart --out results/quickstart
      lasthop plot results/quickstart time-sequence
      lasthop study sarolahti2000 --only 14
      lasthop doctor
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave the process with its exit status."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(_status_of(lambda: cli.main(arguments, prog_name="lasthop", standalone_mode=False)))


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise _Terminated


def _status_of(command: Callable[[], object]) -> int:
    try:
        status = command()
    except LasthopError as error:
        _complain(str(error))
        return error.exit_status
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt) as stop:
        _complain("stopped")
        return TERMINATED if isinstance(stop.__cause__ or stop, _Terminated) else INTERRUPTED
    except MemoryError:
        _complain("out of memory: record fewer tables, give flows fewer bytes or queues a lower limit")
        return 1
    except BrokenPipeError:
        # The reader went away (`lasthop … | head`). Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _complain(f"{error.filename or 'input or output'}: {error.strerror or error}")
        return 1
    return status if isinstance(status, int) else 0


def _complain(message: str) -> None:
    # Imported here: Rich takes as long as all that `--help` needs.
    from lasthop.cli.console import complain

    complain(message)
