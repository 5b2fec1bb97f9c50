"""Provenance of a result: versions, the engine's build, the machine. It is equal for all runs of a build."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from lasthop import _native


def versions() -> dict[str, str | None]:
    """Return the versions that a result depends on, read from the packages' metadata without importing them."""
    import platform

    return {
        "lasthop": _native.__version__,
        "engine": engine(),
        "python": platform.python_version(),
        "pyarrow": _version_of("pyarrow"),
    }


def _version_of(package: str) -> str | None:
    """Return a package's version; None if it is not installed, as runs alone do not need it.

    The name of the folder with its metadata has it (PEP 376): `importlib.metadata` takes longer to load than a small
    run lasts.
    """
    from importlib.util import find_spec

    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or []:
        for metadata in Path(folder).parent.glob(f"{package}-*.dist-info"):
            return metadata.name.removesuffix(".dist-info").removeprefix(f"{package}-")
    return None


@cache
def engine() -> str:
    """Return the fingerprint of the native module: 16 hexadecimal digits of its BLAKE3 hash.

    Another build may compute another result, so a study's store trusts a finished run only if this agrees.
    """
    return _native.fingerprint(_native.__file__)[:16]


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def machine() -> dict[str, object]:
    """Return the system, kernel, architecture and number of processors, which a live run depends on."""
    import platform

    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
    }
