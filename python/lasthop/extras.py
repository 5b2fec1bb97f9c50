"""Packages that only some commands need: the wheel names them as extras."""

from __future__ import annotations


def remedy_of(extra: str) -> str:
    """Return how to install the packages of an extra. lasthop is on no package index: the wheel is a file."""
    return f"install the wheel of lasthop with its extra: pip install 'lasthop-….whl[{extra}]'"
