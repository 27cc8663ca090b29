"""The socket and the loop that serves it."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

from ..errors import ConfigError

if TYPE_CHECKING:
    from fastapi import FastAPI


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at the address; what hinders it is said in one sentence."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind)
    except OSError as error:
        raise ConfigError(f"--host {host}: expected a name or address of this machine ({error.strerror})") from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen()  # from here on a browser waits for its answer instead of being refused
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(f"--port {port}: another program listens there; choose another one, or 0 for any free "
                              "port", "port") from error
        raise ConfigError(f"--host {host} --port {port}: cannot listen there ({error.strerror}); choose an address of "
                          "this machine and a port from 1024 on", "port") from error
    return found


def serve_until_stopped(app: FastAPI, bound: socket.socket) -> None:
    """Answers requests until the process is interrupted."""
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", server_header=False, date_header=False, timeout_keep_alive=5)
    uvicorn.Server(config).run(sockets=[bound])
