"""Releases that suites look at: made through the door; what the verifier refuses fails the suite."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.door import RefusedError, release
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release
from odanon.model.window import Times
from odanon.plugin import parameters_of
from odanon.registry import Plugin

BINS = 3
_STARTS = (0, 6, 7, 8, 12, 18)  # hours at which the bins of a window start


def promising(cls: type[Anonymizer], **parameters: Any) -> Anonymizer:
    """An anonymiser that promises what it was asked for."""
    plugin = cls(**parameters)
    asked = Plugin("anonymize", cls.__name__, "", cls).promise(parameters)
    weaker = Promise.of(parameters_of(plugin)).weaker_than(asked)
    assert not weaker, f"{cls.__name__} promises less than it is asked to: {', '.join(weaker)}"
    return plugin


def released(plugin: Anonymizer, rows: pd.DataFrame, tree: Hierarchy, destinations: Hierarchy | None = None) -> Release:
    """The release of some rows."""
    targets = destinations or tree
    od = ODMatrix.from_frame(rows, tree, targets, weight="weight" if "weight" in rows else None)
    return _through_the_door(plugin, {0: od}, tree, targets)[0]


def released_window(plugin: Anonymizer, rows: pd.DataFrame, tree: Hierarchy) -> list[Release]:
    """The releases of the rows in time bins of different sizes: as many as bins, each of its own matrix."""
    shuffled = rows.sample(frac=1, random_state=0)
    cuts = [0, len(rows) // 2, len(rows) * 5 // 6, len(rows)]
    matrices = {
        number: ODMatrix.from_frame(shuffled[cuts[number] : cuts[number + 1]], tree, tree) for number in range(BINS)
    }
    whole_window = getattr(plugin, "anonymize_window", None)
    if whole_window is not None:
        window = whole_window(list(matrices.values()), tree, tree)
        told = len(window) if isinstance(window, list | tuple) else "no list of"
        assert told == BINS, f"{type(plugin).__name__}: anonymize_window() makes {told} releases of {BINS} matrices"
    return list(_through_the_door(plugin, matrices, tree, tree).values())


def released_in_time(plugin: Anonymizer, rows: pd.DataFrame, tree: Hierarchy, seed: int) -> Release:
    """The release of the rows as one window of unequal bins, told by intervals."""
    starts = [datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in _STARTS]
    ends = [*starts[1:], datetime(2026, 3, 3, tzinfo=UTC)]
    times = Times.of(list(zip(starts, ends, strict=True)))
    told = rows.assign(bin=np.random.default_rng(seed).integers(0, len(times), len(rows)))
    od = ODMatrix.from_frame(told, tree, tree, time="bin", times=times)
    return _through_the_door(plugin, {0: od}, tree, tree)[0]


def _through_the_door(
    plugin: Anonymizer, matrices: Mapping[int, ODMatrix], origins: Hierarchy, destinations: Hierarchy
) -> dict[int, Release]:
    name = type(plugin).__name__
    try:
        return release(matrices, origins, plugin, destinations=destinations, metrics=()).releases
    except RefusedError as error:
        raise AssertionError(f"{name}: {'; '.join(map(str, error.findings))}") from None
    except OdanonError as error:
        crash = type(error.__cause__).__name__
        if f"failed with {crash};" not in str(error):
            raise  # a refusal
        where = "" if origins is destinations else " where destinations have a tree of their own"
        raise AssertionError(f"{name} fails with {crash}{where}") from error
