"""A store with two days, and what is exported of it."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import geopandas
import pytest
from bundles import accept, bundle, own_zones

from odanon_assets.derived.export import Format, export
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.embedded import EmbeddedStore

DAYS = [date(2026, 3, 28), date(2026, 3, 29)]  # the second is the one on which the clocks of Paris go forward


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedStore:
    """An empty one."""
    monkeypatch.setenv("ODANON_ROOT", str(tmp_path / "store"))
    return EmbeddedStore(tmp_path / "store")


@pytest.fixture
def town(store: EmbeddedStore) -> Callable[..., EmbeddedStore]:
    """The store with two days of a town in Paris's time, or with given releases."""

    def filled(*releases: Bundle, zones: geopandas.GeoDataFrame | None = None) -> EmbeddedStore:
        usual = (bundle(day=day, rows=18, zones=zones, timezone="Europe/Paris") for day in DAYS)
        for release in releases or usual:
            store.publish(release, accept)
        return store

    return filled


@pytest.fixture
def exported(store: EmbeddedStore, tmp_path: Path) -> Callable[[Format], Path]:
    """The folder of what the store shows in a format."""

    def write(kind: Format) -> Path:
        out = tmp_path / "out" / kind
        export(store, "town", out, [kind], None, None, own_zones())
        return out

    return write
