"""What was read travels with the tables: no spelling, override or later edit hides that two releases share input."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gate_town as gate
import pytest
from gate_town import DAY, people, town

from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.chain.stages import STAGES, run_stage
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.origin import origin_of
from odanon_assets.lake.places import default_root
from odanon_assets.publisher.act import publish_day
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store

pytestmark = pytest.mark.stores_in_turn

COARSE = {"plugin": "atg-joint", "k": 15, "suppression": 0.1}
KNOWINGLY = {"accept_unit_trips": True}


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    data = workspace / "phones"
    data.mkdir()
    gate.write(data, people())
    return data


def of(path: str, name: str = "town", **changes: Any) -> Product:
    """A product over the files of a path."""
    return town(default_root().parent, name, {"path": path, "person": "person"}, **changes)


def publish(product: Product, store: Store) -> None:
    publish_day(product, Lake(default_root()), DAY, store)


def linked(folder: Path) -> str:
    (folder.parent / "link").symlink_to(folder)
    return f"{folder.parent}/link/{{date}}.parquet"


def linked_file(folder: Path) -> str:
    (folder.parent / "elsewhere").mkdir()
    (folder.parent / "elsewhere" / "a.parquet").symlink_to(folder / f"{DAY}.parquet")
    return f"{folder.parent}/elsewhere"


SPELLINGS: dict[str, Callable[[Path], str]] = {
    "folder": str,
    "slash": lambda folder: f"{folder}/",
    "glob": lambda folder: f"{folder}/*.parquet",
    "glob of folders": lambda folder: f"{folder.parent}/ph*/*.parquet",
    "file": lambda folder: f"{folder}/{DAY}.parquet",
    "other template": lambda folder: f"{folder}/{{date:%Y-%m-%d}}.parquet",
    "url": lambda folder: f"file://{folder}/{{date}}.parquet",
    "relative": lambda folder: f"{os.path.relpath(folder)}/{{date}}.parquet",
    "dots": lambda folder: f"{folder}/../phones/{{date}}.parquet",
    "link": linked,
    "link to a file": linked_file,
}


BY_FILES = ("glob of folders", "link to a file")  # these are compared by their files alone


def test_spellings_of_a_path_name_the_same_data(folder: Path) -> None:
    first = of(f"{folder}/{{date}}.parquet").data_sha256
    for spelling in SPELLINGS.keys() - BY_FILES:
        assert of(SPELLINGS[spelling](folder), "coarse").data_sha256 == first, spelling


@pytest.mark.parametrize(
    "spelling",
    [pytest.param(name, marks=() if name in ("glob", *BY_FILES) else pytest.mark.thorough) for name in SPELLINGS],
)
def test_no_spelling_of_a_path_makes_other_data(folder: Path, spelling: str, tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "store")
    first = of(f"{folder}/{{date}}.parquet")
    gate.made(first)
    publish(first, store)
    second = of(SPELLINGS[spelling](folder), "coarse", anonymize=COARSE)
    gate.made(second)
    with pytest.raises(OdanonError, match=r"nested-difference|comparable"):
        publish(second, store)


def other_name(folder: Path) -> Product:
    return of(f"{folder}/{{date}}.parquet", "coarse", anonymize=COARSE, dataset="others")


def copied(folder: Path) -> Product:
    shutil.copytree(folder, folder.parent / "copy")
    return of(f"{folder.parent}/copy", "coarse", anonymize=COARSE)


def exported(folder: Path) -> Product:
    """Another file with half of the people, in another format and order, as a view of them would give."""
    (folder.parent / "export").mkdir()
    rows = people()
    some = rows[rows["person"].str[-1].isin(list("02468"))].sample(frac=1, random_state=5)
    some.to_csv(folder.parent / "export" / f"{DAY}.csv", index=False)
    return of(f"{folder.parent}/export/{{date}}.csv", "coarse", anonymize=COARSE, dataset="others")


@pytest.mark.parametrize("second", [other_name, copied, exported])
def test_no_name_and_no_copy_makes_other_data(folder: Path, store: Store, second: Callable[[Path], Product]) -> None:
    first = of(f"{folder}/{{date}}.parquet")
    gate.made(first)
    publish(first, store)
    gate.made(product := second(folder))
    with pytest.raises(OdanonError, match="comparable"):
        publish(product, store)
    assert store.windows("coarse") == []


def test_a_copy_of_a_table_without_ids_is_the_same_data(folder: Path, store: Store) -> None:
    """No sample of people tells; the content of the file does."""
    gate.write(folder, people(2000).groupby(["time_bin", "origin", "destination"], as_index=False)["trips"].sum())
    shutil.copytree(folder, folder.parent / "copy")
    first, second = (
        town(
            default_root().parent,
            name,
            {"path": path},
            anonymize={**COARSE, "k": k, "unit": "trips"},
            publish=KNOWINGLY,
        )
        for name, path, k in (("town", f"{folder}/{{date}}.parquet", 10), ("coarse", f"{folder.parent}/copy", 15))
    )
    gate.made(first)
    publish(first, store)
    gate.made(second)
    with pytest.raises(OdanonError, match="nested-difference"):
        publish(second, store)


def test_other_files_under_another_name_are_other_data(folder: Path, store: Store) -> None:
    (bikes := folder.parent / "bikes").mkdir()
    gate.write(bikes, people(seed=2))
    for product in (of(str(folder)), of(str(bikes), "bikes", anonymize=COARSE)):
        gate.made(product)
        publish(product, store)
    assert store.windows("bikes") == [DAY.isoformat()]


def overridden(product: Product, stage: str, **parameters: Any) -> None:
    """Run the day with other parameters of one plugin than the product's file says, as run config may."""
    for step in STAGES[:-1]:
        plugins = {name: getattr(product, name).instance for name in step.plugins}
        if stage in plugins:
            plugins[stage] = replace(plugins[stage], **parameters)
        run_stage(product, step.name, DAY, plugins)


def test_a_run_that_reads_another_path_is_not_published(folder: Path, store: Store) -> None:
    (decoy := folder.parent / "decoy").mkdir()
    product = of(str(decoy))
    overridden(product, "source", path=str(folder))
    assert str(folder) not in (Lake(default_root()).folder("town", "anonymized", DAY) / "origin.json").read_text()
    with pytest.raises(OdanonError, match=r"origin: .*another source than the product's file says"):
        publish(product, store)
    assert store.windows("town") == []
    publish(of(str(folder)), store)  # once the file says the same
    assert store.windows("town") == [DAY.isoformat()]


@pytest.mark.parametrize(
    ("stage", "parameters"),
    [("hierarchy", {"root": 4}), ("anonymize", {"k": 12}), ("staypoints", {"radius_m": 99})],
)
def test_a_run_that_overrides_a_plugin_is_not_published(
    folder: Path, store: Store, stage: str, parameters: dict[str, Any]
) -> None:
    product = of(str(folder))
    overridden(product, stage, **parameters)
    with pytest.raises(OdanonError, match=f"origin: .*another {stage} than the product's file says"):
        publish(product, store)
    assert store.windows("town") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "others"),
        ("timezone", "Europe/Paris"),
        ("hierarchy", {"plugin": "h3", "root": 4}),
        ("od", {"bin": "2h"}),  # or the auditor would take longer bins for those of another release
        ("trips", {"min_distance_m": 1}),
    ],
)
def test_a_file_that_was_edited_before_publication_is_noticed(
    folder: Path, store: Store, name: str, value: Any
) -> None:
    gate.made(of(str(folder)))
    with pytest.raises(OdanonError, match=f"origin: .*another {name} than the product's file says; run the day again"):
        publish(of(str(folder), **{name: value}), store)
    assert store.windows("town") == []


def test_rows_that_were_read_again_from_other_data_are_noticed(folder: Path, store: Store) -> None:
    product = of(str(folder))
    gate.made(product)
    gate.write(folder, people(seed=2))
    for stage in STAGES[:4]:  # up to the rows
        run_stage(product, stage.name, DAY, {plugin: getattr(product, plugin).instance for plugin in stage.plugins})
    with pytest.raises(OdanonError, match=r"origin: .*another keys"):
        publish(product, store)


def test_nothing_public_names_a_file(folder: Path, store: Store) -> None:
    product = of(str(folder))
    gate.made(product)
    publish(product, store)
    release = store.released("town", DAY)
    assert release is not None
    shown = [store.manifest_text(release), store.report(release), store.ledger().to_json()]
    kept = default_root() / "work" / "town" / "released"
    shown += [path.read_text() for path in kept.rglob("*.json")]
    origin = origin_of(Lake(default_root()), "town", "anonymized", DAY)
    for text in shown:
        assert str(folder) not in text
        assert "phones" not in text
    assert not any(key in shown[0] + shown[1] for key in origin["keys"])
