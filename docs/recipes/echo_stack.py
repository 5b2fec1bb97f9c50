"""A network stack in a few lines, for a host with `stack = "program"`: it answers pings, and sends UDP datagrams back.

    lasthop live echo.toml --in server 'python3 docs/recipes/echo_stack.py' -- sh -c 'ping -c 3 $LASTHOP_ADDRESS_SERVER'

`LASTHOP_TUN_FD` is read and written as a TUN device's descriptor without packet information: one call, one IP packet.
"""

import os

ICMP, UDP = 1, 17
ECHO_REQUEST, ECHO_REPLY = 8, 0


def checksum(data: bytes) -> int:
    """RFC 1071: the ones' complement of the ones' complement sum of all 16-bit words."""
    words = data + b"\0" * (len(data) % 2)
    total = sum(int.from_bytes(words[at : at + 2], "big") for at in range(0, len(words), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def answer(packet: bytes) -> bytes | None:
    """Return what goes back, if anything does."""
    header_len = (packet[0] & 0xF) * 4
    source, destination, payload = packet[12:16], packet[16:20], bytearray(packet[header_len:])
    if packet[9] == ICMP and payload[0] == ECHO_REQUEST:
        payload[0] = ECHO_REPLY
        payload[2:4] = b"\0\0"
        payload[2:4] = checksum(bytes(payload)).to_bytes(2, "big")
    elif packet[9] == UDP:
        payload[0:4] = payload[2:4] + payload[0:2]
        # RFC 768: no checksum.
        payload[6:8] = b"\0\0"
    else:
        return None
    header = bytearray(packet[:20])
    header[0] = 0x45
    header[2:4] = (20 + len(payload)).to_bytes(2, "big")
    header[10:12] = b"\0\0"
    header[12:16], header[16:20] = destination, source
    header[10:12] = checksum(bytes(header)).to_bytes(2, "big")
    return bytes(header + payload)


def main() -> None:
    """Answer until the run ends."""
    device, mtu = int(os.environ["LASTHOP_TUN_FD"]), int(os.environ["LASTHOP_MTU"])
    print("this host is", os.environ["LASTHOP_ADDRESS"], "and packets have at most", mtu, "bytes", flush=True)
    while True:
        reply = answer(os.read(device, mtu))
        if reply is not None:
            os.write(device, reply)


if __name__ == "__main__":
    main()
