"""A user's class: compiled from its text, and its mistakes with file and line."""

from __future__ import annotations

import inspect
import json
import linecache
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

from lasthop.congestion import aioquic
from lasthop.congestion.aioquic import Adapted, is_of_aioquic
from lasthop.errors import InputError

REQUIRED: Final = ("acknowledged", "lost", "timeout")
"""Methods without which there is no congestion control."""

EXAMPLE: Final = "docs/recipes/my-own-congestion-control.md has a class of twenty lines"


@dataclass(frozen=True)
class Loaded:
    """A compiled class with the constructor's keyword arguments, and what the engine asks of it once."""

    file: str
    name: str
    line: int
    made_of: type
    parameters: Mapping[str, Any]

    @property
    def engine_type(self) -> type:
        """The class whose methods the engine calls: its own, or the adapter around one of aioquic."""
        return Adapted if is_of_aioquic(self.made_of) else self.made_of

    @property
    def observes_sends(self) -> bool:
        """Whether each segment that is sent is an event."""
        return callable(getattr(self.engine_type, "sent", None))

    @property
    def governs_recovery(self) -> bool:
        """Whether the window counts in fast recovery too."""
        return bool(getattr(self.engine_type, "governs_recovery", False))

    @property
    def paces(self) -> bool:
        """Whether the class sets a rate at which segments leave."""
        return hasattr(self.made_of, "pacing_rate")

    @property
    def keeps_timer(self) -> bool:
        """Whether the class has a timer of its own."""
        return callable(getattr(self.made_of, "timer", None))

    @property
    def named_state(self) -> tuple[str, ...]:
        """The attributes of an object that the table `variables` records."""
        if is_of_aioquic(self.made_of):
            return ()
        named = getattr(self.made_of, "named_state", ())
        if not isinstance(named, tuple | list) or not all(isinstance(name, str) for name in named):
            help = 'write a tuple with the names of attributes: named_state = ("beta", "epoch")'
            message = f"named_state is {named!r}, which is no tuple of names"
            raise InputError(message, file=self.file, line=self.line, key=f"{self.name}.named_state", help=help)
        return tuple(named)

    def create(self, *, mss: int, window: int) -> object:
        """Return an object for a connection with segments of `mss` bytes and a first window of `window` bytes."""
        if is_of_aioquic(self.made_of):
            return Adapted(self.made_of(max_datagram_size=mss, **self.parameters))
        made = self.made_of(mss=mss, window=window, **self.parameters)
        if hasattr(made, "pacing_rate") and not self.paces:
            line = self.line_of("__init__")
            help = "write pacing_rate = None in the body of the class too"
            message = "pacing_rate is set on the object only, and would have no effect"
            raise InputError(message, file=self.file, line=line, key=f"{self.name}.__init__", help=help)
        for name, default in (("window", window), ("ssthresh", float("inf")), ("deadline", None)):
            if not hasattr(made, name):
                setattr(made, name, default)
        return made

    def mistake(self, method: str, raised: BaseException) -> BaseException:
        """Return the error that a user sees for an exception in `method`; Ctrl-C stays as it is."""
        if isinstance(raised, InputError | KeyboardInterrupt):
            return raised
        frames = [frame for frame in traceback.extract_tb(raised.__traceback__) if frame.filename == self.file]
        line = frames[-1].lineno if frames else self.line_of(method)
        what = f"{type(raised).__name__}: {raised}" if str(raised) else type(raised).__name__
        return InputError(what, file=self.file, line=line, key=f"{self.name}.{method}", help="mend the class")

    def absurd(self, method: str, value: object) -> InputError:
        """Return the error for a window, a rate or a deadline that no connection can have."""
        message = f"{value!r} is no size in bytes and no time in seconds"
        help = "window, ssthresh, pacing_rate and quantum are numbers from 0 to 1e12, deadline is from 0 to 1e9 or None"
        return InputError(message, file=self.file, line=self.line_of(method), key=f"{self.name}.{method}", help=help)

    def no_number(self, name: str, value: object) -> InputError:
        """Return the error for an attribute of `named_state` that cannot be recorded."""
        message = f"named_state names {name}, and {value!r} is no number"
        help = "record numbers, True, False or None"
        return InputError(message, file=self.file, line=self.line, key=f"{self.name}.named_state", help=help)

    def line_of(self, method: str) -> int:
        """Return the line of a method, or of the class where it has none of its own."""
        code = getattr(inspect.unwrap(getattr(self.made_of, method, None) or (lambda: None)), "__code__", None)
        return code.co_firstlineno if isinstance(code, CodeType) and code.co_filename == self.file else self.line


_refusing: str | None = None
"""Who executes no program in this process; None where programs are executed."""


def refuse_all(refusing: str) -> None:
    """Let `load` and `refuse` refuse every program from now on, in the name of `refusing` ("lasthop serve")."""
    global _refusing
    _refusing = refusing


def refuse(file: str, name: str | None = None) -> None:
    """Raise InputError for a program in `file` after `refuse_all`: a class `name`, or a module of Linux."""
    if _refusing is not None:
        help = "use the command `lasthop run`, which asks for --allow-code"
        raise InputError(f"{_refusing} executes no program", file=file, key=name, help=help)


def load(named: str, code: str, parameters: str) -> Loaded:
    """Compile `code` and return the class that `named` ("mine.py:Mine") names; `parameters` are JSON.

    Raises InputError with file and line: for a text that is no Python, an exception on import, a class that is not
    there or lacks a method; and for every program after `refuse_all`.
    """
    file, _, name = named.rpartition(":")
    refuse(file, name)
    compiled = _compiled(file, code)
    namespace = _executed(file, code, compiled)
    found = namespace.get(name)
    if not isinstance(found, type):
        classes = [key for key, value in namespace.items() if isinstance(value, type) and value.__module__ == file]
        there = f"it has {', '.join(classes)}" if classes else EXAMPLE
        raise InputError(f"there is no class {name}", file=file, help=there)
    loaded = Loaded(file, name, _line_of_class(compiled, name), found, json.loads(parameters))
    for method in aioquic.REQUIRED if is_of_aioquic(found) else REQUIRED:
        if not _is_defined(getattr(found, method, None)):
            message = f"the class has no method {method}"
            raise InputError(message, file=file, line=loaded.line, key=name, help=EXAMPLE)
    return loaded


def _compiled(file: str, code: str) -> CodeType:
    """Return the text of a file as a module's code."""
    try:
        return compile(code, file, "exec")
    except SyntaxError as error:
        raise InputError(f"this is no Python: {error.msg}", file=file, line=error.lineno, help="mend it") from None
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise InputError(f"this is no Python: {error}", file=file, help="mend it") from None


def _executed(file: str, code: str, compiled: CodeType) -> dict[str, Any]:
    """Run a module's code, and return its names."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": file, "__file__": file}
    try:
        exec(compiled, namespace)
    except (Exception, SystemExit) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        line = frames[-1].lineno if frames else None
        raise InputError(f"{type(error).__name__}: {error}", file=file, line=line, help="mend it") from error
    return namespace


def _is_defined(method: Callable[..., object] | None) -> bool:
    """Whether a method is there, and is not the one of `CongestionControl` that only says what it is for."""
    return callable(method) and getattr(method, "__module__", None) != "lasthop.congestion.control"


def _line_of_class(compiled: CodeType, name: str) -> int:
    """Return the line at which a class begins, decorators included; 1 if the text does not define it itself."""
    bodies = (each for each in compiled.co_consts if isinstance(each, CodeType))
    return next((body.co_firstlineno for body in bodies if body.co_name == name), 1)
