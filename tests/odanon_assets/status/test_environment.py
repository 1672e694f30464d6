"""`odanon check --environment`: what a product needs of the machine and does not find."""

import socket
from pathlib import Path

import pytest
from product_example import small_product
from typer.testing import CliRunner

from odanon import cli
from odanon_assets.status.environment import missing


def test_everything_that_is_missing_has_its_sentence(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ODANON_PSEUDONYM_KEY", "ODANON_WEBHOOK_URL"):
        monkeypatch.delenv(name, raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("ODANON_SMTP_URL", f"smtp://127.0.0.1:{port}")
    monkeypatch.setenv("ODANON_DB_URL", f"postgresql://user:a-password@127.0.0.1:{port}/none")
    product = small_product(
        workspace / "pipelines",
        source={"plugin": "points", "path": str(workspace / "points" / "{date}.csv")},
        zoning={"plugin": "polygons", "path": str(workspace / "zones.gpkg"), "id": "id"},
        hierarchy={"plugin": "ward"},
        publish={"store": "postgis", "url": "${ODANON_DB_URL}"},
        alerts=[{"plugin": "email", "to": ["a@example.org"]}, "webhook", "log"],
    )
    found = list(missing(product))
    expected = [
        "pseudonym key: the source holds real people and ODANON_PSEUDONYM_KEY is not set",
        "store: the database refused",
        "source: it has nothing for the product's first day 2026-03-02",
        "alerts email: the mail server cannot be used (ConnectionRefusedError)",
        "alerts webhook: ODANON_WEBHOOK_URL holds no http address",
        f"zoning.path: {workspace}/zones.gpkg does not exist",
    ]
    assert [told for told, begins in zip(found, expected, strict=True) if not told.startswith(begins)] == []
    assert "a-password" not in str(found)
    checked = CliRunner().invoke(cli.main, ["check", "--environment", str(workspace / "pipelines" / "small.yaml")])
    assert checked.exit_code == 1
    assert "small: store: the database refused" in str(checked.exception)


def test_a_product_that_has_all_it_needs_is_fine(workspace: Path) -> None:
    small_product(workspace / "pipelines")
    checked = CliRunner().invoke(cli.main, ["check", "--environment", str(workspace / "pipelines" / "small.yaml")])
    assert (checked.exit_code, checked.output) == (0, "small is fine (A small town)\n")
