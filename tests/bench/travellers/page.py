"""The tables of docs/demand.md, between marks that the page has for them."""

import re
from pathlib import Path

import pandas as pd
from travellers.agents import FACTOR, LINKED, MCMC, NAIVE, PLACERS
from travellers.inputs import NEXT, NOTHING, TRUE

# 003 sections 5.4.2 and 5.4.3: R2 and KL of matrices, R2 and KL of commuters.
PUBLISHED = {NAIVE: ("0.76", "9.39", "–", "–"), LINKED: ("0.21", "11.42", "0.96", "0.90"), MCMC: ("0.39", "21.98", "-0.33", "0.78"), FACTOR: ("0.63", "12.51", "0.92", "0.73")}  # fmt: skip
CHANGES = (
    "truth r2",
    "truth r2 of the day",
    "communes r2",
    "truth kl",
    "truth kl_common",
    "lengths",
    "commute r2",
    "commute kl",
)
ITSELF = "itself"


def written(table: pd.DataFrame, page: Path) -> None:
    """Put the tables where the page has marks."""
    text = page.read_text(encoding="utf-8")
    for name, lines in {
        "models": _models(table),
        "releases": _releases(table),
        "changes": _changes(table),
        "all": _all(table),
    }.items():
        mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not mark.search(text):
            raise SystemExit(f"{page} has no mark for the table {name!r}")
        text = mark.sub(lambda found, lines=lines: f"{found[1]}{lines}\n{found[2]}", text)
    page.write_text(text, encoding="utf-8")


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _mean(values: pd.Series, digits: int = 2) -> str:
    """Mean and standard deviation over cities, on one line."""
    return f"{values.mean():.{digits}f}\u00a0±\u00a0{values.std():.{digits}f}"


def _models(table: pd.DataFrame) -> str:
    true = table[table["algorithm"] == TRUE]
    heads = (
        "model",
        "R²",
        "thesis",
        "KL",
        "thesis",
        "KL, common",
        "R² of the day",
        "within a zone",
        "lengths",
        "commute R²",
        "thesis",
        "one place each",
    )
    rows = []
    for placer in PLACERS:
        here, said = true[true["model"] == placer], PUBLISHED[placer]
        rows.append(
            (
                f"`{placer}`",
                _mean(here["given r2"]),
                said[0],
                _mean(here["given kl"]),
                said[1],
                _mean(here["given kl_common"]),
                _mean(here["given r2 of the day"]),
                f"{here['static'].mean():.1%}",
                _mean(here["lengths"], 3),
                _mean(here["commute r2"]),
                said[2],
                f"{here['kept'].mean():.0%}",
            )
        )
    own = true[true["model"] == ITSELF]
    rows.append(("the truth itself", "1", "", "0", "", "0", "1", f"{own['static'].mean():.1%}", "0", "", "", "100%"))
    return _table(heads, rows)


def _named(algorithm: str, k: int, reading: str) -> tuple[str, str, str]:
    return (f"`{algorithm}`" if k else algorithm), (str(k) if k else ""), reading


def _releases(table: pd.DataFrame) -> str:
    """What the matrices are before anybody is placed by them."""
    heads = (
        "matrices",
        "k",
        "reading",
        "rows",
        "trips kept",
        "R²",
        "R² of the day",
        "communes R²",
        "lengths",
        "gap of steps",
    )
    rows = []
    for key, here in table[table["model"] == ITSELF].groupby(["algorithm", "k", "reading"], sort=False):
        if key[0] == TRUE:
            continue
        published = (f"{here['rows'].mean():,.0f}", f"{here['kept'].mean():.1%}") if key[1] else ("", "")
        fits = [_mean(here[name]) for name in ("truth r2", "truth r2 of the day", "communes r2")]
        rows.append((*_named(*key), *published, *fits, f"{here['lengths'].mean():.3f}", f"{here['steps'].mean():.1%}"))
    return _table(heads, rows)


def _changes(table: pd.DataFrame) -> str:
    """Of the factor graph: against the truth, what changes when the matrices are not the true ones."""
    here = table[table["model"] == FACTOR].set_index("seed")
    true = here[here["algorithm"] == TRUE]
    heads = (
        "matrices",
        "k",
        "reading",
        "R²",
        "R² of the day",
        "communes R²",
        "KL",
        "KL, common",
        "lengths",
        "commute R²",
        "commute KL",
    )
    rows = [("true matrices: the level", "", "", *(f"{true[name].mean():.3f}" for name in CHANGES))]
    for key, part in here.groupby(["algorithm", "k", "reading"], sort=False):
        if key[0] != TRUE:
            rows.append((*_named(*key), *(_signed(part[name] - true[name]) for name in CHANGES)))
    return _table(heads, rows)


def _signed(change: pd.Series) -> str:
    """Mean and standard deviation over cities."""
    return f"{change.mean():+.3f}\u00a0±\u00a0{change.std():.3f}"


def _all(table: pd.DataFrame) -> str:
    """R2 of the day against the truth for every model."""
    heads = ("matrices", "k", "reading", "before anybody is placed", *(f"`{placer}`" for placer in PLACERS))
    rows = []
    for key, part in table.groupby(["algorithm", "k", "reading"], sort=False):
        fits = [f"{part[part['model'] == model]['truth r2 of the day'].mean():.2f}" for model in (ITSELF, *PLACERS)]
        statics = [f" ({part[part['model'] == model]['static'].mean():.0%})" for model in (ITSELF, *PLACERS)]
        rows.append((*_named(*key), *(a + b for a, b in zip(fits, statics, strict=True))))
    assert {NEXT, NOTHING} <= set(table["algorithm"])
    return _table(heads, rows)
