"""Scenarios: read and resolved (`resolved`), built from links in series (`links`), run (`virtual_time`)."""

from lasthop.scenario.given import Overrides
from lasthop.scenario.resolved import Given, Scenario, load_scenario, parse_scenario, scenario_of
from lasthop.scenario.virtual_time import (
    RECORD_NOTHING,
    Progress,
    Record,
    check_effect,
    check_virtual_time,
    in_memory,
    link_trace,
    run,
    run_to_folder,
    summary_of,
    unread_keys,
    unread_overrides,
)

__all__ = [
    "RECORD_NOTHING",
    "Given",
    "Overrides",
    "Progress",
    "Record",
    "Scenario",
    "check_effect",
    "check_virtual_time",
    "in_memory",
    "link_trace",
    "load_scenario",
    "parse_scenario",
    "run",
    "run_to_folder",
    "scenario_of",
    "summary_of",
    "unread_keys",
    "unread_overrides",
]
