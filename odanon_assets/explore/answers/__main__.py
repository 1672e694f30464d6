"""The process that answers: `python -m odanon_assets.explore.answers` stands ready, and a copy answers each question."""

import gzip
import json
import os
import re
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import IO, Any

import duckdb  # noqa: F401  slow to import, and needed for most answers: once here, and not in every copy
import geopandas  # noqa: F401
import pyarrow.dataset  # noqa: F401
import pyproj  # noqa: F401
import sqlalchemy.dialects.postgresql.psycopg2  # noqa: F401
from pydantic import BaseModel, ValidationError

from odanon import registry
from odanon.client.publications import open as open_published
from odanon.errors import OdanonError, OutageError
from odanon.system.standby import serve
from odanon_assets.explore.answers.areas import TooLargeError, uploaded
from odanon_assets.explore.answers.catalogue import catalogue, product, standing
from odanon_assets.explore.answers.mapped import flows
from odanon_assets.explore.answers.numbers import matrix, profile
from odanon_assets.explore.answers.outline import zone
from odanon_assets.explore.answers.tables import timed
from odanon_assets.explore.models import sentence
from odanon_assets.explore.openapi import BY_NAME

_FAILED = "something went wrong with this answer; the log of the server has the type of the error"
_NO_MEMORY = re.compile("bad_alloc|out of memory|cannot allocate", re.IGNORECASE)  # as libraries tell it
_FASTER = 5  # of gzip: half the time of the usual one, for a few per cent more bytes
_ANSWERS: dict[str, Callable[..., Any]] = {
    "standing": standing,
    "products": catalogue,
    "product": product,
    "flows": flows,
    "zone": zone,
    "matrix": matrix,
    "profile": profile,
}


def answer(request: dict[str, Any], body: bytes) -> tuple[int, Any]:
    """The status and the answer to a question."""
    try:
        question = BY_NAME.get(request["question"])
        given = {} if question is None else _checked(question.query, question.body, request, body)
        if request["question"] == "areas":
            return 200, uploaded(body, **given)
        published = open_published(timed(request["at"], request["seconds"]))
        return 200, _ANSWERS[request["question"]](published, request, **given)
    except TooLargeError as error:
        return 413, {"error": str(error)}
    except (ValidationError, UnicodeDecodeError, RecursionError) as error:
        problems = error.errors() if isinstance(error, ValidationError) else [{"loc": (), "msg": "it is not JSON"}]
        return 400, {"error": str(sentence(problems))}
    except OdanonError as error:
        told = str(error).replace(request["at"], "the store")  # where it lies is the operator's matter
        return 503 if isinstance(error, OutageError) else 422, {"error": told}


def _checked(
    query: type[BaseModel] | None, body: type[BaseModel] | None, request: dict[str, Any], sent: bytes
) -> dict[str, Any]:
    """What was asked, as models."""
    given: dict[str, Any] = {}
    if query is not None:
        given["asked"] = query.model_validate(request["query"])
    if body is not None:
        given["asked"] = body.model_validate_json(sent)
    return given


def _work(message: bytes, way_back: IO[bytes], descriptors: Sequence[int]) -> None:
    """Answer one question and end."""
    request = json.loads(message)
    # Should the server be gone; the second is inherited by what opens files.
    seconds = int(request["seconds"]) + 2
    signal.alarm(seconds)
    computed = seconds * (os.cpu_count() or 1)
    resource.setrlimit(resource.RLIMIT_CPU, (computed, computed))
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    try:
        with os.fdopen(descriptors[0], "rb") as sent:
            sent.seek(0)
            status, told = answer(request, sent.read())
        if not _NO_MEMORY.search(str(told.get("error", ""))):
            _send(way_back, status, told)
    except (MemoryError, ImportError):  # a library that is loaded when it is needed and does not fit cannot be imported
        return  # without an answer: the server tells why
    except Exception as error:  # its message may quote what was sent
        if _NO_MEMORY.search(str(error)):
            return
        where = traceback.extract_tb(error.__traceback__)[-1]
        failed = f"{type(error).__name__} in {where.name}, line {where.lineno}"
        _send(way_back, 500, {"error": _FAILED}, failed)
    finally:
        os._exit(0)


def _send(way_back: IO[bytes], status: int, told: Any, failed: str | None = None) -> None:
    text = json.dumps(told, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    packed = gzip.compress(text.encode("utf-8", "replace"), _FASTER, mtime=0)
    head = {"status": status, "bytes": len(packed), "failed": failed}
    way_back.write(json.dumps(head).encode() + b"\n" + packed)
    way_back.flush()


if __name__ == "__main__":
    for name in ("embedded", "postgis"):
        registry.find("store", name)  # and all that it imports
    with socket.socket(fileno=int(sys.argv[1])) as control:
        serve(control, 1, _work)
