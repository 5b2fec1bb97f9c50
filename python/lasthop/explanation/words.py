"""Counts, rates and times in words."""

from __future__ import annotations


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return "1 segment" or "3 segments"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def grouped(number: int) -> str:
    """Return a whole number with its thousands apart: "1 234 567"."""
    return f"{number:,}".replace(",", " ")


def bit_rate(per_second: float) -> str:
    """Return a rate in bit/s as text, in the unit that gives it three digits."""
    for unit, size in (("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if per_second >= size:
            return f"{per_second / size:.3g} {unit}"
    return f"{per_second:.3g} bit/s"


def lasting(seconds: float) -> str:
    """Return a duration as text, in milliseconds below a second."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def listed(parts: list[str]) -> str:
    """Return "a", "a and b", or "a, b and c"."""
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} and {parts[-1]}"
