"""The web server of `odanon explore`: the page, its files, and questions that processes of their own answer."""

import asyncio
import gzip
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from odanon_assets.explore import limits
from odanon_assets.explore.basemap import BaseMap
from odanon_assets.explore.openapi import QUESTIONS, Question, described
from odanon_assets.explore.pages import page, static
from odanon_assets.explore.process import Answer, Stop, StoppedError, asked, warm

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_AGAIN, _NEVER, _FOR_GOOD = "private, no-cache", "no-store", "public, max-age=31536000, immutable"
_BUSY = f"{limits.AT_ONCE} questions are being answered and others wait; ask again in a few seconds"
_SLOW = f"the answer takes more than {limits.ANSWER_SECONDS} seconds; ask for a shorter time or fewer areas"
_LARGE = f"what was sent has more than {limits.BODY_BYTES:,} bytes; send fewer or simpler areas"
_NO_MEMORY = "the answer takes more memory than there is for one; ask for a shorter time or fewer areas"


class Refusal(HTTPException):
    """A status and a sentence."""


@dataclass(eq=False)
class Kept:
    """Answers that never change, the latest used ones, up to so many bytes."""

    most: int = limits.KEPT_BYTES
    _answers: OrderedDict[str, Answer] = field(default_factory=OrderedDict)
    _bytes: int = 0

    def get(self, key: str) -> Answer | None:
        if (found := self._answers.get(key)) is not None:
            self._answers.move_to_end(key)
        return found

    def put(self, key: str, answer: Answer) -> None:
        if key in self._answers or len(answer.packed) > self.most // 4:
            return
        self._answers[key] = answer
        self._bytes += len(answer.packed)
        while self._bytes > self.most:
            _, oldest = self._answers.popitem(last=False)
            self._bytes -= len(oldest.packed)


@dataclass(eq=False)
class Explorer:
    """One store, and those who ask it."""

    at: str
    basemap: BaseMap | None = None
    kept: Kept = field(default_factory=Kept)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(limits.AT_ONCE))
    _waiting: int = 0
    _standing: tuple[float, dict[str, str]] = (0.0, {})
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def answer(self, question: Question, request: Request) -> Response:
        """The answer to a question, kept ones first; a question whose asker has gone is stopped."""
        body = await _body(request) if question.method == "POST" else b""
        product = request.path_params.get("product")
        shown = await self.standing()
        if product is not None and product not in shown:
            raise Refusal(404, f"there is no published product of this name; there is {', '.join(shown) or 'none'}")
        told = {
            "question": question.name,
            "at": self.at,
            "product": product,
            "query": dict(request.query_params),
            "basemap": self.basemap.told() if self.basemap else None,
        }
        state = shown if product is None else shown[product]
        key = hashlib.sha256(json.dumps([state, told], sort_keys=True).encode() + b"\n" + body).hexdigest()
        if request.headers.get("if-none-match") == f'"{key}"':
            return Response(status_code=304, headers={"ETag": f'"{key}"', "Cache-Control": _AGAIN})
        found = self.kept.get(key)
        if found is None:
            found = await self._worked_out(told, body, request)
            if found.status == 200:
                self.kept.put(key, found)
        return _reply(found, request, key if question.method == "GET" and found.status == 200 else None)

    async def standing(self) -> dict[str, str]:
        """A digest of what each product shows, a few seconds old at most."""
        async with self._looking:
            at, known = self._standing
            if time.monotonic() - at > limits.STANDING_SECONDS or not known:
                found = await self._asked({"question": "standing", "at": self.at}, b"", Stop())
                text = json.loads(gzip.decompress(found.packed))
                if found.status != 200:
                    raise Refusal(503, text["error"])
                self._standing = time.monotonic(), text
            return self._standing[1]

    async def _worked_out(self, told: dict[str, Any], body: bytes, request: Request) -> Answer:
        stop = Stop()
        gone = asyncio.create_task(_gone(request, stop))
        try:
            return await self._asked(told, body, stop)
        finally:
            gone.cancel()
            stop.close()

    async def _asked(self, told: dict[str, Any], body: bytes, stop: Stop) -> Answer:
        if self._waiting >= limits.WAITING:
            raise Refusal(503, _BUSY)
        self._waiting += 1
        try:
            await asyncio.wait_for(self._turns.acquire(), limits.WAIT_SECONDS)
        except TimeoutError:
            raise Refusal(503, _BUSY) from None
        finally:
            self._waiting -= 1
        try:
            found = await run_in_threadpool(asked, told, body, stop)
        except StoppedError:
            raise Refusal(504, _SLOW) from None
        finally:
            self._turns.release()
        if found is None:
            raise Refusal(503, _NO_MEMORY)
        return found


def explorer_app(at: str, basemap: BaseMap | None = None) -> Starlette:
    """The server of a folder or of the address of a database, mounted anywhere: all its addresses are relative."""
    explorer = Explorer(at, basemap)

    def answering(question: Question) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            return await explorer.answer(question, request)

        return answer

    async def tile(request: Request) -> Response:
        z, x, y = (request.path_params[name] for name in "zxy")
        found = None if basemap is None else await run_in_threadpool(basemap.tile, z, x, y)
        if basemap is None or found is None:
            raise Refusal(404, "the base map has no such tile")
        return Response(found, media_type=basemap.media_type, headers={"Cache-Control": "public, max-age=86400"})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> Any:
        await run_in_threadpool(warm)
        yield

    routes = [
        Route("/", _page),
        Route("/static/{name}", _file),
        Route("/openapi.json", _description),
        Route("/basemap/{z:int}/{x:int}/{y:int}", tile),
        *(Route(each.path, answering(each), methods=[each.method], name=each.name) for each in QUESTIONS),
    ]
    handlers: Any = {HTTPException: _refused, ClientDisconnect: _left, Exception: _failed}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.add_middleware(_Headers)
    return app


class _Headers:
    """What browsers are told of every answer."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                known = {name for name, _ in message["headers"]}
                more = {**_HEADERS, "Cache-Control": _NEVER}
                message["headers"] += [
                    (name.lower().encode(), value.encode())
                    for name, value in more.items()
                    if name.lower().encode() not in known
                ]
            await send(message)

        await self.app(scope, receive, sent)


async def _page(request: Request) -> Response:
    return Response(page(), media_type="text/html; charset=utf-8", headers={"Cache-Control": _AGAIN})


async def _file(request: Request) -> Response:
    found = static(request.path_params["name"])
    if found is None:
        raise Refusal(404, "there is no such file")
    return Response(
        found[0], media_type=found[1], headers={"Cache-Control": _FOR_GOOD if request.url.query else _AGAIN}
    )


async def _description(request: Request) -> Response:
    return JSONResponse(described(), headers={"Cache-Control": _AGAIN})


async def _refused(request: Request, error: HTTPException) -> Response:
    again = {"Retry-After": "3"} if error.status_code == 503 else {}
    return JSONResponse({"error": error.detail}, error.status_code, headers=again)


async def _left(request: Request, error: Exception) -> Response:
    return Response(status_code=400)


async def _failed(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "something went wrong here; the operator's log has the type of the error"}, 500)


async def _body(request: Request) -> bytes:
    """What was sent, no more than is taken of it."""
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > limits.BODY_BYTES:
            raise Refusal(413, _LARGE)
    return bytes(found)


async def _gone(request: Request, stop: Stop) -> None:
    """Stop the work on a question when its asker has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stop.now()


def _reply(answer: Answer, request: Request, tag: str | None) -> Response:
    headers = {"Vary": "Accept-Encoding", "Cache-Control": _AGAIN if tag else _NEVER}
    if tag:
        headers["ETag"] = f'"{tag}"'
    if answer.status == 503:
        headers["Retry-After"] = "3"
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        body = answer.packed
    else:
        body = gzip.decompress(answer.packed)
    return Response(body, answer.status, headers, "application/json")
