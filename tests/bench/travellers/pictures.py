"""Pictures of the experiment: what releases cost each model, and how long trips are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from travellers.agents import FACTOR, MCMC, NAIVE, PLACERS, Agents
from travellers.cities import City
from travellers.inputs import NEXT, NOTHING, TRUE, Input, Inputs, K
from travellers.measures import matrices

mpl.rcParams |= {
    "svg.hashsalt": "demand",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
GENERALISE = ("atg-lattice", "atg-joint", "oigh", "uniform")
COLOURS = dict(zip(GENERALISE, ("#0b6e99", "#d9730d", "#6940a5", "#64748b"), strict=True))
DASHES = {"even": "-", "prior": ":"}
MEASURES = {
    "truth r2 of the day": "OD pairs: R² of the day",
    "communes r2": "pairs of communes: R²",
    "truth kl_common": "OD pairs: KL, common cells",
    "lengths": "trip lengths: largest gap",
    "commute r2": "commuters: R²",
    "static": "trips within a zone",
}


def drawn(table: pd.DataFrame, city: City, inputs: Inputs, folder: Path) -> list[str]:
    """Write all pictures; returns their names."""
    pictures = {"models": _models(table), "measures": _measures(table), "lengths": _lengths(city, inputs)}
    for name, figure in pictures.items():
        figure.savefig(folder / f"demand-{name}.svg", metadata={"Date": None}, bbox_inches="tight")
        plt.close(figure)
    return [f"docs/pictures/demand-{name}.svg" for name in pictures]


def _lines(axis: Any, rows: pd.DataFrame, measure: str) -> None:
    """A line for each algorithm and reading over k: the mean of the cities, and their range."""
    for algorithm, reading, part in _series(rows):
        found = part.groupby("k")[measure].agg(["mean", "min", "max"])
        at = np.arange(len(K)) + 1
        axis.plot(at, found["mean"], DASHES[reading], color=COLOURS[algorithm], label=f"{algorithm}, {reading}")
        axis.fill_between(at, found["min"], found["max"], color=COLOURS[algorithm], alpha=0.1, linewidth=0)
    true = rows[rows["algorithm"] == TRUE][measure]
    axis.errorbar([0], [true.mean()], [[true.mean() - true.min()], [true.max() - true.mean()]], fmt="ko", markersize=4)
    for name, reading, style in ((NEXT, "", "--"), (NOTHING, "prior", "-.")):
        mean = rows[(rows["algorithm"] == name) & (rows["reading"] == reading)][measure].mean()
        axis.axhline(mean, color="#999999", linestyle=style, linewidth=0.9, label=name + (", prior" if reading else ""))
    axis.set_xticks([0, 1, 2, 3], ["true", *(f"k = {k}" for k in K)])


def _series(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for algorithm in GENERALISE:
        for reading in DASHES:
            yield algorithm, reading, rows[(rows["algorithm"] == algorithm) & (rows["reading"] == reading)]


def _models(table: pd.DataFrame) -> Any:
    figure, axes = plt.subplots(1, len(PLACERS), figsize=(10, 3), sharey=True)
    for axis, placer in zip(axes, PLACERS, strict=True):
        _lines(axis, table[table["model"] == placer], "truth r2 of the day")
        axis.set_title(placer)
    axes[0].set_ylabel("R² of trips against the truth")
    return _with_legend(figure, axes[0])


def _measures(table: pd.DataFrame) -> Any:
    """Of the factor graph: the change in each city against what it reaches by the true matrices."""
    here = table[table["model"] == FACTOR]
    true = here[here["algorithm"] == TRUE].set_index("seed")[list(MEASURES)]
    changed = here.assign(**{name: here[name] - here["seed"].map(true[name]) for name in MEASURES})
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.6))
    for axis, (measure, title) in zip(axes.flat, MEASURES.items(), strict=True):
        _lines(axis, changed, measure)
        axis.set_title(title)
    figure.subplots_adjust(hspace=0.4, wspace=0.25)
    return _with_legend(figure, axes[0][0])


def _with_legend(figure: Any, axis: Any) -> Any:
    figure.legend(
        *axis.get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=5, frameon=False
    )
    return figure


def _lengths(city: City, inputs: Inputs) -> Any:
    """Distributions in one city: models on the true matrices, and the factor graph on two releases."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True)
    true = inputs.matrices(Input(TRUE))
    agents = Agents.of(city, true, 1)
    for axis in axes:
        _distribution(axis, true, city, "truth", color="black", linewidth=2)
    for placer, colour in ((NAIVE, "#64748b"), (MCMC, "#d9730d"), (FACTOR, "#0b6e99")):
        _distribution(axes[0], matrices(agents.placed(placer), len(city.zones), len(true)), city, placer, color=colour)
    axes[0].set_title("placed by the true matrices")
    for asked in (
        Input("atg-lattice", 10, "even"),
        Input("atg-lattice", 20, "even"),
        Input("uniform", 10, "even"),
        Input("uniform", 10, "prior"),
    ):
        made = Agents.of(city, inputs.matrices(asked), 1).placed(FACTOR)
        name = f"{asked.algorithm}, k = {asked.k}, {asked.reading}"
        style = "--" if asked.k > 10 else DASHES[asked.reading]
        _distribution(
            axes[1],
            matrices(made, len(city.zones), len(true)),
            city,
            name,
            color=COLOURS[asked.algorithm],
            linestyle=style,
        )
    axes[1].set_title("factor-graph, placed by releases")
    for axis in axes:
        axis.set_xlabel("kilometres between the middles of zones")
        axis.legend(frameon=False, loc="lower right")
    axes[0].set_ylabel("share of trips up to this length")
    return figure


def _distribution(axis: Any, trips: np.ndarray, city: City, name: str, **style: Any) -> None:
    lengths, by_pair = city.lengths.ravel() / 1000, trips.sum(axis=0).ravel()
    order = np.argsort(lengths, kind="stable")
    grid = np.linspace(0, 16, 161)
    passed = np.concatenate([[0.0], np.cumsum(by_pair[order])]) / by_pair.sum()
    axis.plot(grid, passed[np.searchsorted(lengths[order], grid, side="right")], label=name, **style)
