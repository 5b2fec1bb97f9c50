"""Reports on captures except retransmissions, and their form in `explain`, with captures made for the tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import framed
import lasthop
from command import Lasthop
from framed import ACK, FIN, SYN
from lasthop.analysis import analyze_to_folder
from lasthop.errors import InputError
from lasthop.explanation.words import bit_rate
from lasthop.plots import draw
from lasthop.plots.delivery import round_trips
from lasthop.plots.flow import FlowTables

RST = 4
ENDS = (framed.CLIENT, framed.SERVER)

Packet = tuple[float, bool, bytes]
"""Time, whether the client sent it, and the segment."""


def opening(begins: float = 0.0) -> list[Packet]:
    """Return a handshake over 60 ms, captured at the client."""
    return [
        (begins, True, framed.tcp(True, 99, 0, SYN, b"", ENDS)),
        (begins + 0.06, False, framed.tcp(False, 499, 100, SYN | ACK, b"", ENDS)),
        (begins + 0.0601, True, framed.tcp(True, 100, 500, ACK, b"", ENDS)),
    ]


def data(time: float, first: int, length: int = 1000) -> Packet:
    """Return a segment of the client's data, from a byte counted from 1."""
    return time, True, framed.tcp(True, 99 + first, 500, ACK, bytes(length), ENDS)


def ack(time: float, next_byte: int, window: int = 8000) -> Packet:
    """Return the server's acknowledgment of the data before a byte."""
    segment = framed.tcp(False, 500, 99 + next_byte, ACK, b"", ENDS)
    return time, False, segment[:14] + window.to_bytes(2, "big") + segment[16:]


def written(path: Path, packets: Sequence[Packet]) -> Path:
    """Write a capture of these packets in the order of time."""
    frames = [
        (time, framed.ethernet(0x0800, framed.ipv4(*(ENDS if up else ENDS[::-1]), 6, segment, number)))
        for number, (time, up, segment) in enumerate(sorted(packets, key=lambda packet: packet[0]))
    ]
    return framed.write(path / "some.pcap", framed.ETHERNET, frames)


def report_of(path: Path, packets: Sequence[Packet]) -> dict[str, Any]:
    """Return the report on the one connection of these packets."""
    (connection,) = lasthop.analyze(written(path, packets)).connections
    return dict(connection)


def events_of(path: Path, packets: Sequence[Packet]) -> list[str]:
    """Return the events that `explain` reports of these packets."""
    (found,) = lasthop.explain(analyze_to_folder(written(path, packets), path / "r"))
    return [event.text for event in found.events]


def incident(connection: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the one incident of a kind."""
    (found,) = [one for one in connection["incidents"] if one["kind"] == kind]
    return dict(found)


def test_a_lost_syn_is_reported_with_its_frame(tmp_path: Path) -> None:
    again = [(wait, True, framed.tcp(True, 99, 0, SYN, b"", ENDS)) for wait in (1.0, 3.0)]
    packets = [opening()[0], *again, *opening(7.0)[1:], data(7.1, 1), ack(7.16, 1001)]
    found = incident(report_of(tmp_path, packets), "syn_again")
    assert (found["side"], found["packets"], found["frame"]) == (0, 2, 2)
    assert (found["from_s"], found["to_s"]) == (1.0, 3.0)
    assert any("10.0.0.1:40000 sent its SYN again 2 times" in text for text in events_of(tmp_path, packets))


def test_who_reset_the_connection_is_reported(tmp_path: Path) -> None:
    reset = (0.5, False, framed.tcp(False, 500, 1100, RST | ACK, b"", ENDS))
    packets = [*opening(), data(0.1, 1), ack(0.16, 1001), reset]
    assert incident(report_of(tmp_path, packets), "reset")["side"] == 1
    assert any("10.0.0.2:80 reset the connection (frame 6)" in text for text in events_of(tmp_path, packets))


def test_a_closed_window_has_a_length(tmp_path: Path) -> None:
    packets = [*opening(), data(0.1, 1), ack(0.16, 1001, window=0), ack(2.66, 1001), data(2.661, 1001), ack(2.72, 2001)]
    found = incident(report_of(tmp_path, packets), "closed_window")
    assert found["side"] == 1
    assert found["to_s"] - found["from_s"] == pytest.approx(2.5)
    assert any("kept its window closed for 2.50 s" in text for text in events_of(tmp_path, packets))


def test_idle_times_are_those_with_nothing_in_flight(tmp_path: Path) -> None:
    packets = [*opening(), data(0.1, 1), ack(0.16, 1001), data(5.16, 1001), ack(7.16, 2001)]
    found = incident(report_of(tmp_path, packets), "idle")
    assert (found["from_s"], found["to_s"], found["side"]) == (0.16, 5.16, 0)
    assert any("idle for 5.00 s" in text for text in events_of(tmp_path, packets))


def test_of_many_idle_times_the_story_has_the_longest_and_their_number(tmp_path: Path) -> None:
    packets, time, first = opening(), 0.1, 1
    for length in range(2, 10):
        packets += [data(time, first), ack(time + 0.06, first + 1000)]
        time, first = time + 0.06 + length, first + 1000
    packets += [data(time, first), ack(time + 0.06, first + 1000)]
    (found,) = lasthop.explain(analyze_to_folder(written(tmp_path, packets), tmp_path / "r"))
    assert [event.text[:15] for event in found.events if event.kind == "idle"] == [
        f"idle for {length}.00 s" for length in range(5, 10)
    ]
    assert "idle 8 times for 44.00 s in all, the longest are below; ended by 10.0.0.1:40000 8 times" in found.facts


def test_the_packet_that_ends_an_idle_time_is_named(tmp_path: Path) -> None:
    fin = (3.2, True, framed.tcp(True, 1100, 500, FIN | ACK, b"", ENDS))
    packets = [*opening(), data(0.1, 1), ack(0.16, 1001), fin]
    assert incident(report_of(tmp_path, packets), "idle")["segment"] == "fin"
    assert any("10.0.0.1:40000 sent its FIN next (frame 6)" in text for text in events_of(tmp_path, packets))


def test_a_story_says_how_the_connection_ended(tmp_path: Path) -> None:
    def end_of(packets: Sequence[Packet], name: str) -> str:
        (found,) = lasthop.explain(analyze_to_folder(written(tmp_path, packets), tmp_path / name))
        return found.facts[-1]

    begun = [*opening(), data(0.1, 1), ack(0.16, 1001)]
    fins = [
        (0.2, True, framed.tcp(True, 1100, 500, FIN | ACK, b"", ENDS)),
        (0.26, False, framed.tcp(False, 500, 1101, FIN | ACK, b"", ENDS)),
        (0.261, True, framed.tcp(True, 1101, 501, ACK, b"", ENDS)),
    ]
    reset = (0.5, False, framed.tcp(False, 500, 1100, RST | ACK, b"", ENDS))
    assert end_of(begun, "open") == "not closed within the capture"
    assert end_of([*begun, *fins], "closed") == "closed by both sides"
    assert end_of([*begun, reset], "reset") == "ended by a reset"


def test_a_timeout_is_a_guess_in_a_capture_at_the_receiver(tmp_path: Path) -> None:
    handshake = [
        (0.0, True, framed.tcp(True, 99, 0, SYN, b"", ENDS)),
        (0.0001, False, framed.tcp(False, 499, 100, SYN | ACK, b"", ENDS)),
        (0.0601, True, framed.tcp(True, 100, 500, ACK, b"", ENDS)),
    ]
    packets = [*handshake, data(0.1, 1), ack(0.1001, 1001), data(0.2, 2001), ack(0.2001, 1001), data(1.5, 1001)]
    assert any(text.startswith("probably a timeout of segment") for text in events_of(tmp_path, packets))


@pytest.mark.parametrize(("per_second", "words"), [(123.4, "123 bit/s"), (7890.0, "7.89 kbit/s"), (2.5e7, "25 Mbit/s")])
def test_rates_have_the_unit_of_their_size(per_second: float, words: str) -> None:
    assert bit_rate(per_second) == words


def test_acknowledged_data_that_the_capture_lacks_are_counted(tmp_path: Path) -> None:
    packets = [*opening(), data(0.1, 1), ack(0.16, 3001), data(0.2, 3001), ack(0.26, 4001)]
    connection = report_of(tmp_path, packets)
    assert incident(connection, "unseen")["bytes"] == 2000
    assert connection["senders"][0]["retransmissions"] == 0
    assert any("that the capture lacks: 2000 bytes" in text for text in events_of(tmp_path, packets))


def test_a_fin_without_an_answer_is_reported(tmp_path: Path) -> None:
    fins = [(wait, True, framed.tcp(True, 1100, 500, FIN | ACK, b"", ENDS)) for wait in (0.2, 0.6, 1.4)]
    packets = [*opening(), data(0.1, 1), ack(0.16, 1001), *fins]
    assert incident(report_of(tmp_path, packets), "fin_again")["packets"] == 2
    assert any("sent its FIN again 2 times" in text for text in events_of(tmp_path, packets))


def test_the_peer_s_retransmissions_are_reported_as_well(tmp_path: Path) -> None:
    answers = [(wait, False, framed.tcp(False, 500, 5100, ACK, bytes(100), ENDS)) for wait in (0.3, 1.3)]
    packets = [*opening(), *(data(0.1, 1 + 1000 * place) for place in range(5)), ack(0.16, 5001), *answers]
    assert any("the peer sent 1 segment again" in text for text in events_of(tmp_path, packets))


def test_a_sender_that_pauses_is_limited_by_its_application(tmp_path: Path) -> None:
    packets = opening()
    for second in range(1, 11):
        packets += [data(second, 1000 * second - 999), ack(second + 0.06, 1000 * second + 1)]
    shares = report_of(tmp_path, packets)["senders"][0]["time_shares"]
    assert shares["application"] > 0.8 * sum(shares.values())


def test_a_sender_that_fills_the_peer_s_window_is_limited_by_it(tmp_path: Path) -> None:
    packets = opening()
    for round_ in range(20):
        first = 1 + 4000 * round_
        packets += [data(0.1 + 0.06 * round_ + 1e-5 * place, first + 1000 * place) for place in range(4)]
        packets.append(ack(0.1599 + 0.06 * round_, first + 4000, window=4000))
    shares = report_of(tmp_path, packets)["senders"][0]["time_shares"]
    assert shares["receiver"] > 0.7 * sum(shares.values())


def test_the_wait_for_a_timer_is_its_share(tmp_path: Path) -> None:
    packets = [*opening(), data(0.1, 1), data(1.6, 1), ack(1.66, 1001), data(1.7, 1001), ack(1.76, 2001)]
    shares = report_of(tmp_path, packets)["senders"][0]["time_shares"]
    assert shares["timer"] == pytest.approx(1.5)


def test_a_queue_is_stated_as_delay_under_load(tmp_path: Path) -> None:
    packets = opening()
    for place in range(40):
        packets.append(data(0.1 + 0.001 * place, 1 + 1000 * place))
        packets.append(ack(0.16 + 0.01 * place, 1001 + 1000 * place, window=60_000))
    (found,) = lasthop.explain(analyze_to_folder(written(tmp_path, packets), tmp_path / "r"))
    assert any("round trip 60 ms at least" in fact and "(bufferbloat)" in fact for fact in found.facts)
    assert {share.kind for share in found.time_shares} >= {"path", "handshake"}


def test_marks_of_ecn_are_counted(tmp_path: Path) -> None:
    packets = [*opening(), data(0.1, 1), ack(0.16, 1001)]
    capture = written(tmp_path, packets)
    content = bytearray(capture.read_bytes())
    # The ECN field of the client's segment with data: fourth frame, second byte of its IP header; its checksum is odd.
    place = 24 + sum(16 + int.from_bytes(content[at + 8 : at + 12], "little") for at in (24, 94, 164)) + 16 + 14 + 1
    content[place] |= 3
    capture.write_bytes(content)
    (connection,) = lasthop.analyze(capture).connections
    assert connection["senders"][0]["ecn"] == {"capable": 0, "marked": 1, "echoes": 0, "reductions": 0}


def test_a_capture_has_frames_in_its_words(tmp_path: Path) -> None:
    packets = [*opening(), data(0.1, 1), data(1.6, 1), ack(1.66, 1001)]
    assert any(text.startswith("timeout of segment 1 (byte 1, frame 5)") for text in events_of(tmp_path, packets))


def test_the_round_trips_of_pictures_are_those_that_are_counted(tmp_path: Path) -> None:
    capture = Path(__file__).parents[1] / "crates/trace/tests/kernels/outage-sack.pcap"
    (connection,) = lasthop.analyze(capture).connections
    sender = connection["senders"][connection["bulk_sender"]]
    _, trips = round_trips(FlowTables(analyze_to_folder(capture, tmp_path / "r"), None))
    assert len(trips) == sender["rtt_samples"]
    assert (trips.min(), trips.max()) == pytest.approx((sender["rtt_min_s"], sender["rtt_max_s"]))


def test_a_capture_has_pictures_of_its_packets_and_names_them_for_the_others(tmp_path: Path) -> None:
    packets = [*opening(), data(0.1, 1), ack(0.16, 1001)]
    result = analyze_to_folder(written(tmp_path, packets), tmp_path / "r")
    for kind in ("rtt", "flight", "throughput"):
        assert draw(kind, result).axes
    with pytest.raises(InputError, match="a capture has no 'tcp'; draw time-sequence, rtt, flight"):
        draw("cwnd", result)


def test_each_limit_has_a_confidence_that_its_evidence_allows(tmp_path: Path) -> None:
    packets = [*opening(), data(0.1, 1), data(1.6, 1), ack(1.66, 1001), data(1.7, 1001), ack(1.76, 2001)]
    confidence = report_of(tmp_path, packets)["senders"][0]["time_share_confidence"]
    assert confidence["timer"] == "certain"  # nothing arrived for 1.5 s
    assert confidence["handshake"] == "certain"
    assert confidence["window"] == "unsure"  # a small window and few data look alike


def test_explain_states_the_confidence_of_limits(tmp_path: Path, lasthop: Lasthop) -> None:
    analyze_to_folder(written(tmp_path, [*opening(), data(0.1, 1), ack(0.16, 1001)]), tmp_path / "r")
    said = lasthop("explain", tmp_path / "r").out
    assert "confidence" in said
    assert "certain" in said
