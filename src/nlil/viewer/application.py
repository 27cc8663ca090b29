"""application: addresses to pages. Each page twice, for people and at the same address + `.json` for programs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import NlilError, UnknownName
from ..explanation.shown import number
from ..kernel.threads import one_torch_thread
from .desk import Desk
from .fact_pages import ask_page, explain_page, why_not_page
from .guard import HEADERS, Guard
from .name_pages import entity_page, home_page, search_page
from .page import Ask, Page
from .rule_pages import feedback_page, judge, predicate_page, rule_page
from .wanted import NoSuchPage, Wanted

FOLDER = Path(__file__).parent
MOST_BYTES = 20_000
"""Of a form: a verdict and a note."""

PAGES: Mapping[str, Callable[[Ask], Page]] = {
    "/": home_page,
    "/search": search_page,
    "/ask": ask_page,
    "/explain": explain_page,
    "/why-not": why_not_page,
    "/feedback": feedback_page,
    "/predicate/{number}": predicate_page,
    "/entity/{number}": entity_page,
    "/rule/{number}": rule_page,
}
UNLOCKED = ("/search",)
"""Pages that only look names up: typing must not wait for an answer being computed."""


def application(desk: Desk, guard: Guard) -> FastAPI:
    """The viewer of one run."""
    app = FastAPI(title="nlil", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    show = Showing(desk, guard)
    for path, make in PAGES.items():
        app.add_api_route(path + ".json", show.endpoint(make, path, as_json=True), methods=["GET"])
        app.add_api_route(path, show.endpoint(make, path, as_json=False), methods=["GET"])
    app.add_api_route("/rule/{number}/verdict", show.verdict, methods=["POST"])
    app.mount("/static", StaticFiles(directory=FOLDER / "static"))

    @app.middleware("http")
    async def guarded(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        if guard.knows_host(request.headers.get("host", "")):
            response = await call_next(request)
        else:
            response = show.error(
                request,
                400,
                "this viewer does not answer to the host name of this address; open it "
                "as localhost, or start it with --host and that name",
            )
        response.headers.update(HEADERS)
        return response

    @app.exception_handler(NlilError)
    async def wrong(request: Request, error: NlilError) -> Response:
        return show.error(request, 404 if isinstance(error, NoSuchPage | UnknownName) else 400, str(error))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        said = {404: "there is no page at this address", 405: "this address takes another kind of request"}
        return show.error(request, error.status_code, said.get(error.status_code, str(error.detail)))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        response = show.error(request, 500, "the viewer failed at this page; what happened is on its terminal")
        response.headers.update(HEADERS)
        return response

    return app


class Showing:
    """Pages to responses."""

    def __init__(self, desk: Desk, guard: Guard) -> None:
        self.desk, self.guard = desk, guard
        self.templates = Environment(
            loader=FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters |= {"number": number, "count": lambda value: f"{value:,}"}
        self.templates.globals |= {
            "version": __version__,
            "run_name": desk.run.path.name,
            "data_name": desk.run.dataset.name,
        }

    def endpoint(self, make: Callable[[Ask], Page], path: str, as_json: bool) -> Callable[..., Response]:
        def show(request: Request) -> Response:
            wanted = Wanted(dict(request.query_params))
            ask = Ask(self.desk, wanted, path_number(request.path_params.get("number", "0")))
            if path in UNLOCKED:
                page = make(ask)
            else:
                with self.desk.lock, one_torch_thread():  # a page is many small sums
                    page = make(ask)
            return as_document(page.document, page.status) if as_json else self.page(request, page, wanted)

        return show

    def page(self, request: Request, page: Page, wanted: Wanted) -> Response:
        # JSON has the same address; of the first page it is /.json
        query = f"?{request.url.query}" if request.url.query else ""
        text = self.templates.get_template(page.template).render(
            page.document,
            document=page.document,
            title=page.title,
            wanted=wanted,
            token=self.guard.token,
            drawings={name: Markup(svg) for name, svg in page.drawings.items()},
            json_address=request.url.path + ".json" + query,
        )
        return HTMLResponse(text, page.status)

    def error(self, request: Request, status: int, sentence: str) -> Response:
        if request.url.path.endswith(".json"):
            return as_document({"error": sentence}, status)
        text = self.templates.get_template("error.html").render(
            title="Not found" if status == 404 else "This does not work",
            sentence=sentence,
            wanted=Wanted({}),
            json_address=None,
        )
        return HTMLResponse(text, status)

    async def verdict(self, request: Request) -> Response:
        """A verdict on a rule; afterwards its page is shown again."""
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BYTES:
                return self.error(request, 413, f"a form may have {MOST_BYTES:,} bytes; write a shorter note")
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

    def _judge(self, row: int, form: dict[str, str]) -> None:
        with self.desk.lock:
            judge(self.desk, row, form)


def path_number(text: str) -> int:
    if not (text.isdecimal() and len(text) <= 12):
        raise NoSuchPage("there is no page at this address; predicates, entities and rules have numbers here")
    return int(text)


def as_document(document: Mapping[str, Any], status: int) -> Response:
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    return Response(text.encode("utf-8", "replace"), status, media_type="application/json")
