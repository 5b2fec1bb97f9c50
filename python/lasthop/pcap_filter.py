"""Filters in the language of libpcap (`man pcap-filter`), compiled by libpcap, where it is installed."""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache
from typing import Final

from lasthop.errors import InputError

Program = tuple[int, int, int, int]
"""An instruction of the BSD packet filter: code, two jumps, constant (`struct bpf_insn`)."""

ETHERNET: Final = 1

LINK_TYPES: Final = (
    *(0, ETHERNET, 9, 10, 12, 14, 50, 51, 101, 104, 105, 108, 109, 113, 117, 119, 127, 166, 204, 228, 229, 239, 276),
)
"""The link types whose frames lasthop reads (<https://www.tcpdump.org/linktypes.html>)."""

DATA_LINK_TYPES: Final = {101: 12}
"""Numbers of libpcap on Linux that differ from those in files: raw IP."""

SNAP_LENGTH: Final = 262_144
NO_NETMASK: Final = 0xFFFFFFFF


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint), ("instructions", ctypes.POINTER(_Instruction)))


def programs_of(expression: str) -> dict[int, list[Program]]:
    """Compile a filter for each link type that has what it asks for; "ether host …" has no meaning on raw IP.

    Raises InputError if libpcap is not installed, or refuses the filter for every link type.
    """
    compiled = {link_type: _compile(expression, link_type) for link_type in LINK_TYPES}
    programs = {link_type: found for link_type, found in compiled.items() if isinstance(found, list)}
    if not programs:
        raise InputError(str(compiled[ETHERNET]), key=f"filter {expression!r}", help="see `man pcap-filter`")
    return programs


def _compile(expression: str, link_type: int) -> list[Program] | str:
    """Return the program of a filter, or libpcap's message."""
    library = _library()
    handle = library.pcap_open_dead(DATA_LINK_TYPES.get(link_type, link_type), SNAP_LENGTH)
    program = _Program()
    try:
        if library.pcap_compile(handle, ctypes.byref(program), expression.encode(), 1, NO_NETMASK):
            return bytes(library.pcap_geterr(handle)).decode(errors="replace")
        found = [program.instructions[place] for place in range(program.length)]
        instructions = [(one.code, one.jt, one.jf, one.k) for one in found]
        library.pcap_freecode(ctypes.byref(program))
        return instructions
    finally:
        library.pcap_close(handle)


@cache
def _library() -> ctypes.CDLL:
    name = ctypes.util.find_library("pcap")
    if name is None:
        raise InputError(
            "a filter needs libpcap, which is not installed", key="filter", help="install it: apt install libpcap0.8"
        )
    library = ctypes.CDLL(name)
    library.pcap_open_dead.restype = ctypes.c_void_p
    library.pcap_open_dead.argtypes = (ctypes.c_int, ctypes.c_int)
    library.pcap_compile.argtypes = (
        *(ctypes.c_void_p, ctypes.POINTER(_Program), ctypes.c_char_p, ctypes.c_int, ctypes.c_uint32),
    )
    library.pcap_geterr.restype = ctypes.c_char_p
    library.pcap_geterr.argtypes = (ctypes.c_void_p,)
    library.pcap_freecode.argtypes = (ctypes.POINTER(_Program),)
    library.pcap_close.argtypes = (ctypes.c_void_p,)
    return library
