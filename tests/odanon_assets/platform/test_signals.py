"""What those who watch are told after every kind of failure: figures come, and what was never reached is not called failed."""

import asyncio
import re
from datetime import date
from pathlib import Path

import pytest
from dagster import AssetCheckKey
from dagster._core.loader import LoadingContextForTest
from dated_files import FIRST, day_of, files_product, write_day
from typer.testing import CliRunner

from odanon import cli
from odanon.product import Product
from odanon_assets.checks.catalogue import checks_of
from odanon_assets.platform.launch import open_instance, run_days
from odanon_assets.platform.partitions import asset_key

PEOPLE = 60
ONE_BUCKET = {"plugin": "local", "buckets": 1}


@pytest.fixture
def town(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Product:
    """A product with one published day."""
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")
    write_day(workspace / "source", FIRST, people=PEOPLE)
    product = files_product(workspace, engine=ONE_BUCKET)
    assert ended(product, FIRST) == ""
    return product


def ended(product: Product, *days: date) -> str:
    return "; ".join(result.error for result in run_days(product, list(days), resume=False))


def told() -> list[str]:
    """The lines of `odanon prometheus`."""
    done = CliRunner().invoke(cli.main, ["prometheus"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def passed(stage: str, check: str) -> list[str]:
    return [line[-1] for line in told() if f'stage="{stage}",check="{check}"' in line]


def failed_days() -> int:
    (line,) = (line for line in told() if line.startswith("odanon_failed_days"))
    return int(line.split()[-1])


def shown(product: Product) -> dict[tuple[str, str], str]:
    """How the latest execution of every check ended, as the UI shows it."""
    keys = {AssetCheckKey(asset_key(product, check.stage), check.name): check for check in checks_of(product)}
    with open_instance() as instance:
        records = instance.event_log_storage.get_latest_asset_check_execution_by_key(list(keys))
        context = LoadingContextForTest(instance)
        return {
            (keys[key].stage, keys[key].name): asyncio.run(record.resolve_status(context)).value
            for key, record in records.items()
        }


def red(product: Product) -> set[tuple[str, str]]:
    return {check for check, status in shown(product).items() if status != "SUCCEEDED"}


def test_after_every_kind_of_failure_figures_come_and_no_check_is_red_that_was_not_reached(
    town: Product, workspace: Path
) -> None:
    assert (failed_days(), red(town)) == (0, set())

    write_day(workspace / "source", FIRST, people=PEOPLE + 20, name="late")
    assert ended(town, FIRST) == ""
    assert (failed_days(), red(town)) == (0, {("traces", "late_data")})
    assert passed("traces", "late_data") == ["0"]
    (workspace / "source" / f"date={FIRST}" / "late-0.parquet").unlink()

    corrupt = workspace / "source" / f"date={day_of(1)}" / "points-0.parquet"
    corrupt.parent.mkdir()
    corrupt.write_bytes(b"PAR1 and then nothing")
    assert "truncated, damaged" in ended(town, day_of(1))
    assert (failed_days(), red(town)) == (1, {("traces", "late_data")})
    assert passed("anonymized", "verifier") == ["1"]  # of the day before, which reached it

    write_day(workspace / "source", day_of(2), people=PEOPLE, dirt=0.5)
    sentence = ended(town, day_of(2))
    assert re.search(r"check quarantine failed: .* allows \(mostly \w+, \w+", sentence), sentence  # and why
    assert (failed_days(), red(town)) == (2, {("traces", "quarantine"), ("traces", "late_data")})
    assert (passed("traces", "quarantine"), passed("anonymized", "auditor")) == (["0"], ["1"])

    stricter = files_product(workspace, engine=ONE_BUCKET, anonymize={"plugin": "atg-joint", "k": 8})
    assert "check auditor failed" in ended(stricter, FIRST)
    assert (failed_days(), red(town)) == (3, {("anonymized", "auditor")})
    assert (passed("anonymized", "verifier"), passed("anonymized", "auditor")) == (["1"], ["0"])

    (workspace / "pipelines" / "broken.yaml").write_text("product: [")
    assert (failed_days(), red(town)) == (3, {("anonymized", "auditor")})
    assert 'odanon_product_broken{file="broken.yaml"} 1' in told()
