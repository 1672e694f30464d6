"""One store and those who ask it: whose turn it is, what is known already, and which work is stopped."""

import asyncio
import gzip
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request

from odanon_assets.explore import limits
from odanon_assets.explore.basemap import BaseMap
from odanon_assets.explore.openapi import Question
from odanon_assets.explore.process import Answer, Stop, StoppedError, asked

LOG = logging.getLogger("odanon.explore")
BUSY = f"{limits.AT_ONCE} questions are being answered and others wait; ask again in a few seconds"
SLOW = f"the answer takes more than {limits.ANSWER_SECONDS} seconds; ask for a shorter time or fewer areas"
LARGE = f"what was sent has more than {limits.BODY_BYTES:,} bytes; send fewer or simpler areas"
NO_MEMORY = "the answer takes more memory than there is for one; ask for a shorter time or fewer areas"
_LONGEST_QUERY = 4_000  # letters


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
        if key in self._answers or len(answer.packed) > self.most:
            return
        self._answers[key] = answer
        self._bytes += len(answer.packed)
        while self._bytes > self.most:
            _, oldest = self._answers.popitem(last=False)
            self._bytes -= len(oldest.packed)


@dataclass(frozen=True)
class Told:
    """A question as it is sent to the process that answers it, and the key of its answer."""

    question: dict[str, Any]
    body: bytes
    key: str


@dataclass(eq=False)
class Explorer:
    """Answers what is asked of one store."""

    at: str
    basemap: BaseMap | None = None
    kept: Kept = field(default_factory=Kept)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(limits.AT_ONCE))
    _waiting: int = 0
    _standing: tuple[float, dict[str, str]] | None = None
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def told(self, question: Question, request: Request) -> Told:
        """What is asked; the key has what the product shows in it, so that an answer is right as long as its key is asked for."""
        if len(request.url.query) > _LONGEST_QUERY:
            raise HTTPException(400, f"the query has more than {_LONGEST_QUERY:,} letters; ask for less")
        body = await _body(request) if question.method == "POST" else b""
        product, shown = request.path_params.get("product"), await self._shown()
        if product is not None and product not in shown:
            raise HTTPException(404, f"there is no published product of this name; there is {', '.join(shown)}")
        asks = {
            "question": question.name,
            "at": self.at,
            "product": product,
            "query": dict(request.query_params),
            "basemap": self.basemap.told() if self.basemap else None,
        }
        state = shown if product is None else shown[product]
        key = hashlib.sha256(json.dumps([state, asks], sort_keys=True).encode() + b"\n" + body).hexdigest()
        return Told(asks, body, key)

    async def answer(self, told: Told, request: Request) -> Answer:
        """The answer to a question, a kept one if there is one; work for somebody who has gone is stopped."""
        found = self.kept.get(told.key)
        if found is None:
            with closing(Stop()) as stop:
                gone = asyncio.create_task(_gone(request, stop))
                try:
                    found = await self._worked_out(told.question, told.body, stop)
                finally:
                    gone.cancel()
            if found.status == 200:
                self.kept.put(told.key, found)
        return found

    async def _shown(self) -> dict[str, str]:
        """A digest of what each product shows, a few seconds old at most."""
        async with self._looking:
            if self._standing is None or time.monotonic() - self._standing[0] > limits.STANDING_SECONDS:
                with closing(Stop()) as stop:
                    found = await self._worked_out({"question": "standing", "at": self.at}, b"", stop)
                text = json.loads(gzip.decompress(found.packed))
                if found.status != 200:
                    raise HTTPException(503, text["error"])
                self._standing = time.monotonic(), text
            return self._standing[1]

    async def _worked_out(self, question: Mapping[str, Any], body: bytes, stop: Stop) -> Answer:
        await self._turn()
        try:
            found = await run_in_threadpool(asked, question, body, stop)
        except StoppedError:
            raise HTTPException(504, SLOW) from None
        finally:
            self._turns.release()
        if found is None:
            LOG.warning("%s: its process ended without an answer", question["question"])
            raise HTTPException(503, NO_MEMORY)
        if found.failed:
            LOG.error("%s: %s", question["question"], found.failed)
        return found

    async def _turn(self) -> None:
        if self._waiting >= limits.WAITING:
            raise HTTPException(503, BUSY)
        self._waiting += 1
        try:
            await asyncio.wait_for(self._turns.acquire(), limits.WAIT_SECONDS)
        except TimeoutError:
            raise HTTPException(503, BUSY) from None
        finally:
            self._waiting -= 1


async def _body(request: Request) -> bytes:
    """What was sent, no more than is taken of it and no longer than one waits."""
    found = bytearray()
    try:
        async with asyncio.timeout(limits.ANSWER_SECONDS):
            async for part in request.stream():
                found += part
                if len(found) > limits.BODY_BYTES:
                    raise HTTPException(413, LARGE)
    except TimeoutError:
        raise HTTPException(400, "what was sent did not arrive in time; send it again") from None
    return bytes(found)


async def _gone(request: Request, stop: Stop) -> None:
    """Stop the work on a question when its asker has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stop.now()
