"""Conformance of engines."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from odanon.engines.local import Local
from odanon.protocols import Engine
from odanon.testing.parameters import check_parameters

_PEOPLE, _ROWS = 40, 900


class _Planted(Exception):  # noqa: N818 - no error of anybody, only a mark
    """Raised by a task of the suite."""


def check_engine(plugin: Engine) -> None:
    """All rules for an engine: order is kept, errors come through, and files are those of `local`, however rows arrive."""
    check_parameters(plugin)
    name = type(plugin).__name__
    assert plugin.buckets >= 1, f"{name}: `buckets` is below one"
    assert list(plugin.map(_square, range(50))) == [number * number for number in range(50)], (
        f"{name}: map() does not give the results in the order of the items"
    )
    assert list(plugin.map(_square, [])) == [], f"{name}: map() gives results of nothing"
    _check_errors(plugin, name)
    points = _points()
    wanted = _files(Local(buckets=plugin.buckets, workers=1), [[points]], name)
    for parts in ([[points]], [[points.iloc[::-1]]], [[points.iloc[:400]], [points.iloc[400:500], points.iloc[500:]]]):
        assert _files(plugin, parts, name) == wanted, (
            f"{name}: the files of a shuffle are not those of the engine local"
        )
    nothing = _files(plugin, [[points.iloc[:0]]], name)
    assert len(nothing) == plugin.buckets, f"{name}: a bucket without points has no file"


def _square(number: int) -> int:
    return number * number


def _fail(number: int) -> int:
    raise _Planted


def _check_errors(plugin: Engine, name: str) -> None:
    try:
        list(plugin.map(_fail, [1]))
    except Exception:
        return
    raise AssertionError(f"{name}: map() swallows the error of a task")


def _prepare(batch: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    return batch, len(batch)


def _files(engine: Engine, parts: list[list[pd.DataFrame]], name: str) -> dict[str, bytes]:
    """What a shuffle leaves, by name; every row is told of once."""
    with tempfile.TemporaryDirectory() as folder:
        tallies, collected = engine.shuffle(parts, iter, _prepare, Path(folder))
        rows = sum(len(batch) for part in parts for batch in part)
        assert sum(tallies) == rows, f"{name}: shuffle() loses the tally of a batch"
        told = sum(each.kept + each.repeated + each.swapped + each.teleport for each in collected)
        assert told == rows, f"{name}: shuffle() tells of {told} rows and was given {rows}"
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def _points() -> pd.DataFrame:
    """Fixes of some people around one place, a few of them repeated."""
    rng = np.random.default_rng(4)
    seconds = rng.permutation(_ROWS) * 60
    frame = pd.DataFrame(
        {
            "person": rng.integers(0, _PEOPLE, _ROWS),
            "time": (pd.Timestamp("2026-03-02", tz="UTC") + pd.to_timedelta(seconds, unit="s")).as_unit("us"),
            "lat": 45.75 + rng.normal(0, 1e-4, _ROWS),
            "lon": 4.85 + rng.normal(0, 1e-4, _ROWS),
        }
    )
    return pd.concat([frame, frame.iloc[:20]], ignore_index=True)
