"""The web server of `odanon explore`: the page, its files, and the questions; mounted anywhere, since all addresses are relative."""

import gzip
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from odanon_assets.explore.basemap import BaseMap
from odanon_assets.explore.explorer import LOG, Explorer
from odanon_assets.explore.openapi import QUESTIONS, Question, described
from odanon_assets.explore.pages import page, static
from odanon_assets.explore.process import Answer, warm

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_AGAIN, _FOR_GOOD, _A_DAY = "private, no-cache", "public, max-age=31536000, immutable", "public, max-age=86400"
_FAILED = "something went wrong in the server; its log has the type of the error"
_LATER = {"Retry-After": "3"}


def explorer_app(at: str, basemap: BaseMap | None = None, hosts: Sequence[str] = ("*",)) -> Starlette:
    """The server of a folder, or of the database at an address.

    `hosts` are the names it is asked under: a page elsewhere whose name leads to this machine is not answered.
    """
    explorer = Explorer(at, basemap)

    async def tile(request: Request) -> Response:
        place = (request.path_params[name] for name in "zxy")
        found = None if basemap is None else await run_in_threadpool(basemap.tile, *place)
        if basemap is None or found is None:
            raise HTTPException(404, "the base map has no such tile")
        return Response(found, media_type=basemap.media_type, headers={"Cache-Control": _A_DAY})

    routes = [
        Route("/", _page),
        Route("/static/{name}", _file),
        Route("/openapi.json", _description),
        Route("/basemap/{z:int}/{x:int}/{y:int}", tile),
        *(Route(each.path, _answering(explorer, each), methods=[each.method]) for each in QUESTIONS),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _refused}, lifespan=_lifespan)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts)
    app.add_middleware(_Around)
    return app


@asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    await run_in_threadpool(warm)
    yield


def _answering(explorer: Explorer, question: Question) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        told = await explorer.told(question, request)
        tag = f'"{told.key}"' if question.method == "GET" else None
        if tag is not None and request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag, "Cache-Control": _AGAIN})
        return _reply(await explorer.answer(told, request), request, tag)

    return answer


def _reply(answer: Answer, request: Request, tag: str | None) -> Response:
    headers = {"Vary": "Accept-Encoding"}
    if tag is not None and answer.status == 200:
        headers |= {"ETag": tag, "Cache-Control": _AGAIN}
    if answer.status == 503:
        headers |= _LATER
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(answer.packed), answer.status, headers, "application/json")
    return Response(answer.packed, answer.status, {**headers, "Content-Encoding": "gzip"}, "application/json")


async def _page(request: Request) -> Response:
    return Response(page(), media_type="text/html", headers={"Cache-Control": _AGAIN})


async def _file(request: Request) -> Response:
    found = static(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "there is no such file")
    content, kind = found
    return Response(content, media_type=kind, headers={"Cache-Control": _FOR_GOOD if request.url.query else _AGAIN})


async def _description(request: Request) -> Response:
    return JSONResponse(described(), headers={"Cache-Control": _AGAIN})


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = error.detail if error.status_code != 405 else "this address is asked in another way; see openapi.json"
    return JSONResponse({"error": known}, error.status_code, _LATER if error.status_code == 503 else error.headers)


class _Around:
    """Around every answer: what browsers are told, a line in the log without the query, and no word of an error that nobody foresaw."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def sent(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                known = {name for name, _ in message["headers"]}
                told = {name.lower().encode(): value.encode() for name, value in _HEADERS.items()}
                more = [(name, value) for name, value in told.items() if name not in known]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            await self.app(scope, receive, sent)
        except ClientDisconnect:
            status = status or 499
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            LOG.error("%s in %s, line %s", type(error).__name__, where.name, where.lineno)
            if not status:
                await JSONResponse({"error": _FAILED}, 500)(scope, receive, sent)
        LOG.info("%s %r %s %.3f s", scope["method"], scope["path"][:200], status, time.monotonic() - began)
