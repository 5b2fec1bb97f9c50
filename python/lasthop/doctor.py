"""What this machine can do, and the remedy for what it cannot: the engine's checks, and those of the Python side."""

from __future__ import annotations

import json
from typing import TypedDict

from lasthop import _native
from lasthop.real_time.calibration import calibration
from lasthop.real_time.live import remove_left_folders


class Check(TypedDict):
    """One thing that was looked at. `remedy` is null where there is nothing to do."""

    check: str
    ok: bool
    says: str
    remedy: str | None


def checks() -> list[Check]:
    """Look at everything that some command needs."""
    remove_left_folders()
    found: list[Check] = json.loads(_native.doctor())
    return [*found, _calibration(), _fonts()]


def _calibration() -> Check:
    """What the last `lasthop doctor --calibrate` measured."""
    known = calibration()
    says = str(known) if known else "not measured: lasthop doctor --calibrate says how fast links may be in real time"
    return Check(check="calibration", ok=True, says=says, remedy=None)


def _fonts() -> Check:
    """Pictures use the first of these families; Matplotlib ships the last, so text is always drawn."""
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    for family in FONT_FAMILIES:
        if family in installed:
            return Check(check="fonts", ok=True, says=f"pictures are set in {family}", remedy=None)
    return Check(
        check="fonts",
        ok=False,
        says="Matplotlib finds no font that the pictures ask for",
        remedy="reinstall Matplotlib, which ships DejaVu Sans",
    )


FONT_FAMILIES = ("DejaVu Sans",)
