"""The `lasthop` command: one file per subcommand, collected here.

Exit status: 0 done, 1 the run failed, 2 the input is wrong; 130 where the user pressed Ctrl-C, 143 after SIGTERM. What
a command computes goes to standard output; progress, warnings and errors go to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module

import click

from lasthop.errors import LasthopError
from lasthop.extras import remedy_of
from lasthop.stopping import handle_signals, status_of
from lasthop.system import has_real_time, print_unicode

_GROUPS = {
    "First steps": {
        "new": ("lasthop.cli.new", "Write a first scenario file."),
        "list": ("lasthop.cli.listing", "List names: links, profiles, algorithms, queues, …"),
        "show": ("lasthop.cli.show", "Show one of them: a file with its sources, an algorithm, …"),
        "convert": ("lasthop.cli.convert", "Convert files of earlier versions, with their comments."),
        "doctor": ("lasthop.cli.doctor", "Check what this machine can do, with a remedy for each failure."),
    },
    "Run": {
        "run": ("lasthop.cli.run", "Run one scenario in virtual time."),
        "study": ("lasthop.cli.study", "Repeat a document's experiments: published and measured values."),
        "live": ("lasthop.cli.live", "Run the same scenario in real time, between real kernels."),
        "packetdrill": ("lasthop.cli.packetdrill", "Run packetdrill scripts in virtual time against a profile."),
    },
    "Judge algorithms": {
        "cc": ("lasthop.cli.cc", "Compile congestion controls of Linux, in C and unmodified."),
        "league": ("lasthop.cli.league", "Let profiles and classes of one's own compete on a list of paths."),
        "stress": ("lasthop.cli.stress", "Search for the paths on which a congestion control does worst."),
        "check": ("lasthop.cli.check", "Compare runs with those of a baseline: a gate for CI."),
    },
    "Real programs and traffic": {
        "shell": ("lasthop.cli.shell", "Run a program, or your shell, over an emulated link."),
        "fetch": ("lasthop.cli.fetch", "Fetch from a web server with lasthop's TCP; measure the gain of a profile."),
        "serve-file": ("lasthop.cli.serve_file", "Serve a file to real clients with lasthop's TCP."),
        "router": ("lasthop.cli.router", "Forward real traffic through the links of a scenario."),
        "set": ("lasthop.cli.set_router", "Change the links of a running router."),
    },
    "Results": {
        "serve": ("lasthop.cli.serve", "Serve the laboratory in the browser: build, run, see, compare."),
        "plot": ("lasthop.cli.plot", "Draw a result: time sequence, cwnd, queue, …"),
        "explain": ("lasthop.cli.explain", "Explain the events of a result."),
        "compare": ("lasthop.cli.compare", "Compare results: runs, sweeps, studies."),
        "report": ("lasthop.cli.report", "Write one page of results: diagrams with zoom, windows, queues."),
        "export": ("lasthop.cli.export", "Write a result in another tool's format: CSV, xplot, Flent, qlog, Mahimahi."),
    },
    "Captures and logs": {
        "analyze": ("lasthop.cli.analyze", "Analyze the TCP connections of a capture."),
        "fit": (
            "lasthop.cli.fit",
            "Estimate the link that a capture's transfer crossed; write it as a scenario.",
        ),
        "import": ("lasthop.cli.import_log", "Make a link's trace from a log of Mahimahi."),
        "trace": ("lasthop.cli.trace", "Write a link's capacity as a trace in Mahimahi's format."),
    },
}
"""Commands by purpose: the module of each, imported when the command runs, and its line in the help."""

_COMMANDS = {name: entry for group in _GROUPS.values() for name, entry in group.items()}

_FOR_PROGRAMS = {"live-part": ("lasthop.cli.live_part", "")}
"""Commands that lasthop starts itself, absent from the help."""

_LINUX_ONLY = frozenset({"live", "live-part", "shell", "fetch", "serve-file", "router", "set"})
"""Commands of real time: they need Linux's namespaces and TUN devices."""

_EXTRAS = {
    **dict.fromkeys(("matplotlib", "numpy", "pyarrow"), "results"),
    **dict.fromkeys(("fastapi", "markdown_it", "pydantic", "starlette", "tomlkit", "uvicorn"), "serve"),
}
"""Modules that only some commands load, and the extra of the wheel that has them."""


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
        """Write the commands' lines. Click's own method would import every command's module."""
        widest = max(map(len, _COMMANDS))
        for title, commands in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), summary) for name, (_, summary) in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in _LINUX_ONLY and not has_real_time():
            message = f"lasthop {args[0]} runs in real time and needs Linux; this system is {sys.platform}. "
            raise click.UsageError(message + "Virtual time works here: lasthop run", ctx)
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

    A small file describes a path and its hosts. `run` runs it in virtual time, `live` between real kernels; `explain`
    and `plot` show what TCP did. `study` repeats a document's experiments and compares published with measured values.

    \b
    Examples:
      lasthop run quickstart --json
      lasthop run quickstart --out results/quickstart
      lasthop plot results/quickstart time-sequence
      lasthop study sarolahti2000 --only 14
      lasthop doctor
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave the process with its exit status."""
    handle_signals()
    print_unicode()
    sys.exit(_status_of(lambda: cli.main(arguments, prog_name="lasthop", standalone_mode=False)))


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
        return status_of(stop)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        _complain(f"this needs {package}, which is not installed — {remedy_of(_EXTRAS[package])}")
        return 1
    except MemoryError:
        _complain("out of memory: record fewer tables, give flows fewer bytes or queues a lower limit")
        return 1
    except BrokenPipeError:
        # The reader has closed the pipe (`lasthop … | head`). Without this, Python's flush at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        _complain(f"{error.filename or 'input or output'}: {error.strerror or error} — check the path")
        return 2
    except OSError as error:
        _complain(f"{error.filename or 'input or output'}: {error.strerror or error}")
        return 1
    return status if isinstance(status, int) else 0


def _complain(message: str) -> None:

    from lasthop.cli.console import complain

    complain(message)
