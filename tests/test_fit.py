"""`lasthop fit`: links of known parameters, fitted to captures of both ends and of the sender alone.

Some links stand for a hundred; LASTHOP_LINKS=100 fits as many and prints how far each figure was off.
"""

from __future__ import annotations

import os
import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import framed
import lasthop as package
from command import Lasthop
from lasthop.errors import InputError
from lasthop.fitting import Fit, fit, scenario_text
from lasthop.results import Run
from lasthop.scenario import parse_scenario

LINKS = int(os.environ.get("LASTHOP_LINKS", "6"))
SECONDS = 60


@dataclass(frozen=True)
class Link:
    """A simulated link."""

    number: int
    rate: float
    down: float
    up: float
    limit: int
    loss: float

    @classmethod
    def of(cls, number: int) -> Link:
        draw = random.Random(number)
        rate, delay = 1e6 * draw.choice([1, 2, 3.3, 5, 8, 12, 20]), draw.uniform(0.005, 0.1)
        product = rate * 2 * delay / 12000
        loss = draw.choice([0.0, 0.0, 0.002, 0.005, 0.01])
        limit = max(10, round(product * draw.uniform(0.5, 2.0)))
        return cls(number, rate, delay, draw.uniform(0.005, 0.1), limit, loss)

    def scenario(self, profile: str = "linux-6") -> str:
        errors = f'errors = {{ effect = "drop", probability = {self.loss} }}' if self.loss else ""
        return f"""
name = "link-{self.number}"
seed = {self.number}
flows = [{{ name = "download", from = "server", to = "mobile", until = "{SECONDS} s" }}]
[hosts]
server = {{ profile = "{profile}" }}
mobile = {{ profile = "{profile}" }}
[[links]]
name = "lasthop"
between = ["server", "mobile"]
up = {{ rate = "20 Mbit/s", propagation = "{self.up:.6f} s" }}
[links.down]
rate = "{self.rate:.0f} bit/s"
propagation = "{self.down:.6f} s"
queue = {{ limit = "{self.limit} packets" }}
{errors}
[record]
captures = ["server", "mobile"]
"""


def files(run: Run, folder: Path) -> list[Path]:
    """Write the captures of both ends into files of their own, the sender's first."""
    for point in ("server", "mobile"):
        (folder / f"{point}.pcapng").write_bytes(run.captures[point])
    return [folder / "server.pcapng", folder / "mobile.pcapng"]


def misses(link: Link, lost: float, dropped: int, found: Fit, tolerance: float) -> list[str]:
    """Return what is farther off than it may be; `tolerance` 2 is for the sender alone.

    `lost` is the share of packets that the link lost by its error process in this run, `dropped` how many found the
    queue full: a limit that dropped nothing cannot be seen.
    """
    forward = found.forward
    wrong = []
    if forward.rate is None or abs(forward.rate.value / link.rate - 1) > 0.03 * tolerance:
        wrong.append(f"rate {forward.rate} of {link.rate}")
    trip = link.down + link.up
    if abs(found.round_trip - trip) > max(0.001, 0.02 * trip) * tolerance:
        wrong.append(f"round trip {found.round_trip} of {trip}")
    if forward.queue is not None and abs(forward.queue.value - link.limit) > 0.1 * tolerance * link.limit:
        wrong.append(f"limit {forward.queue} of {link.limit}")
    if forward.queue is None and dropped:
        wrong.append(f"limit unknown of {link.limit}, though the queue dropped {dropped}")
    # A loss that is hardly any is held to its interval.
    off = abs(forward.loss.value - lost)
    if off > 0.2 * tolerance * lost and not forward.loss.low <= lost <= forward.loss.high:
        wrong.append(f"loss {forward.loss} of {lost}")
    return wrong


def test_links_of_known_parameters_are_found_again(tmp_path: Path) -> None:
    wrong: dict[str, list[str]] = {}
    for number in range(LINKS):
        link = Link.of(number)
        run = package.run(parse_scenario(link.scenario()))
        captures = files(run, tmp_path)
        (down,) = [one for one in run.summary["links"] if one["direction"] == "down"]
        lost = down["error_drops"] / (down["packets_in"] - down["queue_drops"])
        for name, found, tolerance in (("both", fit(captures), 1.0), ("sender", fit(captures[:1]), 2.0)):
            if missed := misses(link, lost, down["queue_drops"], found, tolerance):
                wrong[f"{number} {name}"] = missed
    print(f"{LINKS} links:", *(f"{name}: {missed}" for name, missed in wrong.items()), sep="\n")
    assert not wrong


def test_spikes_and_reordering_are_reported_from_losses(tmp_path: Path) -> None:
    spiky = fit(files(package.run("spikes", overrides=['record.captures=["server","mobile"]']), tmp_path)).forward
    assert 4 <= len(spiky.spikes) <= 6
    assert 1.0 < sum(length for _, length in spiky.spikes) / len(spiky.spikes) < 5.0
    overtaken = package.run("reordering", overrides=['record.captures=["server","mobile"]', 'flows.0.bytes="10 MB"'])
    found = fit(files(overtaken, tmp_path)).forward
    assert found.reordering is not None
    assert found.reordering.value == pytest.approx(0.03, rel=0.2)
    assert found.reordering_delay[0] == pytest.approx(0.12, rel=0.1)
    assert found.loss.value == 0.0


def test_a_rate_that_varies_becomes_a_schedule(tmp_path: Path) -> None:
    run = package.run("square-wave", overrides=['record.captures=["server","mobile"]'])
    assert fit(files(run, tmp_path)).forward.steps


def test_the_file_runs_and_the_rerun_is_close(lasthop: Lasthop, tmp_path: Path) -> None:
    captures = files(package.run(parse_scenario(Link.of(1).scenario())), tmp_path)
    fitted = lasthop("fit", *captures, "--out", "mine.toml", "--json")
    assert fitted.status == 0, fitted.err
    rerun = fitted.json["rerun"]
    assert abs(rerun["goodput_bps"]["error"]) < 0.1
    assert abs(rerun["rtt_p95_s"]["error"]) < 0.15
    text = (tmp_path / "mine.toml").read_text()
    assert tomllib.loads(text)["links"][0]["name"] == "lasthop"
    changed = lasthop("run", "mine.toml", "--set", "links.lasthop.down.queue.discipline=fq-codel", "--json")
    assert changed.json["flows"][0]["completed"]
    assert lasthop("fit", *captures, "--out", "mine.toml").status == 2
    assert "there and back" in lasthop("fit", captures[0], "--no-rerun").out


def test_a_capture_that_says_too_little_is_refused(tmp_path: Path) -> None:
    short = package.run(
        "quickstart",
        overrides=['record.captures=["server","mobile"]', 'flows.0.bytes="10 kB"', "flows.0.milestones=[]"],
    )
    with pytest.raises(InputError, match="packets of the transfer"):
        fit(files(short, tmp_path))
    with pytest.raises(InputError, match="no connection"):
        fit(files(short, tmp_path), flow="nobody-nowhere")


def paused(path: Path, from_receiver: bool = False) -> Path:
    """Write a capture of an application that sends five segments each second over a path of 60 ms round trips."""
    ends = (framed.CLIENT, framed.SERVER)
    late = 0.0599 if from_receiver else 0.0
    found = [
        (0.0 + late, True, framed.tcp(True, 99, 0, framed.SYN, b"", ends)),
        (0.06, False, framed.tcp(False, 499, 100, framed.SYN | framed.ACK, b"", ends)),
        (0.06 + late, True, framed.tcp(True, 100, 500, framed.ACK, b"", ends)),
    ]
    for second in range(1, 81):
        first = 100 + 5000 * (second - 1)
        for place in range(5):
            data = framed.tcp(True, first + 1000 * place, 500, framed.ACK, bytes(1000), ends)
            found.append((second + late + 0.0001 * place, True, data))
        found.append((second + 0.0605, False, framed.tcp(False, 500, first + 5000, framed.ACK, b"", ends)))
    frames = [
        (time, framed.ethernet(0x0800, framed.ipv4(*(ends if up else ends[::-1]), 6, segment, number)))
        for number, (time, up, segment) in enumerate(sorted(found, key=lambda packet: packet[0]))
    ]
    return framed.write(path, framed.ETHERNET, frames)


def test_a_rerun_that_is_off_is_no_proof_and_says_why(lasthop: Lasthop, tmp_path: Path) -> None:
    fitted = lasthop("fit", paused(tmp_path / "paused.pcap"), "--out", "mine.toml")
    assert fitted.status == 1
    assert "the fitted link is not proved" in fitted.err
    assert "the application paused" in fitted.err
    assert "now: lasthop run" not in fitted.err
    assert lasthop("run", "mine.toml").status == 0


def test_a_capture_of_the_receiver_alone_is_refused(lasthop: Lasthop, tmp_path: Path) -> None:
    refused = lasthop("fit", paused(tmp_path / "paused.pcap", from_receiver=True))
    assert refused.status == 2
    assert "at the receiver of the data" in refused.err


def test_a_way_back_that_was_never_filled_has_no_rate(tmp_path: Path) -> None:
    """Acknowledgments on an LTE uplink wait for grants; their spacing says nothing of its 8 Mbit/s."""
    link = 'links = [{ name = "lte", between = ["server", "mobile"], preset = "lte", down = {}, up = {} }]\n'
    hosts = 'hosts = { server = { profile = "linux-6" }, mobile = { profile = "linux-6" } }\n'
    flow = 'flows = [{ name = "d", from = "server", to = "mobile", bytes = "20 MB" }]\n'
    captured = 'record = { captures = ["server", "mobile"] }\n'
    run = package.run(parse_scenario(hosts + link + flow + captured))
    found = fit(files(run, tmp_path))
    assert found.forward.rate is not None
    assert found.backward is not None
    assert found.backward.rate is None
    assert found.backward.at_least is not None
    assert found.backward.at_least < 8e6
    text = scenario_text(found, "linux-6")
    assert "assumed, not measured: never filled" in text
    assert tomllib.loads(text)["links"][0]["up"]["rate"] != ""
    parse_scenario(text)
