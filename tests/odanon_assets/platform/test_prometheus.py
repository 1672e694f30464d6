"""Metrics as text for Prometheus."""

import re
from pathlib import Path

import pytest
from product_example import small_product
from typer.testing import CliRunner

from odanon.cli import main
from odanon_assets.platform.launch import run_days
from odanon_assets.platform.prometheus import Sample, exposition

LINE = re.compile(r'^[a-z_]+\{([a-z]+="(\\.|[^"\\\n])*",?)*\} -?[0-9.e+-]+$')


def test_a_published_product_is_told_in_prometheus_text(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    product = small_product(workspace / "pipelines")
    assert next(run_days(product, [product.start], resume=False)).error == ""
    out = workspace / "odanon.prom"
    done = CliRunner().invoke(main, ["prometheus", "--out", str(out)])
    assert done.exit_code == 0, done.output
    lines = out.read_text().splitlines()
    assert all(line.startswith("# ") or LINE.match(line) for line in lines)
    assert 'odanon_published_days{product="small"} 1' in lines
    assert 'odanon_failed_days{product="small"} 0' in lines
    assert 'odanon_last_published_day_seconds{product="small"} 1772406000' in lines
    assert 'odanon_check_passed{product="small",stage="anonymized",check="verifier",severity="error"} 1' in lines
    assert any(line.startswith('odanon_release{product="small",figure="suppressed_share"}') for line in lines)
    assert not [line for line in lines if "person" in line]
    # A new Dagster home is told of the day without the times that it took.
    monkeypatch.setenv("DAGSTER_HOME", str(workspace / "new"))
    list(run_days(product, [product.start], resume=True))
    told = CliRunner().invoke(main, ["prometheus", "--out", str(out)])
    assert told.exit_code == 0, told.output
    assert 'odanon_published_days{product="small"} 1' in out.read_text().splitlines()


def test_a_store_that_is_away_hides_neither_itself_nor_others(workspace: Path) -> None:
    small_product(workspace / "pipelines")
    lost = {"store": "postgis", "url": "postgresql+psycopg2://nobody@127.0.0.1:1/nothing"}
    small_product(workspace / "pipelines", product="lost", publish=lost)
    told = CliRunner().invoke(main, ["prometheus"])
    assert told.exit_code == 0, told.output
    for line in (
        'odanon_store_reachable{product="lost"} 0',
        'odanon_failed_days{product="lost"} 0',
        'odanon_store_reachable{product="small"} 1',
        'odanon_published_days{product="small"} 0',
    ):
        assert line in told.output.splitlines()


def test_labels_are_escaped_and_numbers_are_whole() -> None:
    text = exposition([Sample("odanon_failed_days", {"product": 'a"b\\c\nd'}, 1772406000.0)])
    assert text.splitlines()[2] == r'odanon_failed_days{product="a\"b\\c\nd"} 1772406000'
