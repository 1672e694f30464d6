"""Commands come from installed packages: each is imported when it is called, and a broken one breaks nothing else."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from odanon import cli
from odanon.errors import OdanonError
from odanon.listing import PANELS, Offer, listing, offers

RUN = CliRunner()
HEAVY = ("dagster", "duckdb", "geopandas", "numba", "numpy", "pandas", "pydantic", "odanon.registry", "odanon_assets")

MODULES = {
    "stranger/__init__.py": "",
    "stranger/good.py": '''
import typer
PANEL = ("One table", 9)
def wave(name: str, times: int = 1) -> None:
    """Wave at somebody.

    More of it.
    """
    typer.echo(f"{name} " * times)
many = typer.Typer(help="Many waves.")
@many.command()
def left() -> None:
    """To the left."""
    typer.echo("left")
@many.command()
def right() -> None: ...
''',
    "stranger/raising.py": "raise RuntimeError('no')\ndef call() -> None: ...\n",
    "stranger/lacking.py": "from stranger_helper.deep import nothing\ndef call() -> None: ...\n",
    "stranger/dividing.py": "number = 1 / 0\ndef call() -> None:\n    'Looks fine.'\n",
    "stranger/leaving.py": "import sys\nsys.exit(3)\ndef call() -> None: ...\n",
    "stranger/garbled.py": "def call(\n",
}
POINTS = {
    "wave": "stranger.good:wave",
    "many": "stranger.good:many",
    "raising": "stranger.raising:call",
    "lacking": "stranger.lacking:call",
    "dividing": "stranger.dividing:call",
    "leaving": "stranger.leaving:call",
    "garbled": "stranger.garbled:call",
    "uncallable": "stranger.good:PANEL",
    "gone": "stranger.gone:call",
    "nameless": "stranger.good:nothing",
    "trips": "stranger.good:wave",
}


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A third party's package with good and bad commands, one under a name that is taken."""
    for name, text in MODULES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    information = tmp_path / "odanon_stranger-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: odanon-stranger\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in POINTS.items()]
    (information / "entry_points.txt").write_text("\n".join(["[odanon.commands]", *lines]))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "stranger"]:
        del sys.modules[name]


def called(*words: str) -> Result:
    return RUN.invoke(cli.main, list(words), env={"COLUMNS": "200"})


def imported(*words: str) -> list[str]:
    """Heavy modules that a call of the command line imports."""
    script = (
        "import sys; from odanon import cli\n"
        "try: cli.app()\n"
        f"except SystemExit: print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
    assert "Usage: " in done.stdout
    return list(ast.literal_eval(done.stdout.splitlines()[-1]))


def test_the_help_imports_no_command() -> None:
    assert imported("--help") == []


def test_a_command_imports_nothing_for_the_others() -> None:
    assert imported("plugins", "--help") == ["pydantic", "odanon.registry"]


@pytest.mark.parametrize("offer", offers(), ids=lambda offer: offer.name)
def test_what_the_help_says_of_a_command_is_what_the_command_says(offer: Offer) -> None:
    line = listing(offer)
    assert line.panel in PANELS[:-1]
    said = cli._loaded(offer).help.split("\n\n")[0]
    assert line.help == " ".join(said.split())


def test_a_third_partys_commands_are_listed_and_run(stranger: None) -> None:
    shown = called("--help").output
    assert "Wave at somebody." in shown
    assert "More of it." not in shown
    assert "Many waves." in shown
    assert not [name for name in sys.modules if name.startswith("stranger")]
    assert called("wave", "Ada", "--times", "2").output == "Ada Ada \n"
    assert called("many", "left").output == "left\n"
    assert "To the left." in called("many", "--help").output


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("raising", "its module raises an error when it is imported"),
        ("lacking", "it needs the package stranger_helper, which is not installed"),
        ("garbled", "SyntaxError when it was read"),
        ("gone", "there is no module stranger.gone"),
        ("nameless", "stranger.good defines no 'nothing'"),
        ("trips", "the name belongs to odanon; rename it"),
    ],
)
def test_a_broken_command_is_listed_with_its_reason(stranger: None, name: str, why: str) -> None:
    lines = called("--help").output.splitlines()
    (line,) = [line for line in lines if line.startswith(f"│ {name} ")]
    assert "broken" in line
    assert "odanon-stranger" in line
    assert why in line


@pytest.mark.parametrize(
    "name", ["raising", "lacking", "dividing", "leaving", "garbled", "uncallable", "gone", "nameless"]
)
def test_a_broken_command_says_so_and_breaks_nothing_else(
    stranger: None, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["odanon", name])
    with pytest.raises(SystemExit, match="1"):
        cli.app()
    error = capsys.readouterr().err
    assert error.startswith(f"odanon: the command '{name}' of ")
    assert "is broken: " in error
    assert "odanon-stranger" in error
    assert error.count("\n") == 1
    assert called("wave", "Ada").output == "Ada \n"
    assert called("schema").exit_code == 0


def test_a_strangers_command_does_not_take_the_name_of_ours(stranger: None) -> None:
    shown = called("trips", "--help")
    assert shown.exit_code == 0
    assert "Wave" not in shown.output
    assert "trip" in shown.output


def test_a_mistyped_command_gets_the_nearest() -> None:
    assert "did you mean 'anonymize'?" in str(called("anonymise").exception)


def test_a_sentence_and_not_a_traceback_names_the_package(stranger: None) -> None:
    failed = called("dividing")
    assert isinstance(failed.exception, OdanonError)
    assert str(failed.exception).endswith("it cannot be imported (ZeroDivisionError: division by zero)")
