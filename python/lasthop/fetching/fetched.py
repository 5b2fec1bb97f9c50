"""One fetch from a real server through links, by lasthop's TCP with a profile."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from lasthop.errors import InputError, RunError
from lasthop.fetching.limits import DEFAULT_LIMITS, Limits
from lasthop.fetching.scenarios import RECORDS, client_scenario
from lasthop.fetching.target import Target
from lasthop.real_time.live import remove_left_folders, run_child
from lasthop.real_time.process import PREFIX
from lasthop.results.folder import whole_folder
from lasthop.scenario import Scenario

DELAYED = "delayed"
"""The profile under test with the ordinary delayed ACKs of RFC 5681 §4.2."""

REDIRECTIONS = (301, 302, 303, 307, 308)

_RESET_BY_US: Final = "aborted"
"""The end of a connection that this end resets, because its program reads no more."""


@dataclass(frozen=True)
class Way:
    """The path to the server: links, the program at their far end and overrides; and the limits of its answer."""

    links: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    seed: int | None = None
    limits: Limits = DEFAULT_LIMITS

    @property
    def name(self) -> str:
        """The names of the links, in one text."""
        return " + ".join(Path(link).stem for link in self.links) or "no emulated link"

    def scenario(self, profile: str, *, like: str, records: bool) -> Scenario:
        """Return the scenario of a client with a profile, or for DELAYED with that of `like` and delayed ACKs.

        Overrides of the client's TCP are for the profile under test, `like`. Raises InputError.
        """
        delayed = profile == DELAYED
        return client_scenario(
            self.links,
            like if delayed else profile,
            delayed=delayed,
            tested=profile == like,
            more=RECORDS if records else "",
            overrides=self.overrides,
            seed=self.seed,
        )


@dataclass(frozen=True)
class Fetched:
    """The body and the connection of one fetch."""

    profile: str
    status: int
    location: str | None
    bytes: int
    sha256: str
    seconds: float
    connection: dict[str, Any]

    @property
    def goodput(self) -> float:
        """Goodput of the body in byte/s, from the first SYN to the last byte."""
        return self.bytes / self.seconds

    @property
    def retransmissions(self) -> int:
        """Number of the server's retransmissions, counted where its packets enter the links."""
        return int(self.connection["flow"]["retransmissions"])

    def to_json(self) -> dict[str, Any]:
        """Return the keys that `lasthop fetch --json` prints."""
        connection = self.connection
        return {
            "profile": self.profile,
            "seconds": self.seconds,
            "bytes": self.bytes,
            "goodput_Bps": self.goodput,
            "first_byte_s": connection["first_byte_s"],
            "acks": connection["acks"],
            "packets": connection["packets"],
            "retransmissions": self.retransmissions,
            "duplicates": connection["duplicates"],
            "timeouts": connection["flow"]["timeouts"],
            "sha256": self.sha256,
        }


def fetch_once(
    target: Target,
    scenario: Scenario,
    way: Way,
    *,
    profile: str,
    out: Path | None = None,
    body: Path | None = None,
    announces: bool = True,
) -> Fetched:
    """Fetch a target once. A redirection is returned, not followed.

    The result folder is written to `out` and the body to `body`, if given. Raises RunError if there is no answer, or
    its status is an error, and LiveError if this machine does not allow fetches.
    """
    remove_left_folders()
    kept = whole_folder(out) if out is not None else nullcontext()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as name, kept as folder:
        exchange = Path(name)
        request = {
            "scenario": scenario.json,
            "identity": {"name": scenario.name, "seed": scenario.seed, "hash": scenario.hash},
            "target": asdict(target),
            "server": target.address(),
            "outside": list(way.outside),
            "links": way.name,
            "limits": asdict(way.limits),
            "announces": announces,
            "folder": None if folder is None else str(folder.absolute()),
            "parent": os.getpid(),
        }
        (exchange / "request.json").write_text(json.dumps(request))
        run_child(exchange, "lasthop.fetching.process", quiet_output=True)
        fetched = _read(exchange, target, profile)
        if body is not None and fetched.location is None:
            shutil.copyfile(exchange / "body", body)
    return fetched


def check_profiles(way: Way, profiles: Sequence[str], tested: str) -> None:
    """Raise InputError if a profile, a link or an override is wrong, before anything is fetched."""
    for profile in profiles:
        if not profile:
            raise InputError("no profile is named", key="--profile", help="lasthop list profiles")
        way.scenario(profile, like=tested, records=False)


def _read(exchange: Path, target: Target, profile: str) -> Fetched:
    answer = json.loads((exchange / "answer.json").read_text())
    connection = json.loads((exchange / "connection.json").read_text())
    broken = connection["broken"]
    whole = "sha256" in answer and (answer["length_known"] or not broken)
    if not whole:
        # A client that gives up has the reason, and its connection is reset by this end then.
        reason = answer.get("error", "the answer broke off")
        raise RunError(f"{target.url}: {reason if broken in (None, _RESET_BY_US) else broken}")
    redirects = answer["status"] in REDIRECTIONS and answer["location"] is not None
    if not redirects and not 200 <= answer["status"] < 300:
        raise RunError(f"{target.url}: the server answers {answer['status']} {answer['reason']}")
    return Fetched(
        profile=profile,
        status=answer["status"],
        location=answer["location"] if redirects else None,
        bytes=answer["bytes"],
        sha256=answer["sha256"],
        seconds=connection["read_s"],
        connection=connection,
    )
