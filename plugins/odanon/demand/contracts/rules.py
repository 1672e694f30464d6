"""What is asked of the rows of a table: those that cannot be used are left out and counted, tables that cannot are refused."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.demand.contracts.declared import COLUMNS, LEFT_OUT, PARTIAL, UNIQUE, Number, Table, Text
from odanon.errors import OdanonError
from odanon.reading.files import shown

_MOST_LOST = 0.5  # of the rows; beyond that a column is a wrong one
_LISTED = 8  # words that a sentence names
_OLDEST = 130
_AGES = {"0-17": 0, "18-29": 18, "30-59": 30, "60+": 60}  # 003 table 4.5: classes by their first year


def checked(table: Table, rows: pd.DataFrame, where: str) -> pd.DataFrame:
    """The usable rows of a table in its columns; `where` names it in sentences.

    A column that is missing, words that nobody knows and a name that stands twice refuse the table. A row that lacks a value, or has one that is
    no number or out of range, is left out and counted by the column (`attrs[LEFT_OUT]`); people of whom a trip is left out are named (`attrs[PARTIAL]`).
    """
    declared = COLUMNS[table]
    if missing := [name for name in declared if name not in rows]:
        raise OdanonError(f"{where} has no column {missing[0]!r}; {table} must have {', '.join(declared)}")
    extra = ["geometry"] if "geometry" in rows else []
    rows = rows[[*declared, *extra]].copy()
    lost, good = dict[str, int](), np.ones(len(rows), np.bool_)
    for name, each in declared.items():
        if isinstance(each, Text):
            rows[name] = _words(rows[name])
            _refuse_strangers(table, name, rows[name], each.known, where)
            usable = rows[name].notna().to_numpy()
        else:
            rows[name] = pd.to_numeric(rows[name], errors="coerce").astype("float64")
            usable = _in_range(rows[name].to_numpy(), each)
        if bad := int((good & ~usable).sum()):
            lost[name] = bad
        good &= usable
    _refuse_losses(table, len(rows), lost, where)
    partial = rows.loc[~good, "person"].dropna().astype("str").unique().tolist() if table == "survey_trips" else []
    rows = rows[good].reset_index(drop=True)
    if (key := UNIQUE.get(table)) is not None and (twice := int(rows[key].duplicated().sum())):
        raise OdanonError(f"{where}: {twice:,} rows have a {key} that another row has; give each {key} one row")
    if "age" in rows:
        rows["age"] = _age_classes(table, rows["age"], where)
    for name, each in declared.items():
        if isinstance(each, Number) and each.whole:
            rows[name] = rows[name].astype("int64")
    rows.attrs.update({LEFT_OUT: lost, PARTIAL: partial})
    return rows


def _words(column: pd.Series) -> pd.Series:
    """Text as categories in the order of their names; an empty one is missing."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("str").where(column.notna()).astype("category")
    names = column.cat.categories.astype("str")
    if len(names) and (blank := [name for name in names if not name.strip()]):
        column = column.cat.remove_categories(blank)
    column = column.cat.rename_categories(column.cat.categories.astype("str"))
    used = column.cat.remove_unused_categories()
    return used.cat.reorder_categories(sorted(used.cat.categories))


def _refuse_strangers(table: Table, name: str, words: pd.Series, known: tuple[str, ...], where: str) -> None:
    strangers = [word for word in words.cat.categories if known and word not in known]
    if strangers:
        listed = ", ".join(repr(shown(word)) for word in strangers[:_LISTED]) + (" ..." if strangers[_LISTED:] else "")
        raise OdanonError(
            f"{where}: {name} may be {', '.join(known)}, and it has {listed}; say what they mean with"
            f" values: {{{name}: {{...}}}} under inputs.{table}"
        )


def _in_range(numbers: npt.NDArray[np.float64], declared: Number) -> npt.NDArray[np.bool_]:
    usable = (numbers >= declared.low) & (numbers <= declared.high)  # what is no number fails both
    return usable & (numbers == np.floor(numbers)) if declared.whole else usable


def _refuse_losses(table: Table, rows: int, lost: dict[str, int], where: str) -> None:
    if not rows:
        raise OdanonError(f"{where} has no rows; give a table of {table}")
    if sum(lost.values()) > _MOST_LOST * rows or sum(lost.values()) == rows:
        worst = max(lost, key=lambda name: lost[name])
        raise OdanonError(
            f"{where}: {sum(lost.values()):,} of {rows:,} rows cannot be used, most for what they have in {worst}; name another column with"
            f" columns: {{{worst}: ...}} under inputs.{table}, or repair it"
        )


def _age_classes(table: Table, ages: pd.Series, where: str) -> pd.Series:
    """Years as the classes of the thesis, if all are years; else as they are."""
    words = ages.cat.categories
    if not len(words) or not all(word.isdecimal() and int(word) <= _OLDEST for word in words):
        return ages
    classes, firsts = list(_AGES), np.array(list(_AGES.values()))
    if max(map(int, words)) < firsts[1]:
        raise OdanonError(
            f"{where}: as years, the numbers in age make everybody a child; if they stand for classes, say for which with"
            f" values: {{age: {{...}}}} under inputs.{table}"
        )
    number = np.searchsorted(firsts, words.astype("int64"), side="right") - 1
    return pd.Series(pd.Categorical.from_codes(number[ages.cat.codes.to_numpy()], pd.Index(classes, dtype="str")))
