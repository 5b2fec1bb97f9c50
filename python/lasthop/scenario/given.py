"""Arguments in addition to a scenario: overrides of its keys, and a seed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from os import PathLike, fspath
from typing import Final

from lasthop.errors import InputError

Overrides = Mapping[str, object] | Iterable[str]
"""Keys of the scenario with their values, `{"links.lasthop.down.rate": "1 Mbit/s"}`, or texts as `--set` takes them."""

LARGEST_SEED: Final = 2**64 - 1


def override_texts(overrides: Overrides) -> tuple[str, ...]:
    """Return overrides as the texts that the engine reads. Raises InputError for anything else than `Overrides`."""
    if isinstance(overrides, str):
        help = 'give a mapping, {"links.lasthop.down.rate": "1 Mbit/s"}, or a list of texts "path=value"'
        raise InputError(f"overrides is the text {overrides!r}, and neither a mapping nor a list", help=help)
    if isinstance(overrides, Mapping):
        return tuple(f"{path}={toml_value(value)}" for path, value in overrides.items())
    return tuple(overrides)


def naming_overrides(overrides: Overrides) -> AbstractContextManager[None]:
    """Name a wrong override as the caller wrote it, where that was in a mapping and not as a text of `--set`."""
    if not isinstance(overrides, Mapping):
        return nullcontext()
    texts = zip(overrides, override_texts(overrides), strict=True)
    return renaming({f"--set {text}": f"overrides[{path!r}]" for path, text in texts})


@contextmanager
def renaming(names: Mapping[str, str]) -> Iterator[None]:
    """Replace the names of places in the words of an InputError."""
    try:
        yield
    except InputError as error:
        for old, new in names.items():
            if old in str(error):
                raise _renamed(error, old, new) from None
        raise


def check_seed(seed: int | None) -> int | None:
    """Return a seed. Raises InputError if it is not one."""
    if seed is None or (isinstance(seed, int) and 0 <= seed <= LARGEST_SEED):
        return seed
    raise InputError(f"{seed!r} is no seed", key="seed", help="give a whole number from 0 to 2**64 - 1")


def toml_value(value: object) -> str:
    """Return a value as TOML on one line. Strings, numbers and arrays are written as in JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(inner) for inner in value) + "]"
    return json.dumps(fspath(value) if isinstance(value, PathLike) else value, ensure_ascii=False)


def toml_key(key: object) -> str:
    """Return a key as TOML, in quotes."""
    return json.dumps(str(key), ensure_ascii=False)


def _renamed(error: InputError, old: str, new: str) -> InputError:
    parts = {name: getattr(error, name) for name in ("file", "key")}
    renamed = {name: part.replace(old, new) if part else part for name, part in parts.items()}
    return InputError(error.message.replace(old, new), line=error.line, help=error.help, **renamed)
