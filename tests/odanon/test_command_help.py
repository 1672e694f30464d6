"""What every command says of itself and of a mistake: an example that its parser takes, and one sentence."""

import re
import shlex

import pytest
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError
from odanon.help.listing import offers

RUN = CliRunner()
_EXAMPLE = re.compile(r"`(odanon [^`]+)`")


def commands() -> dict[str, object]:
    """Every command, and every command of a command."""
    found = {}
    for offer in offers():
        loaded = cli._command(offer, offer.load())
        below = getattr(loaded, "commands", None)
        found |= {f"{offer.name} {name}": each for name, each in below.items()} if below else {offer.name: loaded}
    return found


COMMANDS = commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_an_example_that_its_parser_takes(name: str) -> None:
    command = COMMANDS[name]
    examples = [shlex.split(text.partition(" > ")[0]) for text in _EXAMPLE.findall(command.help or "")]
    own = [words[1 + len(name.split()) :] for words in examples if words[1:][: len(name.split())] == name.split()]
    assert own, f"odanon {name} --help has no example"
    for words in own:
        command.make_context(name, words)  # a mistake is raised


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("anonymize t.csv -k ten", "invalid value for '-k' / '--k': it should be a valid integer; `odanon anonymize --help` shows how it is written"),
        ("anonymize t.csv --resolution 99", "'--resolution': it should be less than or equal to 15"),
        ("anonymize t.csv --orign a", "no such option: --orign (did you mean --bin, --origin?)"),
        ("anonymize", "missing argument 'table'; `odanon anonymize --help`"),
        ("compare t.csv", "missing option '--out'"),
        ("run demo --date yesterday", "'yesterday' does not match the format"),
        ("db nonsense", "no such command 'nonsense'"),
        ("nonsense", "no such command 'nonsense'"),
        ("--nonsense", "no such option: --nonsense"),
        ("anonymize t.csv more", "got unexpected extra argument(s) (more)"),
    ],
)  # fmt: skip
def test_a_mistake_that_the_parser_finds_is_one_sentence(words: str, sentence: str) -> None:
    failed = RUN.invoke(cli.main, words.split())
    assert isinstance(failed.exception, OdanonError), failed.output
    assert sentence in str(failed.exception)
    assert failed.output == ""


def test_no_words_at_all_show_the_help() -> None:
    for words in ([], ["db"]):
        shown = RUN.invoke(cli.main, words)
        assert not isinstance(shown.exception, OdanonError)
        assert "Usage" in shown.output
