"""Checks of this machine, with remedies: those of the engine, and those of the Python side."""

from __future__ import annotations

import json
import sys
from typing import TypedDict

from lasthop import _native
from lasthop.extras import remedy_of
from lasthop.real_time.calibration import calibration
from lasthop.real_time.live import remove_left_folders
from lasthop.system import has_real_time


class Check(TypedDict):
    """The result of one check. `remedy` is null if there is nothing to do."""

    check: str
    ok: bool
    says: str
    remedy: str | None


def checks() -> list[Check]:
    """Return the checks of everything that some command needs. Removes folders that killed live runs left."""
    if not has_real_time():
        says = f"runs in real time need Linux; this system is {sys.platform}"
        return [Check(check="real time", ok=False, says=says, remedy=None), _fonts()]
    remove_left_folders()
    found: list[Check] = json.loads(_native.doctor())
    return [*found, _calibration(), _fonts()]


def _calibration() -> Check:
    """Return the result of the last `lasthop doctor --calibrate`."""
    known = calibration()
    says = (
        str(known) if known else "not measured: lasthop doctor --calibrate measures the fastest link of a real-time run"
    )
    return Check(check="calibration", ok=True, says=says, remedy=None)


def _fonts() -> Check:
    """Check that Matplotlib finds a font for pictures; the last family of the list ships with it."""
    try:
        from matplotlib import font_manager
    except ModuleNotFoundError:
        says = "Matplotlib is not installed, so there are no pictures"
        return Check(check="fonts", ok=False, says=says, remedy=remedy_of("results"))
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
