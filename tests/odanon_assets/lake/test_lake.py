"""The restricted working area."""

from datetime import date
from pathlib import Path

from odanon_assets.lake.lake import Lake


def test_other_users_cannot_enter_it(tmp_path: Path) -> None:
    with Lake(tmp_path / "root").new("town", "traces", date(2026, 3, 2)) as folder:
        (folder / "figures.json").write_text("{}")
    assert (tmp_path / "root" / "work").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "root").stat().st_mode & 0o055 == 0o055
