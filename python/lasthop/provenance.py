"""What made a result: versions, the engine's build, the machine. Nothing here changes from one run to the next."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

from lasthop import _native


def versions() -> dict[str, str]:
    """Return the versions that a result depends on. Nothing is imported to find them out."""
    return {
        "lasthop": _native.__version__,
        "engine": engine(),
        "python": platform.python_version(),
        "pyarrow": metadata.version("pyarrow"),
    }


@cache
def engine() -> str:
    """Return the fingerprint of the native module: another build may compute another result.

    A study's store trusts a finished run only where this agrees, so a developer never reads a stale number.
    """
    with Path(_native.__file__).open("rb") as module:
        return hashlib.file_digest(module, "sha256").hexdigest()[:16]


def machine() -> dict[str, object]:
    """Return the machine, as far as it may matter to somebody who wants to repeat a live run."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
    }
