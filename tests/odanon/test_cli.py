"""The command line as a person meets it."""

from pathlib import Path

import pytest
from product_example import small_product
from typer.testing import CliRunner

from odanon import cli, registry
from odanon.errors import OdanonError

RUN = CliRunner()


def test_help_lists_the_commands() -> None:
    shown = RUN.invoke(cli.main, ["--help"]).output
    for command in ("run", "summary", "plugins", "schema", "check", "simulate", "sql"):
        assert command in shown


def test_plugins_show_parameters_and_meaning() -> None:
    shown = RUN.invoke(cli.main, ["plugins", "staypoints"]).output
    assert "staypoints: dwell" in shown
    assert "radius_m" in shown
    assert "largest distance" in shown


def test_plugins_show_the_limits_of_anonymisers() -> None:
    shown = " ".join(RUN.invoke(cli.main, ["plugins", "anonymize"]).output.split())
    assert (
        "keeps: k_population, k_areas, min_tiles, min_visited, max_tiles, contribution_cap refuses: max_dominance, report_small"
        in shown
    )
    assert "not verified: nobody can count its flows again" in shown


def test_a_parameter_that_is_not_known_gets_the_nearest() -> None:
    with pytest.raises(OdanonError, match=r"min_tile: there is no such key here; did you mean 'min_tiles'\?"):
        registry.create("anonymize", "uniform", {"min_tile": 3})


def test_check_accepts_a_good_file(workspace: Path) -> None:
    small_product(workspace)
    shown = RUN.invoke(cli.main, ["check", str(workspace / "pipelines" / "small.yaml")])
    assert "small is fine (A small town)" in shown.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "nowhere"], "no product is called 'nowhere'"),
        (["run", "small", "--from", "2026-03-04", "--to", "2026-03-03"], "--to lies before --from"),
        (["run", "small", "--from", "2026-03-04"], "a range needs both"),
        (["run", "small", "--date", "2026-03-04", "--to", "2026-03-04"], "either --date or --from"),
        (["run", "small", "--date", "2020-01-01"], "before the product's first day"),
        (["sql", "select 1"], "nothing is published"),
        (["plugins", "nonsense"], "the stages are source, staypoints"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(workspace: Path, arguments: list[str], sentence: str) -> None:
    small_product(workspace / "pipelines")
    failed = RUN.invoke(cli.main, arguments)
    assert isinstance(failed.exception, OdanonError)
    assert sentence in str(failed.exception)


def test_an_error_ends_with_its_sentence_and_exit_code_1(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["odanon", "sql", "select 1"])
    with pytest.raises(SystemExit) as ended:
        cli.app()
    assert ended.value.code == 1
    error = capsys.readouterr().err
    assert error.startswith("odanon: nothing is published")
    assert "Traceback" not in error


def test_run_ends_with_the_figures_a_newcomer_wants(workspace: Path) -> None:
    small_product(workspace / "pipelines")
    shown = RUN.invoke(cli.main, ["run", "small"])
    assert shown.exit_code == 0, shown.output
    for word in ("points", "people", "stay points", "trips", "OD pairs", "flows between", "left out", "report.html"):
        assert word in shown.output
    asked = RUN.invoke(cli.main, ["sql", "select sum(trips) as total from flows"])
    assert "total" in asked.output


def test_a_path_that_cannot_be_written_gets_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["odanon", "schema", "--out", "/proc/nowhere/schema.json"])
    with pytest.raises(SystemExit, match="1"):
        cli.app()
    assert "odanon: /proc/nowhere/schema.json: No such file or directory" in capsys.readouterr().err


def test_a_mistake_is_one_line_whatever_a_plugin_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OdanonError("two\nlines \x07")

    monkeypatch.setattr(cli, "main", fail)
    with pytest.raises(SystemExit):
        cli.app()
    assert capsys.readouterr().err == "odanon: two lines\n"
