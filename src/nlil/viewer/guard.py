"""Who may ask, and who may write: the host of an address, the token of a form, and what a page may load.

A page of another site can make a browser send requests here. It cannot read this viewer's pages, so it does not know
the token; and a name of its own that it points at this machine is no host that this viewer answers to.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

LOCAL_NAMES = ("localhost",)
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none at all a form would not say where it comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class Guard:
    """`names` are the host names that the viewer answers to; an address in numbers is nobody's name, so it passes."""

    names: frozenset[str] = frozenset(LOCAL_NAMES)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @classmethod
    def of(cls, names: Iterable[str]) -> Guard:
        return cls(frozenset({*LOCAL_NAMES, *(name.lower() for name in names)}))

    def knows_host(self, host: str) -> bool:
        """Whether the Host of a request is this machine under a name of its own."""
        name = host_name(host)
        return name in self.names or is_numeric(name)

    def is_own_form(self, host: str, origin: str | None, token: str) -> bool:
        """Whether a form comes from a page of this viewer; browsers say where a form comes from."""
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return False
        return hmac.compare_digest(token.encode(), self.token.encode())


def host_name(host: str) -> str:
    """Host without its port.

    >>> host_name("LocalHost:8000"), host_name("[::1]:8000"), host_name("::1:x")
    ('localhost', '::1', '')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_numeric(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
