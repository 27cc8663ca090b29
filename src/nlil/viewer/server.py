"""The socket and the loop that serves it."""

from __future__ import annotations

import errno
import gc
import socket
from typing import TYPE_CHECKING

from ..errors import ConfigError

if TYPE_CHECKING:
    from fastapi import FastAPI


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at the address; what hinders it is said in one sentence."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # With its protocol: asyncio lets only sockets that say TCP send small pieces at once. Without it the end of
        # every page waits 40 ms for the browser to confirm the beginning.
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError(f"--host {host}: expected a name or address of this machine ({error.strerror})") from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen()  # from here on a browser waits for its answer instead of being refused
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"--port {port}: another program listens there; choose another one, or 0 for any free port", "port"
            ) from error
        raise ConfigError(
            f"--host {host} --port {port}: cannot listen there ({error.strerror}); choose an address of "
            "this machine and a port from 1024 on",
            "port",
        ) from error
    return found


def serve_until_stopped(app: FastAPI, bound: socket.socket) -> None:
    """Answers requests until the process is interrupted."""
    import uvicorn

    # Rules and facts stay to the end: looking through them for garbage would hold up one page in a hundred.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(app, log_level="warning", server_header=False, date_header=False, timeout_keep_alive=5)
    uvicorn.Server(config).run(sockets=[bound])
