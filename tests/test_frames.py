"""Frames of the streams between the processes of a real-time run."""

from __future__ import annotations

import io

import pytest

from lasthop.real_time.frames import LAUNCHER, frame, json_frame, read_frame, read_json


def test_frames_are_read_as_they_were_written() -> None:
    stream = io.BytesIO(frame(3, b"\x00\xff") + frame(0, b"") + json_frame({"end": None}))
    assert read_frame(stream.read) == (3, b"\x00\xff")
    assert read_frame(stream.read) == (0, b"")
    assert read_json(stream.read) == {"end": None}
    assert read_frame(stream.read) is None


def test_the_header_is_in_network_byte_order() -> None:
    assert frame(258, b"ab") == b"\x00\x00\x00\x02\x01\x02ab"
    assert json_frame(1)[4:6] == LAUNCHER.to_bytes(2)


@pytest.mark.parametrize("length", range(1, 9))
def test_a_frame_that_is_cut_is_the_end(length: int) -> None:
    cut = frame(1, b"abc")[:length]
    assert read_frame(io.BytesIO(cut).read) is None


def test_a_stream_that_gives_one_byte_at_a_time_is_read_whole() -> None:
    stream = io.BytesIO(frame(1, b"abc"))
    assert read_frame(lambda _length: stream.read(1)) == (1, b"abc")
