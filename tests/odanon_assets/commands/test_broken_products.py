"""A product file that cannot be used: told, shown, and no trouble for the others."""

import subprocess
import sys
from pathlib import Path

import pytest
from product_example import small_product
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError
from odanon.product import load_products, product_paths
from odanon_assets.platform.build import build_definitions

RUN = CliRunner()
SENTENCE = "no engine plugin is called 'nowhere'"


@pytest.fixture
def folder(workspace: Path) -> Path:
    """A healthy product and one whose plugin is not installed."""
    folder = workspace / "pipelines"
    small_product(folder)
    text = (folder / "small.yaml").read_text().replace("product: small", "product: astray")
    (folder / "astray.yaml").write_text(text.replace("plugin: local", "plugin: nowhere"))
    return folder


def test_commands_with_a_named_product_look_at_it_alone(folder: Path) -> None:
    shown = RUN.invoke(cli.main, ["summary", "small"])
    assert shown.exit_code == 0, shown.output
    assert "nothing is published yet for small" in shown.output
    refused = RUN.invoke(cli.main, ["summary", "astray"])
    assert isinstance(refused.exception, OdanonError)
    assert SENTENCE in str(refused.exception)
    with pytest.raises(OdanonError, match="there are astray, small"):
        RUN.invoke(cli.main, ["summary", "nobody"], catch_exceptions=False)


def test_check_names_the_healthy_and_fails(folder: Path) -> None:
    done = RUN.invoke(cli.main, ["check", *map(str, product_paths(folder))])
    assert "small is fine" in done.output
    assert SENTENCE in str(done.exception)


def test_prometheus_counts_them_and_tells_the_others(folder: Path) -> None:
    done = RUN.invoke(cli.main, ["prometheus"])
    assert done.exit_code == 0, done.output
    assert 'odanon_product_broken{file="astray.yaml"} 1' in done.output
    assert 'odanon_published_days{product="small"} 0' in done.output
    assert SENTENCE in done.stderr


def test_the_code_location_has_the_healthy_and_shows_the_broken(folder: Path) -> None:
    loaded = load_products(product_paths(folder))
    graph = build_definitions(loaded.products, loaded.broken).resolve_asset_graph()
    keys = {key.to_user_string(): key for key in graph.get_all_asset_keys()}
    assert "small/published" in keys
    assert SENTENCE in (graph.get(keys["broken/astray"]).description or "")
    assert not graph.get(keys["broken/astray"]).is_executable


def test_dagster_loads_it_and_says_so(folder: Path) -> None:
    command = [Path(sys.executable).with_name("dagster"), "definitions", "validate", "-m", "odanon_assets.definitions"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert SENTENCE in done.stderr + done.stdout


def test_nothing_but_broken_files_is_an_error(folder: Path) -> None:
    (folder / "small.yaml").unlink()
    loaded = load_products(product_paths(folder))
    with pytest.raises(OdanonError, match=SENTENCE):
        build_definitions(loaded.products, loaded.broken)
