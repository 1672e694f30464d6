"""What a server gives away, takes and stops, whatever is asked of it."""

import asyncio
import ctypes
import json
import logging
import math
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from explored_town import DAYS, filled
from shapely import box
from shapely.geometry import mapping
from starlette.testclient import TestClient

from odanon_assets.explore import limits, process
from odanon_assets.explore.server import explorer_app
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act

HALF = mapping(box(0, 0, 0.5, 1))
MATRIX = "/api/products/town/matrix"


def features(*shapes: Any) -> dict[str, Any]:
    named = [{"type": "Feature", "properties": {"name": f"a{n}"}, "geometry": each} for n, each in enumerate(shapes)]
    return {"type": "FeatureCollection", "features": named}


def zigzag(points: int) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": [[[n / points, n % 2] for n in range(points)] + [[0, 0]]]}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The embedded store alone: most of this is not about stores."""
    root = tmp_path_factory.mktemp("town")
    filled(EmbeddedStore(root))
    with TestClient(explorer_app(str(root))) as client:
        yield client


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"content": b"{nonsense"}, 400, "Invalid JSON"),
        ({"content": b"[" * 100_000}, 400, "recursion|Invalid JSON"),
        ({"json": {"areas": features(HALF), "colour": 1}}, 400, "colour: Extra inputs"),
        ({"json": {"areas": features()}}, 400, "at least 1 item"),
        ({"json": {"areas": features(*[HALF] * 201)}}, 400, "at most 200 items"),
        ({"json": {"areas": features(zigzag(50_001))}}, 413, "50,002 vertices and may have 50,000"),
        ({"json": {"areas": features({"type": "Point", "coordinates": [1, 1]})}}, 400, "Polygon"),
        ({"json": {"areas": features(mapping(box(0, 0, 999, 1)))}}, 400, "less than or equal to 180"),
        ({"content": json.dumps(features(HALF)).replace("0.5", "NaN")}, 400, ""),
        ({"json": {"areas": features({"type": "Polygon", "coordinates": [[[1, 1]] * 4]})}}, 422, "no ground"),
        ({"json": {"areas": {**features(HALF), "features": features(HALF)["features"] * 2}}}, 422, "same name"),
        ({"json": {"areas": features(HALF), "when": {"since": "2026-02-30"}}}, 400, "day is out of range|must be in"),
        ({"json": {"areas": features(HALF), "when": {"since": "yesterday"}}}, 400, "pattern"),
        ({"json": {"areas": features(HALF), "reading": "tea leaves"}}, 400, "'auto', 'even', 'fitted' or 'prior'"),
        ({"json": {"areas": features(HALF), "reading": "prior"}}, 422, "has no weights"),
        ({"content": b" " * (limits.BODY_BYTES + 1)}, 413, "more than 5,000,000 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_answered_is_one_sentence(
    town: TestClient, asked: dict[str, Any], status: int, words: str
) -> None:
    answer = town.post(MATRIX, **asked)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert re.search(words, answer.json()["error"])
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("since=2026-03-29T02:30&until=2026-10-26", 422),  # left out by the clock, and nothing is published since
        ("until=2026-10-25T02:30", 200),  # there twice
        ("since=1900-01-01&until=2199-12-31", 200),
        ("since=0001-01-01", 400),
        ("month=9999-12", 400),
        ("segment=%00", 400),
        ("segment=%27%3B%20drop%20table%20flows", 422),
        ("days=someday", 400),
        ("clock=25:00-26:00", 400),
        ("since=2026-03-03&until=2026-03-02", 422),
    ],
)
def test_odd_times_are_answered_or_one_sentence(town: TestClient, query: str, status: int) -> None:
    assert town.get(f"/api/products/town/flows?{query}").status_code == status


def test_a_shape_that_crosses_itself_is_repaired(town: TestClient) -> None:
    crossed = {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}
    assert town.post(MATRIX, json={"areas": features(crossed)}).json()["cells"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/limits.py",
        "/static//etc/passwd",
        "/static/index.html",
        "/server.py",
        "/docs",
        "/api/products/..%2f..%2faudit",
        "/api/products/nothing/flows",
        "/basemap/0/0/0",
    ],
)
def test_nothing_but_the_page_and_answers_can_be_fetched(town: TestClient, path: str) -> None:
    answer = town.get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"error"}


def test_every_answer_says_what_browsers_may_do(town: TestClient) -> None:
    for path, status in (("/", 200), ("/openapi.json", 200), ("/api/products", 200), ("/nothing", 404), (MATRIX, 405)):
        answer = town.get(path)
        assert answer.status_code == status
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "cache-control" in answer.headers


def test_files_of_the_page_carry_what_they_hold_in_their_address(town: TestClient) -> None:
    page = town.get("/").text
    names = re.findall(r"static/[\w.-]+\?\w{16}", page)
    assert len(names) > 3
    for name in names:
        answer = town.get(f"/{name}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    assert "static/" not in re.sub(r"static/[\w.-]+\?\w{16}", "", page)


def test_an_answer_is_kept_and_told_apart_by_what_is_published(
    town: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STANDING_SECONDS", math.inf)  # or a slow machine asks once more what is published
    first = town.get("/api/products/town/flows", headers={"Accept-Encoding": "gzip"})
    assert first.headers["content-encoding"] == "gzip"
    plain = town.get("/api/products/town/flows", headers={"Accept-Encoding": "identity"})
    assert plain.json() == first.json()
    monkeypatch.setattr(process, "_READY", None)  # nobody is asked again
    again = town.get("/api/products/town/flows", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert town.get("/api/products/town/flows").json() == first.json()


def test_what_was_withdrawn_is_shown_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STANDING_SECONDS", 0)
    store = filled(EmbeddedStore(tmp_path))
    with TestClient(explorer_app(str(tmp_path))) as client:
        before = client.get("/api/products/town/flows").json()["trips"]
        store.withdraw("town", DAYS[0], Act("Ada", "a test"))
        assert client.get("/api/products/town/flows").json()["trips"] < before
        assert client.get("/api/products/town").json()["windows"][0]["status"] == "withdrawn"


@contextmanager
def blocked(store: str, place: Any) -> Iterator[None]:
    """Whoever reads the flows waits: for the writer of a pipe, or for a lock."""
    if store == "postgis":
        connection = psycopg2.connect(place)
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE published.flow IN ACCESS EXCLUSIVE MODE")
            yield
        connection.close()
        return
    files = list(place.glob("published/town/releases/*/flows.parquet"))
    for path in files:
        path.rename(path.with_suffix(".aside"))
        os.mkfifo(path)
    yield
    for path in files:
        path.unlink()
        path.with_suffix(".aside").rename(path)


def none_at_work() -> bool:
    """Whether no process works on a question, within a moment."""
    (ready,) = process._READY._ready
    listed = Path(f"/proc/{ready.process.pid}/task/{ready.process.pid}/children")
    deadline = time.monotonic() + 5
    while listed.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    return not listed.read_text()


def test_work_is_stopped_when_its_time_is_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with TestClient(explorer_app(str(folder))) as client:
        assert client.get("/api/products").status_code == 200
        monkeypatch.setattr(limits, "ANSWER_SECONDS", 0.5)
        with blocked("embedded", folder):
            answer = client.get("/api/products/town/flows")
        assert answer.status_code == 504
        assert "takes more than" in answer.json()["error"]
        assert none_at_work()
        monkeypatch.undo()
        assert client.get("/api/products/town/flows").status_code == 200


@pytest.mark.parametrize("place", ["postgis"], indirect=True)
def test_the_database_stops_too(place: str, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed leaves a statement behind, which the server ends by itself."""
    owner = place.partition("?")[0]
    monkeypatch.setattr(limits, "ANSWER_SECONDS", 1.0)
    with blocked("postgis", owner):
        assert client.get("/api/products/town/flows?since=2026-03-03").status_code == 504
        deadline = time.monotonic() + 10
        while waiting(owner) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert waiting(owner) == 0


def waiting(url: str) -> int:
    """Statements of ours that wait for a lock."""
    connection = psycopg2.connect(url)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        found = cursor.fetchone()[0]
    connection.close()
    return found


def test_work_for_somebody_who_has_gone_is_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a browser does it that asks something else meanwhile."""
    monkeypatch.setattr(limits, "STANDING_SECONDS", 1000)
    app, path = explorer_app(str(folder)), "/api/products/town/flows"
    with TestClient(app) as client:
        assert client.get("/api/products").status_code == 200
    with blocked("embedded", folder):
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []}

        async def leave() -> float:
            began = time.monotonic()
            messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

            async def receive() -> Any:
                await asyncio.sleep(0.3)
                return next(messages, {"type": "http.disconnect"})

            async def send(message: Any) -> None: ...

            await app({**scope, "root_path": "", "server": ("here", 80)}, receive, send)
            return time.monotonic() - began

        assert asyncio.run(leave()) < limits.ANSWER_SECONDS / 2
        assert none_at_work()


def test_questions_wait_for_their_turn_and_are_refused_when_too_many_do(
    town: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.get("/api/products")
    monkeypatch.setattr(limits, "WAITING", 0)
    monkeypatch.setattr(limits, "STANDING_SECONDS", 1000)
    answer = town.get("/api/products/town/flows?since=2026-03-04")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
    assert "8 questions are being answered" in answer.json()["error"]


def test_an_answer_has_so_much_memory_and_no_more(town: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    town.get("/api/products")
    monkeypatch.setattr(limits, "STANDING_SECONDS", 1000)
    (ready,) = process._READY._ready
    (size,) = re.findall(r"VmSize:\s+(\d+) kB", Path(f"/proc/{ready.process.pid}/status").read_text())
    monkeypatch.setattr(limits, "MEMORY_BYTES", (int(size) << 10) + (4 << 20))
    answer = town.post(MATRIX, json={"areas": features(zigzag(40_001))})
    assert answer.status_code == 503, answer.text
    assert "memory" in answer.json()["error"], answer.text


def test_an_error_that_nobody_foresaw_is_told_by_its_type(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (pointer,) = folder.glob("published/town/windows/2026-03-03.json")
    pointer.write_text("{canary")
    with TestClient(explorer_app(str(folder))) as client, caplog.at_level(logging.INFO, "odanon.explore"):
        answer = client.get("/api/products?since=canary")
        assert answer.status_code in (500, 503)
    assert "canary" not in answer.text + caplog.text
    assert "JSONDecodeError in " in caplog.text
    assert str(folder) not in answer.text


def test_a_log_line_has_no_query(town: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "odanon.explore"):
        town.get("/api/products/town/flows?since=2026-03-03&segment=secret")
    (line,) = [record.getMessage() for record in caplog.records if "/flows" in record.getMessage()]
    assert line.startswith("GET '/api/products/town/flows' 422 ")
    assert "secret" not in caplog.text


OPENED = 0x20  # IN_OPEN


@contextmanager
def opened(*folders: Path) -> Iterator[list[str]]:
    """Names of what any process opens in some folders meanwhile."""
    libc, found = ctypes.CDLL(None, use_errno=True), []
    watch = libc.inotify_init1(os.O_NONBLOCK)
    for folder in folders:
        assert libc.inotify_add_watch(watch, os.fsencode(folder), OPENED) >= 0
    yield found
    while True:
        try:
            events = os.read(watch, 1 << 16)
        except BlockingIOError:
            break
        while events:
            length = int.from_bytes(events[12:16], "little")
            found.append(events[16 : 16 + length].rstrip(b"\0").decode())
            events = events[16 + length :]
    os.close(watch)


def test_nothing_outside_what_is_published_is_opened(folder: Path) -> None:
    for kept in ("work/town", "keys", "derived/town"):
        (folder / kept).mkdir(parents=True)
        (folder / kept / "canary.parquet").write_bytes(b"x")
    restricted = [folder / name for name in ("work", "work/town", "keys", "derived", "derived/town", "audit")]
    restricted += [path for path in (folder / "audit").rglob("*") if path.is_dir()]
    with TestClient(explorer_app(str(folder))) as client, opened(folder, *restricted) as names:
        for path in ("/api/products", "/api/products/town", "/api/products/gone", "/api/products/town/flows"):
            assert client.get(path).status_code == 200
        assert client.post(MATRIX, json={"areas": features(HALF)}).status_code == 200
        asked = {"origin": HALF, "destination": HALF, "step": "1d"}
        assert client.post("/api/products/town/profile", json=asked).status_code == 200
    assert {*names} <= {"published"}
    with opened(folder / "work") as names:
        (folder / "work" / "seen").touch()
    assert names == ["seen"]  # the watch works
