"""Measuring with every installed metric: a stranger's metric that fails is left out, and numbers are plain."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from odanon import door, registry
from odanon.anonymizers.atg.joint import AtgJoint
from odanon.api import Figure, ODMatrix, Release, parameter, plugin
from odanon.metrics.declared import every_figure, refused_metrics
from odanon.testing.trial.cities import random_city


@plugin
class Raises:
    """Fails on every release."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure("never", "never", "never told"),)

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        raise KeyError("person 17")

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        return {}


@plugin
class NeedsMore:
    """Cannot be made without a parameter."""

    size: int = parameter(..., "how large")

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure("more", "more", "more"),)

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        return {"more": 1.0}

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        return {"more": 1.0}


@plugin
class Numpy:
    """Tells numbers as numpy has them, and one that it does not declare, under the name of another metric's figure."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure("wide", "wide", "a number"),)

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, Any]:
        return {"wide": np.float64(1.5), "Gbar": np.int64(7)}

    def combine(self, figures: pd.DataFrame) -> dict[str, Any]:
        return {"wide": np.float64(1.5), "Gbar": np.int64(7)}


def claiming(*figures: Figure) -> type:
    """A stranger's metric with these figures."""

    @plugin
    class Claiming:
        """Tells nothing."""

        @property
        def figures(self) -> tuple[Figure, ...]:
            return figures

        def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
            return {figure.name: 7.0 for figure in figures}

        def combine(self, table: pd.DataFrame) -> dict[str, float]:
            return {figure.name: 7.0 for figure in figures}

    return Claiming


@pytest.fixture
def strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = {"zz-raises": Raises, "zz-needs-more": NeedsMore, "zz-numpy": Numpy}
    names, find = registry.names, registry.find

    def found(stage: str, name: str) -> registry.Plugin:
        return registry.Plugin(stage, name, "strangers", classes[name]) if name in classes else find(stage, name)

    monkeypatch.setattr(registry, "names", lambda stage: [*names(stage), *(classes if stage == "metrics" else [])])
    monkeypatch.setattr(registry, "find", found)


@pytest.mark.usefixtures("strangers")
def test_a_metric_that_fails_is_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    tree, rows = random_city(3)
    made = door.release({None: ODMatrix.from_frame(rows, tree, tree)}, tree, AtgJoint(k=2))
    assert made.figures["wide"] == 1.5
    assert type(made.figures["wide"]) is float
    assert made.figures["Gbar"] >= 2, "what a metric does not declare is nobody's figure"
    assert made.figures["Gbar"] != 7
    assert "never" not in made.figures
    assert "Raises" in caplog.text
    assert "zz-needs-more" in caplog.text
    assert "person 17" not in caplog.text


@pytest.mark.usefixtures("strangers")
def test_figures_of_all_that_can_be_made_are_declared() -> None:
    figures = every_figure()
    assert figures["wide"].label == "wide"
    assert figures["Gbar"].label == "tiles per trip"


MINE, YOURS = Figure("mine", "mine", "a number", public="shared"), Figure("yours", "yours", "another", public="shared")


@pytest.mark.parametrize(
    ("claims", "left", "sentence"),
    [
        ({"a": [Figure("Gbar", "mine", "not the real one")]}, [], "a and odanon declare figures of the name 'Gbar'"),
        ({"a": [Figure("x", "x", "x", public="gbar")]}, [], "a and odanon declare figures of the public name 'gbar'"),
        (
            {"a": [Figure("x", "x", "x", public="trips_published")]},
            [],
            "a and odanon declare figures of the public name",
        ),
        (
            {"a": [Figure("x", "x", "x", public="risk_membership_auc")]},
            [],
            "a and odanon declare figures of the public",
        ),
        ({"a": [MINE], "b": [YOURS]}, [], "a and b declare figures of the public name 'shared' that differ; rename"),
        ({"a": [MINE], "b": [MINE]}, ["mine"], ""),
        ({"a": [Figure("points", "points", "a stage's name")]}, ["points"], ""),
    ],
)
def test_figures_that_contradict_another_package_are_refused(
    monkeypatch: pytest.MonkeyPatch, claims: dict[str, list[Figure]], left: list[str], sentence: str
) -> None:
    names, find = registry.names, registry.find
    classes = {f"metric-{owner}": (owner, claiming(*figures)) for owner, figures in claims.items()}

    def found(stage: str, name: str) -> registry.Plugin:
        return registry.Plugin(stage, name, *classes[name]) if name in classes else find(stage, name)

    ours = every_figure()
    monkeypatch.setattr(registry, "names", lambda stage: [*(classes if stage == "metrics" else []), *names(stage)])
    monkeypatch.setattr(registry, "find", found)
    assert {name: figure for name, figure in every_figure().items() if name not in left} == ours
    refused = refused_metrics()
    assert refused.keys() == (classes.keys() if sentence else set())
    assert sentence in refused.get("metric-a", "")
