"""Interfaces that a router must not use without an option: those of this machine's own traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lasthop.errors import InputError

LOOPBACK: Final = "lo"
_ROUTES: Final = Path("/proc/net/route")
_ROUTES_6: Final = Path("/proc/net/ipv6_route")
_REJECT: Final = 0x200
"""RTF_REJECT of the kernel's route.h: a route that carries nothing."""


def check_places(between: tuple[str, str], *, way_out: bool) -> None:
    """Raise InputError if the two places are one, or one carries this machine's own traffic and `way_out` is not set.

    The loopback interface is refused always: a router of its packets would cut every program of this machine.
    """
    first, second = between
    if first == second:
        raise InputError(f"{first} is named twice", key="--between", help="name two places: a router joins two")
    if LOOPBACK in between:
        what = f"{LOOPBACK} carries what this machine sends to itself"
        raise InputError(what, key="--between", help="name another interface, or a network namespace")
    taken = sorted(set(between) & default_interfaces())
    if taken and not way_out:
        what = f"{taken[0]} carries this machine's own default route: a login from elsewhere could be cut"
        raise InputError(what, key="--between", help="name another interface, or add --way-out if you mean this one")


def default_interfaces(routes: Path = _ROUTES, routes_6: Path = _ROUTES_6) -> set[str]:
    """Return the interfaces of the default routes, from the kernel's tables of IPv4 and IPv6 routes."""
    found = set()
    for fields in _rows(routes)[1:]:
        if len(fields) > 7 and fields[1] == "00000000" and fields[7] == "00000000":
            found.add(fields[0])
    for fields in _rows(routes_6):
        if len(fields) > 9 and set(fields[0]) == {"0"} and fields[1] == "00" and not int(fields[8], 16) & _REJECT:
            found.add(fields[9])
    return found - {LOOPBACK}


def _rows(table: Path) -> list[list[str]]:
    try:
        return [line.split() for line in table.read_text().splitlines()]
    except OSError:
        return []
