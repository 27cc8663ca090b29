"""The viewer as a web application: routes, access checks, and the server.

Each page exists twice: as HTML, and as JSON at the same address plus `.json`.
"""

from __future__ import annotations

import errno
import gc
import hmac
import ipaddress
import json
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import ConfigError, NlilError, RunError, UnknownName
from ..kernel.threads import one_torch_thread
from ..learning.changing import MARKER, read_whole, stamp
from ..learning.feedback import load_feedback
from ..learning.run import FEEDBACK
from ..logic.query import Query, parse_query
from ..report.page import FOLDER as REPORT_FOLDER
from ..report.page import templates
from .fact_pages import FACT_PAGES
from .home import HOME_PAGES
from .page_data import PageData
from .pages import PAGES, Maker, NoSuchPage, Page, Parameters, judge

FOLDER = Path(__file__).parent
ATTENTIONS_STYLE = REPORT_FOLDER / "attentions.css"
"""The style sheet that the viewer shares with the report."""
MAX_FORM_BYTES = 20_000
"""Limit of a form with a verdict and a note."""
NO_MEMORY = "there is not enough memory for this page; free some, or serve the run on a larger machine"
UNLOCKED = ("/search",)
"""Pages that only look up names; typing must not wait for a computation."""
LOCAL_NAMES = ("localhost",)
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # without a referrer, a form would not reveal its origin
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class Guard:
    """Access checks: the host of a request, and the token of a form.

    A page of another site can make a browser send requests here. It cannot read the pages of this viewer, so it does
    not know the token; and if it resolves its own host name to this machine, the viewer rejects that name. `names` are
    the accepted host names; numeric addresses are always accepted, since nobody can register them.
    """

    names: frozenset[str] = frozenset(LOCAL_NAMES)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @classmethod
    def of(cls, names: Iterable[str]) -> Guard:
        """Return a guard that also accepts these host names."""
        return cls(frozenset({*LOCAL_NAMES, *(name.lower() for name in names)}))

    def knows_host(self, host: str) -> bool:
        """Return whether `host`, the Host header of a request, is a name of this machine."""
        name = host_name(host)
        try:
            return name in self.names or bool(ipaddress.ip_address(name))
        except ValueError:
            return False

    def is_own_form(self, host: str, origin: str | None, token: str) -> bool:
        """Return whether a form comes from a page of this viewer at `host`.

        Browsers send the `origin` of a form. `token` is that of the form; only our pages know it.
        """
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return False
        return hmac.compare_digest(token.encode(), self.token.encode())


def host_name(host: str) -> str:
    """Return `host` without its port.

    >>> host_name("LocalHost:8000"), host_name("[::1]:8000"), host_name("::1:x")
    ('localhost', '::1', '')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


# pages to responses -------------------------------------------------------------------------------------


def application(data: PageData, guard: Guard, reopen: Callable[[], PageData] | None = None) -> FastAPI:
    """Make the web application of one run: the pages of `data`, access checked by `guard`.

    `reopen` reads the run again after it was replaced.
    """
    app = FastAPI(title="nlil", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    show = Responses(CurrentPages(data, reopen), guard)
    for path, make in {**HOME_PAGES, **PAGES, **FACT_PAGES}.items():
        app.add_api_route(path + ".json", show.endpoint(make, path, as_json=True), methods=["GET"])
        app.add_api_route(path, show.endpoint(make, path, as_json=False), methods=["GET"])
    app.add_api_route("/rule/{number}/verdict", show.verdict, methods=["POST"])
    app.add_api_route("/attentions.css", lambda: FileResponse(ATTENTIONS_STYLE), methods=["GET"])
    app.mount("/static", StaticFiles(directory=FOLDER / "static"))

    @app.middleware("http")
    async def guarded(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        if not is_text(request.scope["query_string"]):
            response = show.error(request, 400, "the address is not text in UTF-8; follow a link, or type it again")
        elif guard.knows_host(request.headers.get("host", "")):
            response = await call_next(request)
        else:
            response = show.error(
                request,
                400,
                "this viewer does not accept the host name of this address; open it as localhost, "
                "or start it with --host and that name",
            )
        response.headers.update(HEADERS)
        return response

    @app.exception_handler(NlilError)
    async def wrong(request: Request, error: NlilError) -> Response:
        is_missing, is_away = isinstance(error, NoSuchPage | UnknownName), isinstance(error, RunError)
        near = [] if not isinstance(error, UnknownName) else replaced_name(request, error)
        return show.error(request, 404 if is_missing else 503 if is_away else 400, str(error), near)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        messages = {404: "there is no page at this address", 405: "this address takes another kind of request"}
        return show.error(request, error.status_code, messages.get(error.status_code, str(error.detail)))

    @app.exception_handler(MemoryError)
    async def too_large(request: Request, error: MemoryError) -> Response:
        return show.error(request, 503, NO_MEMORY)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        response = show.error(request, 500, "the viewer failed to make this page; its terminal shows the error")
        response.headers.update(HEADERS)
        return response

    return app


class CurrentPages:
    """Returns the page data for the current state of the run folder when called.

    Args:
        data: The opened run.
        reopen: Reads the run again after it was replaced; None: the opened run is shown until the end.
    """

    def __init__(self, data: PageData, reopen: Callable[[], PageData] | None = None) -> None:
        self.data, self.reopen = data, reopen
        self._lock = threading.Lock()
        self._run, self._verdicts = self._stamps()

    def __call__(self) -> PageData:
        """Return the current data. Raises RunError if the run is gone or cannot be read."""
        if self._stamps() != (self._run, self._verdicts):
            with self._lock:
                self._follow()
        return self.data

    def _stamps(self) -> tuple[object, object]:
        path = self.data.run.path
        return stamp(path, [MARKER]), stamp(path, [FEEDBACK])

    def _follow(self) -> None:
        path = self.data.run.path
        run, verdicts = read_whole(path, self._stamps)
        if run != self._run and self.reopen is not None:
            new = self.reopen()
            new.work_ahead()
            self.data.highlights.end()
            gc.unfreeze()  # the old run was excluded from garbage collection; it is garbage now
            self.data = new
            gc.collect()
            gc.freeze()
        elif verdicts != self._verdicts:
            feedback = load_feedback(path)
            with self.data.lock:
                self.data.use_feedback(feedback)
        self._run, self._verdicts = run, verdicts


class Responses:
    """Turns pages of the `current` run into responses to requests that the `guard` accepts."""

    def __init__(self, current: CurrentPages, guard: Guard) -> None:
        self.current, self.guard = current, guard
        self.templates = templates(FOLDER / "templates")
        run = current.data.run
        self.templates.globals |= {"version": __version__, "run_name": run.path.name, "data_name": run.dataset.name}

    def endpoint(self, make: Maker, path: str, as_json: bool) -> Callable[..., Response]:
        """Return the handler of requests for a page, as HTML or, with `as_json`, as JSON.

        `make` makes the page at `path`.
        """

        def show(request: Request) -> Response:
            parameters = Parameters(dict(request.query_params))
            place = path_number(request.path_params.get("number", "0"))
            data = self.current()
            if path in UNLOCKED:
                page = make(data, parameters, place)
            else:
                with data.lock, one_torch_thread():  # a page takes many small sums
                    page = make(data, parameters, place)
            return as_document(page.document) if as_json else self.page(request, page, parameters)

        return show

    def page(self, request: Request, page: Page, parameters: Parameters) -> Response:
        """Return a `page` as HTML."""
        # JSON has the same address; for the first page it is /.json
        query = f"?{request.url.query}" if request.url.query else ""
        text = self.templates.get_template(page.template).render(
            page.document,
            document=page.document,
            title=page.title,
            parameters=parameters,
            token=self.guard.token,
            drawings={name: Markup(svg) for name, svg in page.drawings.items()},
            json_address=request.url.path + ".json" + query,
        )
        return HTMLResponse(text)

    def error(self, request: Request, status: int, sentence: str, near: Sequence[tuple[str, str]] = ()) -> Response:
        """Return an error `sentence` with an HTTP `status`, in the requested format.

        The query is kept, to be corrected; `near` are queries that may have been meant, with their addresses.
        """
        path = request.scope["path"]
        if path.endswith(".json"):
            return as_document({"error": sentence}, status)
        text = self.templates.get_template("error.html").render(
            title="Not found" if status == 404 else "This does not work",
            sentence=sentence,
            action=path if path in FACT_PAGES else None,
            values=dict(request.query_params),
            near=near,
            parameters=Parameters({}),
            json_address=None,
        )
        return HTMLResponse(text, status)

    async def verdict(self, request: Request) -> Response:
        """Store a verdict on a rule, then show its page again."""
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_FORM_BYTES:
                return self.error(request, 413, f"a form has at most {MAX_FORM_BYTES:,} bytes; write a shorter note")
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if not self.guard.is_own_form(host, origin, form.get("token", "")):
            return self.error(
                request,
                403,
                "the form does not come from a page of this viewer, or the viewer was "
                "started again since; open the rule's page and send it from there",
            )
        row = path_number(request.path_params["number"])
        await run_in_threadpool(self._judge, row, form)
        return RedirectResponse(f"/rule/{row}#verdict", 303)

    def _judge(self, row: int, form: Mapping[str, str]) -> None:
        data = self.current()
        with data.lock:
            judge(data, row, form)


def is_text(content: bytes) -> bool:
    """Return whether `content` is UTF-8."""
    try:
        content.decode()
        return True
    except UnicodeDecodeError:
        return False


def replaced_name(request: Request, error: UnknownName) -> list[tuple[str, str]]:
    """Return queries that may have been meant, with their addresses.

    They are that of the `request` with each of the closest names in place of the unknown one of the `error`.
    """
    values = dict(request.query_params)
    try:
        query = parse_query(values.get("q", ""))
    except NlilError:  # it is the name of something else that is unknown
        return []
    if error.name not in (query.predicate, *query.arguments):
        return []
    near = []
    for name in error.closest:
        predicate, *arguments = (name if one == error.name else one for one in (query.predicate, *query.arguments))
        text = str(Query(str(predicate), tuple(arguments)))
        near.append((text, f"{request.scope['path']}?{urlencode({**values, 'q': text})}"))
    return near


def path_number(text: str) -> int:
    """Return the number `text` in the path of an address; raise NoSuchPage if it is not a number."""
    if not (text.isdecimal() and len(text) <= 12):
        raise NoSuchPage("there is no page at this address; predicates, entities and rules have numbers here")
    return int(text)


def as_document(document: Mapping[str, Any], status: int = 200) -> Response:
    """Return a `document` as JSON, with an HTTP `status`."""
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    return Response(text.encode("utf-8", "replace"), status, media_type="application/json")


# the server ---------------------------------------------------------------------------------------------


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at `host` and `port`; raises ConfigError if that fails."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # asyncio disables Nagle's algorithm only for sockets with an explicit TCP protocol. Otherwise the end of every
        # page waits 40 ms for the browser to acknowledge the beginning.
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError(f"--host {host}: expected a name or address of this machine ({error.strerror})") from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen()  # from now on, a browser waits instead of being refused
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
    """Serve `app` at the socket `bound` until the process is interrupted, then raise KeyboardInterrupt."""
    import uvicorn

    # Rules and facts live until the end; scanning them for garbage would delay one page in a hundred.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(app, log_level="warning", server_header=False, date_header=False, timeout_keep_alive=5)
    uvicorn.Server(config).run(sockets=[bound])
    raise KeyboardInterrupt  # nothing else ends it, but uvicorn may lose the signal while its loop is ending
