"""Tables of traces as files: what the commands of traces read and where they write."""

import os
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from odanon.errors import OdanonError
from odanon.reading.persons import persons

Parameters = Annotated[list[str] | None, typer.Option("--set", help="A parameter of the plugin, as name=value.")]
Out = Annotated[Path, typer.Option(help="Parquet file to write.")]


def read_table(path: Path, times: tuple[str, ...], numbers: tuple[str, ...]) -> pd.DataFrame:
    """Persons, times and numbers of a Parquet or CSV file; times must have a zone, and persons and times a value."""
    columns = ("person", *times, *numbers)
    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype={"person": "str"})
    except (OSError, ValueError):
        raise OdanonError(f"{path} cannot be read; give a Parquet or CSV file with {', '.join(columns)}") from None
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise OdanonError(f"{path} has no column {missing[0]!r}; it needs {', '.join(columns)}")
    if not pd.api.types.is_integer_dtype(table["person"].dtype):  # integers of one column are one person each
        ids, kinds = persons(table["person"])
        kinds.refuse_mixed()
        table["person"] = ids.astype("str")
    empty = int(table[["person", *times]].isna().any(axis="columns").sum())
    if empty:
        raise OdanonError(f"{path}: {empty} rows lack a person or a time; remove or repair them first")
    for name in times:
        table[name] = _instants(path, table[name])
    for name in numbers:
        if pd.to_numeric(table[name], errors="coerce").isna().sum() > table[name].isna().sum():
            raise OdanonError(f"{path}: column {name!r} holds texts; give degrees")
        table[name] = table[name].astype("float64")
    return table


def _instants(path: Path, times: pd.Series) -> pd.Series:
    """Times in UTC; each must say its zone, and they need not agree."""
    if pd.api.types.is_string_dtype(times):
        try:
            if all(pd.Timestamp(text).tzinfo is not None for text in times.dropna()):
                times = pd.to_datetime(times, utc=True, format="ISO8601")
        except ValueError:
            raise OdanonError(f"{path}: column {times.name!r} holds texts that are no times; write ISO 8601") from None
    if getattr(times.dtype, "tz", None) is None:
        raise OdanonError(f"{path}: the times in {times.name!r} have no zone; write them in UTC, such as ...Z")
    return times.dt.tz_convert("UTC").dt.as_unit("us")


def folder_of(out: Path) -> Path:
    """The folder of a file to be written, made when it is not there."""
    folder = out.absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise OdanonError(f"{folder} cannot be made; give --out a place where you may write") from None
    if out.is_dir() or not os.access(folder, os.W_OK):
        raise OdanonError(f"{out} cannot be written; give --out a file in a folder where you may write")
    return folder
