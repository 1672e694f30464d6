"""Measuring with every installed metric: a stranger's metric that fails is left out, and numbers are plain."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from odanon import door, registry
from odanon.anonymizers.atg.joint import AtgJoint
from odanon.api import Figure, ODMatrix, Release, parameter, plugin
from odanon.errors import OdanonError
from odanon.metrics.declared import contradiction, every_figure, refused_metrics
from odanon.metrics.generalisation import Generalisation
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


def test_a_metric_that_was_asked_for_and_fails_is_named_in_the_error() -> None:
    tree, rows = random_city(3)
    with pytest.raises(OdanonError, match=r"^the metric Raises failed with \w+; leave it out") as caught:
        door.release({None: ODMatrix.from_frame(rows, tree, tree)}, tree, AtgJoint(k=2), metrics=[Raises()])
    assert "person 17" not in str(caught.value)


@pytest.mark.parametrize("words", [("two\nlines", "meaning"), ("label", "\x1b[2Jmeaning")])
def test_a_figure_is_declared_in_printable_words(words: tuple[str, str]) -> None:
    with pytest.raises(OdanonError, match="'odd' is not declared in printable words"):
        Figure("odd", *words)


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


@plugin
class OursToo(Raises):
    """Declares a figure of ours word by word, and one of its own; nothing it computes is a number but these."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (every_figure()["Gbar"], Figure("mine", "mine", "mine"))

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, Any]:
        return {"Gbar": -1.0, "mine": 1, "who": od.person}

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        return {"Gbar": -1.0, "mine": float(figures["who"].map(len).sum())}


def test_a_figure_of_ours_is_told_by_ours_alone() -> None:
    tree, rows = random_city(3)
    matrices = {None: ODMatrix.from_frame(rows, tree, tree)}
    ours = door.release(matrices, tree, AtgJoint(k=2))
    made = door.release(matrices, tree, AtgJoint(k=2), metrics=[OursToo()])
    assert made.figures == {"mine": len(matrices[None].trips)}, "what it does not declare serves its own sums"
    said = made.releases[None].metrics
    assert said["mine"] == 1
    assert "who" not in said
    assert said["Gbar"] == ours.figures["Gbar"]


def test_what_is_no_figure_declares_nothing() -> None:
    tree, rows = random_city(3)
    matrices = {None: ODMatrix.from_frame(rows, tree, tree)}
    with pytest.raises(OdanonError, match="declares something that is no Figure"):
        door.release(matrices, tree, AtgJoint(k=2), metrics=[claiming("Gbar")()])  # type: ignore[arg-type]


@pytest.mark.usefixtures("strangers")
def test_parameters_may_decide_what_a_metric_contradicts() -> None:
    assert contradiction("zz-needs-more", NeedsMore(size=3)) == ""
    assert "strangers and odanon" in contradiction("zz-needs-more", claiming(Figure("Gbar", "more", "more"))())
    assert contradiction("generalisation", Generalisation(measure="persons")) == ""
