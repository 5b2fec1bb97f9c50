"""What operating systems do differently: locks on files, bounds and priority of a process, and whether one lives.

Real time is Linux's. Everything else runs wherever Python does, with less where a system has less.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import BinaryIO, Final

BEHIND_EVERY_FILE: Final = 2**40
"""Position of the byte that a lock of Windows covers. It hinders no reader, because no file is as long."""


def has_real_time() -> bool:
    """Return whether this system has what runs in real time need: Linux's namespaces and TUN devices."""
    return sys.platform == "linux"


def lock(file: BinaryIO) -> None:
    """Lock a file against other processes until it is closed. Raises BlockingIOError if another one has locked it.

    A system that has neither kind of lock, such as Python in a browser, has no other process either.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        _lock_one_byte(file)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_one_byte(file: BinaryIO) -> None:
    try:
        msvcrt = import_module("msvcrt")
    except ModuleNotFoundError:
        return
    before = os.lseek(file.fileno(), 0, os.SEEK_CUR)
    os.lseek(file.fileno(), BEHIND_EVERY_FILE, os.SEEK_SET)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError as error:
        raise BlockingIOError(error.errno, error.strerror) from error
    finally:
        os.lseek(file.fileno(), before, os.SEEK_SET)


def bound_this_process(memory: int, largest_file: int) -> None:
    """Bound the address space of this process and the files that it writes, in bytes.

    Windows bounds neither in this way, and macOS no address space.
    """
    try:
        import resource
    except ModuleNotFoundError:
        return
    if has_real_time():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))


def yield_to_others() -> None:
    """Lower the priority of this process, where a system has one that can be lowered."""
    if hasattr(os, "nice"):
        os.nice(5)


def is_alive(pid: int) -> bool:
    """Return whether there is a process of this number. On Windows, where `os.kill` would stop it, always true."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is another user's
    return True


def print_unicode() -> None:
    """Write UTF-8 to standard output and error on Windows, whose pipes have another encoding by default."""
    if os.name == "nt":
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(encoding="utf-8")
