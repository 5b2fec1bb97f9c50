"""A small model of a TCP sender over a modem, to draw pictures of: tables of the form that a run records.

NewReno over 9600 bit/s with 200 ms of propagation each way, 400 segments of 256 bytes (303 on the link), a
router queue of 7 packets before a send buffer of 4, and a delay of 6 s for one packet. It is a drawing
model: it shows overshoot, recovery, a spurious timeout and go-back-N in the right places, and claims no
more.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

SEGMENT = 256
SEGMENTS = 400
WINDOW = 32_768
RATE = 9600 / 8
DATA_S = 303 / RATE
ACK_S = 47 / RATE
PROPAGATION_S = 0.2
QUEUE_LIMIT = 7
SEND_BUFFER = 4


@dataclass
class ModemRun:
    """One transfer. `delays` gives seconds of delay by the number of a data packet, counted from 1."""

    delays: dict[int, float] = field(default_factory=dict)
    delay_cause: str = "scripted"
    flow: str = "download"
    start_s: float = 0.0
    sack: bool = True

    def __post_init__(self) -> None:
        self.now = self.start_s
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.counter = 0
        self.packet = 0
        self.una = self.nxt = self.highest = 0
        self.cwnd, self.ssthresh = 2.0, float("inf")
        self.phase, self.dupacks, self.recover = "slow_start", 0, -1
        self.srtt = self.rttvar = 0.0
        self.rto, self.deadline = 3.0, float("inf")
        self.sent_at: dict[int, float] = {}
        self.copies: dict[int, list[dict[str, Any]]] = {}
        self.queue: list[dict[str, Any]] = []
        self.in_buffer = 0
        self.line_free = self.out_free = 0.0
        self.received: set[int] = set()
        self.expected = 0
        self.tables: dict[str, list[dict[str, Any]]] = {"packets": [], "tcp": [], "queue": [], "segments": []}

    def run(self) -> dict[str, pa.Table]:
        """Run to the end and give the tables."""
        self.record("start")
        self.fill_window()
        while self.events and self.una < SEGMENTS:
            self.now, _, event = heapq.heappop(self.events)
            event()
        self.judge()
        return {name: pa.Table.from_pylist(rows, schema=SCHEMAS[name]) for name, rows in self.tables.items()}

    # The sender.

    def fill_window(self) -> None:
        while self.nxt < min(self.una + int(self.cwnd), SEGMENTS):
            self.send(self.nxt, "after_timeout" if self.nxt < self.highest else None)
            self.nxt += 1

    def send(self, number: int, cause: str | None) -> None:
        self.highest = max(self.highest, number + 1)
        self.packet += 1
        again = cause is not None
        self.sent_at.pop(number, None) if again else self.sent_at.setdefault(number, self.now)
        row = self.segment("server", "sent", self.packet, number * SEGMENT + 1, SEGMENT, 1, again, cause)
        packet = self.packet_row(number, again, cause)
        self.copies.setdefault(number, []).append({"segment": row, "packet": packet})
        if self.deadline == float("inf"):
            self.arm()
        self.enter_queue(packet)

    def arm(self) -> None:
        self.deadline = self.now + self.rto
        self.at(self.deadline, self.check_timer)

    def check_timer(self) -> None:
        if self.now < self.deadline or self.una >= SEGMENTS:
            return
        self.ssthresh = max((self.highest - self.una) / 2, 2)
        self.cwnd, self.dupacks, self.recover = 1.0, 0, self.highest
        self.rto *= 2
        self.phase = "after_timeout"
        self.nxt = self.una + 1
        self.record("timeout", "the retransmission timer ran out")
        self.deadline = float("inf")
        self.send(self.una, "timeout")

    def on_ack(self, ack: int, packet: int, sack: str | None) -> None:
        seq = ack * SEGMENT + 1
        self.segment("server", "received", packet, 1, 0, seq, False, None, sack)
        if ack > self.una:
            self.on_new_ack(ack)
        elif ack == self.una and self.highest > self.una:
            self.on_duplicate()
        self.record("ack")
        self.fill_window()

    def on_new_ack(self, ack: int) -> None:
        if ack - 1 in self.sent_at:
            self.sample(self.now - self.sent_at[ack - 1])
        gained, self.una = ack - self.una, ack
        self.nxt = max(self.nxt, ack)
        self.dupacks = 0
        self.deadline = float("inf")
        if self.una < self.highest:
            self.arm()
        if self.phase == "fast_recovery":
            if ack < self.recover:
                self.send(self.una, "partial_ack")
                self.cwnd = max(self.cwnd - gained + 1, 1)
                return
            self.cwnd = min(self.ssthresh, self.highest - self.una + 1)
        self.cwnd += 1 if self.cwnd < self.ssthresh else 1 / self.cwnd
        self.phase = "slow_start" if self.cwnd < self.ssthresh else "congestion_avoidance"

    def on_duplicate(self) -> None:
        self.dupacks += 1
        if self.phase == "fast_recovery":
            self.cwnd += 1
        elif self.dupacks == 3:
            self.ssthresh = max((self.highest - self.una) / 2, 2)
            self.recover, self.phase = self.highest, "fast_recovery"
            self.cwnd = self.ssthresh + 3
            self.record("fast_retransmit", "duplicate ACKs")
            self.send(self.una, "fast_retransmit")

    def sample(self, trip: float) -> None:
        if not self.srtt:
            self.srtt, self.rttvar = trip, trip / 2
        else:
            self.rttvar += (abs(self.srtt - trip) - self.rttvar) / 4
            self.srtt += (trip - self.srtt) / 8
        self.rto = max(self.srtt + 4 * self.rttvar, 0.2)

    # The link and the receiver.

    def enter_queue(self, packet: dict[str, Any]) -> None:
        packet["behind"] = len(self.queue)
        if self.in_buffer == SEND_BUFFER and len(self.queue) == QUEUE_LIMIT:
            packet["fate"], packet["rule"] = "queue_drop", "tail-drop"
            return
        self.queue.append(packet)
        self.queue_row()
        self.fill_buffer()

    def fill_buffer(self) -> None:
        while self.queue and self.in_buffer < SEND_BUFFER:
            packet = self.queue.pop(0)
            self.in_buffer += 1
            self.queue_row()
            self.line_free = max(self.line_free, self.now) + DATA_S
            packet["transmitted_ns"] = ns(self.line_free)
            self.at(self.line_free + PROPAGATION_S, partial(self.leave_air, packet))

    def leave_air(self, packet: dict[str, Any]) -> None:
        delay = self.delays.get(packet["packet"], 0.0)
        if delay:
            packet["delay_ns"], packet["delay_cause"] = ns(delay), self.delay_cause
        self.out_free = max(self.out_free, self.now + delay)
        self.at(self.out_free, partial(self.deliver, packet))

    def deliver(self, packet: dict[str, Any]) -> None:
        packet["fate"], packet["delivered_ns"] = "delivered", ns(self.now)
        self.in_buffer -= 1
        self.fill_buffer()
        number = (packet["seq"] - 1) // SEGMENT
        self.received.add(number)
        while self.expected in self.received:
            self.expected += 1
        self.segment("mobile", "received", packet["packet"], packet["seq"], SEGMENT, 1, False, None)
        self.acknowledge(number)

    def acknowledge(self, number: int) -> None:
        ack, sack = self.expected, None
        self.packet += 1
        if self.sack and number >= ack:
            left = right = number
            while left - 1 in self.received:
                left -= 1
            while right in self.received:
                right += 1
            sack = f"{left * SEGMENT + 1}-{right * SEGMENT + 1}"
        packet = self.packet
        self.tables["packets"].append(
            self.base_packet("up", 40, 1, 0) | {"ack": ack * SEGMENT + 1, "sack": sack, "fate": "delivered"}
        )
        self.segment("mobile", "sent", packet, 1, 0, ack * SEGMENT + 1, False, None, sack)
        self.at(self.now + ACK_S + PROPAGATION_S, partial(self.on_ack, ack, packet, sack))

    # The records.

    def at(self, time: float, event: Callable[[], None]) -> None:
        self.counter += 1
        heapq.heappush(self.events, (time, self.counter, event))

    def record(self, event: str, reason: str = "") -> None:
        self.tables["tcp"].append(
            {
                "time_ns": ns(self.now),
                "flow": self.flow,
                "host": "server",
                "event": event,
                "reason": reason,
                "seq": self.una * SEGMENT + 1,
                "len": 0,
                "cwnd": int(self.cwnd * SEGMENT),
                "ssthresh": None if self.ssthresh == float("inf") else int(self.ssthresh * SEGMENT),
                "flight": (self.nxt - self.una) * SEGMENT,
                "advertised": WINDOW,
                "srtt_ns": ns(self.srtt) if self.srtt else None,
                "rttvar_ns": ns(self.rttvar) if self.srtt else None,
                "rto_ns": ns(self.rto),
                "phase": self.phase,
            }
        )

    def segment(
        self,
        host: str,
        direction: str,
        packet: int,
        seq: int,
        len_: int,
        ack: int,
        again: bool,
        cause: str | None,
        sack: str | None = None,
    ) -> dict[str, Any]:
        row = {
            "time_ns": ns(self.now),
            "flow": self.flow,
            "host": host,
            "direction": direction,
            "packet": packet,
            "kind": "retransmission" if again else "data" if len_ else "ack",
            "seq": seq,
            "len": len_,
            "ack": ack,
            "window": WINDOW,
            "retransmission": again,
            "cause": cause,
            "needless": None,
            "why": None,
            "sack": sack,
        }
        self.tables["segments"].append(row)
        return row

    def base_packet(self, direction: str, size: int, seq: int, len_: int) -> dict[str, Any]:
        return {
            "packet": self.packet,
            "flow": self.flow,
            "link": "lasthop",
            "direction": direction,
            "kind": "data" if len_ else "ack",
            "bytes": size,
            "seq": seq,
            "len": len_,
            "ack": 1,
            "flags": "A",
            "window": WINDOW,
            "sack": None,
            "retransmission": False,
            "cause": None,
            "entered_ns": ns(self.now),
            "behind": 0,
            "transmitted_ns": None,
            "delivered_ns": None,
            "fate": "in_flight",
            "rule": None,
            "delay_ns": 0,
            "delay_cause": None,
        }

    def packet_row(self, number: int, again: bool, cause: str | None) -> dict[str, Any]:
        row = self.base_packet("down", 296, number * SEGMENT + 1, SEGMENT)
        row |= {"retransmission": again, "cause": cause}
        self.tables["packets"].append(row)
        return row

    def queue_row(self) -> None:
        waiting = len(self.queue)
        self.tables["queue"].append(
            {
                "time_ns": ns(self.now),
                "link": "lasthop",
                "direction": "down",
                "packets": waiting,
                "bytes": waiting * 303,
                "average": None,
            }
        )

    def judge(self) -> None:
        """A retransmission is needless where an earlier copy was not dropped."""
        for copies in self.copies.values():
            for number, copy in enumerate(copies[1:], 1):
                arrived = any(earlier["packet"]["fate"] != "queue_drop" for earlier in copies[:number])
                copy["segment"]["needless"] = arrived


def ns(seconds: float) -> int:
    """Whole nanoseconds."""
    return round(seconds * 1e9)


def _schema(columns: str) -> pa.Schema:
    """From words like "time_ns:i flow:d": names with i, u, s, b, f or d for the type."""
    types = {"i": pa.int64(), "u": pa.uint32(), "s": pa.string(), "b": pa.bool_(), "f": pa.float64()}
    types["d"] = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([(name, types[kind]) for name, kind in (word.split(":") for word in columns.split())])


SCHEMAS = {
    "packets": _schema(
        "packet:i flow:d link:d direction:d kind:s bytes:u seq:u len:u ack:u flags:s window:u sack:s "
        "retransmission:b cause:s entered_ns:i behind:u transmitted_ns:i delivered_ns:i fate:s rule:s "
        "delay_ns:i delay_cause:s"
    ),
    "tcp": _schema(
        "time_ns:i flow:d host:d event:s reason:s seq:u len:u cwnd:i ssthresh:i flight:i advertised:i "
        "srtt_ns:i rttvar_ns:i rto_ns:i phase:s"
    ),
    "queue": _schema("time_ns:i link:d direction:d packets:u bytes:i average:f"),
    "segments": _schema(
        "time_ns:i flow:d host:d direction:d packet:i kind:s seq:u len:u ack:u window:u retransmission:b "
        "cause:s needless:b why:s sack:s"
    ),
}
