"""The target of a URL: host, port and path."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from urllib.parse import quote, urljoin, urlsplit

from lasthop.errors import InputError, RunError

GATEWAY = "gateway"
"""Host name in URLs for the far end of the links."""

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Target:
    """A parsed URL that can be fetched."""

    url: str
    scheme: str
    host: str
    port: int
    path: str

    @property
    def is_far_end(self) -> bool:
        """Whether the host is the far end of the links."""
        return self.host in (GATEWAY, "$lasthop_gateway")

    def address(self) -> str | None:
        """Ask this machine's resolver for the host's address; None for the far end of the links.

        Raises RunError if the name is not known, and InputError if the address is this machine's loopback.
        """
        if self.is_far_end:
            return None
        try:
            found = socket.getaddrinfo(self.host, self.port, socket.AF_INET, socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise RunError(f"{self.host}: {error.strerror}") from error
        address = IPv4Address(found[0][4][0])
        if address.is_loopback or address.is_unspecified:
            raise InputError(
                f"{self.host} is this machine's loopback, which no link leads to",
                key=self.url,
                help=f"a server that listens on every address is at {self.scheme}://{GATEWAY}:{self.port}{self.path}",
            )
        return str(address)


def target_of(url: str) -> Target:
    """Parse a URL. Raises InputError, with a correct form, if it cannot be fetched."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _refusal(url, str(error)) from error
    if parts.scheme not in _PORTS:
        raise _refusal(url, f"{parts.scheme!r} is not supported" if parts.scheme else "the scheme is missing")
    if not parts.hostname:
        raise _refusal(url, "the host is missing")
    if parts.username is not None:
        raise _refusal(url, "user names and passwords are not supported")
    if _is_ipv6(parts.hostname):
        raise _refusal(url, "only IPv4 crosses the links")
    path = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
    return Target(url, parts.scheme, parts.hostname, port or _PORTS[parts.scheme], path)


def redirected(target: Target, location: str) -> Target:
    """Return the target of a redirection, whose `location` may be relative.

    Raises RunError if it cannot be fetched: a server of elsewhere leads neither to this machine's loopback nor to the
    far end of the links.
    """
    try:
        led_to = target_of(urljoin(target.url, location))
        led_to.address()
    except (InputError, ValueError) as error:
        raise RunError(f"{target.url} redirects to {location!r}: {error}") from error
    if led_to.is_far_end and not target.is_far_end:
        raise RunError(f"{target.url} redirects to {location!r}, the far end of the links")
    return led_to


def _is_ipv6(host: str) -> bool:
    try:
        return ip_address(host).version == 6
    except ValueError:
        return False


def _refusal(url: str, what: str) -> InputError:
    return InputError(what, key=url, help="write http://HOST[:PORT]/PATH, or https://")


_SAFE = "/%:=&?~#+!$,;'@()*[]"
"""Characters that a URL may have unquoted (RFC 3986 §2.2), and the percent sign of quoted ones."""
