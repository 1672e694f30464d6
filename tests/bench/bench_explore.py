"""What readers wait for: fifty of them at once on PostGIS and on the explorer, beside one alone, and the largest map.

Run it with `python tests/bench/bench_explore.py`. Readers have the rights of odanon_reader and ask for areas of their own, each another one,
so that no answer is a kept one. The figure is a ratio: how much longer one of fifty waits than one alone. With all processors at work
it cannot be less than fifty by their number; what is above that is what they cost each other.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import h3
import numpy as np
import psycopg2
from shapely import box
from shapely.geometry import mapping

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from bench_store import CENTRE, PAIRS, accept, release, zones
from postgis_server import postgis_server
from store_databases import as_role

from odanon_assets.stores import schema
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.postgis import PostgisStore

READERS, QUESTIONS = 50, 3
DAYS = [date(2025, 1, 1) + timedelta(days=n) for n in range(28)]
LAT, LON = h3.cell_to_latlng(CENTRE)
LARGEST = 58  # rings of zones: 10,267
MAP_FLOWS = 100_000
MAP_SECONDS = 5.0
FLOW = "SELECT * FROM odanon.flow(ST_GeomFromText(%s, 4326), ST_GeomFromText(%s, 4326), '2025-01-01', '2025-02-01', 'year')"
Ask = Callable[[int], Any]


def areas(number: int, many: int) -> list[Any]:
    """Squares that no other question asks for."""
    rng = np.random.default_rng(number)
    corners = rng.uniform(-0.06, 0.03, (many, 2))
    return [box(LON + x, LAT + y, LON + x + 0.03, LAT + y + 0.03) for x, y in corners]


def waits(readers: int, reader: Callable[[int], Iterator[Ask]], first: int = 0) -> list[float]:
    """How long each question took, with so many readers who ask one after the other; `first` numbers the questions."""
    found: list[float] = []
    started = threading.Barrier(readers)

    def read(number: int) -> None:
        asks = reader(number)
        ask = next(asks)
        started.wait()
        for question in range(QUESTIONS):
            began = time.perf_counter()
            ask(first + number * QUESTIONS + question)
            found.append(time.perf_counter() - began)
        asks.close()  # type: ignore[attr-defined]

    threads = [threading.Thread(target=read, args=(n,)) for n in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(found) < readers * QUESTIONS:
        raise RuntimeError(f"{readers * QUESTIONS - len(found)} of {readers * QUESTIONS} questions were not answered")
    return found


def told(what: str, reader: Callable[[int], Iterator[Ask]]) -> None:
    alone = np.concatenate([waits(1, reader, 1000 + n * QUESTIONS) for n in range(3)])
    crowd = np.array(waits(READERS, reader))
    (p50, p95), one = np.quantile(crowd, [0.5, 0.95]), np.median(alone)
    print(
        f"{what:<34} one reader {one * 1000:6.0f} ms; {READERS} at once p50 {p50:5.2f} s, p95 {p95:5.2f} s:"
        f" {p50 / one:.0f} x and {p95 / one:.0f} x one ({READERS / (os.cpu_count() or 1):.0f} x is what {os.cpu_count()} processors allow)"
    )


def by_sql(url: str, statement: Callable[[int], tuple[str, tuple[Any, ...]]]) -> Callable[[int], Iterator[Ask]]:
    def reader(_: int) -> Iterator[Ask]:
        connection = psycopg2.connect(url)
        connection.autocommit = True
        with connection.cursor() as cursor:

            def ask(number: int) -> None:
                cursor.execute(*statement(number))
                cursor.fetchall()

            yield ask
        connection.close()

    return reader


def flow(number: int) -> tuple[str, tuple[Any, ...]]:
    return FLOW, tuple(area.wkt for area in areas(number, 2))


def matrix(number: int) -> tuple[str, tuple[Any, ...]]:
    table = f"drawn_{number}"
    shapes = [(at, area.wkt) for at, area in enumerate(areas(number, 8))]
    values = ", ".join("(%s, ST_GeomFromText(%s, 4326))" for _ in shapes)
    made = f"CREATE TEMPORARY TABLE {table} (id, shape) AS VALUES {values};"
    asked = f"SELECT * FROM odanon.matrix('{table}', 'id', 'shape', '2025-01-01', '2025-02-01', 'year')"
    return made + asked, tuple(value for pair in shapes for value in pair)


def by_http(port: int) -> Callable[[int], Iterator[Ask]]:
    def reader(_: int) -> Iterator[Ask]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

        def ask(number: int) -> None:
            drawn = [
                {"type": "Feature", "properties": {"name": str(at)}, "geometry": mapping(area)}
                for at, area in enumerate(areas(number, 8))
            ]
            question = {"areas": {"type": "FeatureCollection", "features": drawn}}
            while True:
                connection.request("POST", "/api/products/year/matrix", json.dumps(question))
                answer = connection.getresponse()
                text = answer.read()
                if answer.status == 200:
                    return
                if answer.status != 503:
                    raise RuntimeError(text)
                time.sleep(float(answer.headers["Retry-After"]))  # as the page does

        yield ask
        connection.close()

    return reader


@contextmanager
def explorer(place: str) -> Iterator[int]:
    """The port of an explorer of its own."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [Path(sys.executable).with_name("odanon"), "explore", "--at", place, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        try:
            for _ in range(300):
                try:
                    fetched(port, "/api/products")
                    break
                except OSError:
                    time.sleep(0.1)
            yield port
        finally:
            running.terminate()


def fetched(port: int, path: str) -> int:
    """How many bytes an answer has on its way."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    size = len(answer.read())
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status}")
    return size


def largest_map(what: str, place: str) -> bool:
    with explorer(place) as port:
        began = time.perf_counter()
        size = fetched(port, "/api/products/large/flows")
        first = time.perf_counter() - began
        began = time.perf_counter()
        fetched(port, "/api/products/large/flows")
        again = time.perf_counter() - began
    print(
        f"{what}: {MAP_FLOWS:,} flows between 10,267 zones in {first:.1f} s (target {MAP_SECONDS:.0f}), {size / 1e6:.1f} MB;"
        f" again in {again * 1000:.0f} ms"
    )
    return first < MAP_SECONDS


def main() -> int:
    table, largest = zones(12), release(DAYS[0], 1, MAP_FLOWS, zones(LARGEST), 0, "large")
    with postgis_server(durable=True) as url, tempfile.TemporaryDirectory() as folder:
        schema.init(url)
        store = PostgisStore(url)
        for n, day in enumerate(DAYS):
            store.publish(release(day, 24, PAIRS, table, n), accept)
        store.publish(largest, accept)
        EmbeddedStore(Path(folder)).publish(largest, accept)
        connection = psycopg2.connect(url)
        connection.autocommit = True
        connection.cursor().execute("VACUUM ANALYZE")
        connection.close()
        reader = as_role(url, "odanon_reader")
        print(f"{len(DAYS)} days, {len(DAYS) * 24 * PAIRS:,} flows; each question asks for other areas of its own")
        told("odanon.flow, 2 areas, PostGIS", by_sql(reader, flow))
        told("odanon.matrix, 8 areas, PostGIS", by_sql(reader, matrix))
        with explorer(reader) as port:
            told("explorer, matrix of 8 areas", by_http(port))
        fine = [largest_map("PostGIS", reader), largest_map("embedded", folder)]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
