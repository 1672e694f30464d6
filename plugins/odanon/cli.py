"""The `odanon` command: a group of what installed packages offer, each imported when it is called."""

import errno
import gc
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from odanon.errors import OdanonError, one_line, pass_on
from odanon.help.listing import PANELS, Offer, listing, offers
from odanon.help.outline import outlined
from odanon.offered import OURS

_Misused: Any = typer.BadParameter.__base__  # the mistakes that a parser finds
# What libraries say, in the words of the house.
_PLAINER = {
    r"\.? Did you mean (.+?)\?$": r" (did you mean \1?)",
    r"\(Possible options?: (.+)\)$": r"(did you mean \1?)",
    r": Input should be (.+?)(, unable to .*)?$": r": it should be \1",
}
_MARKUP: Literal["markdown"] = "markdown"
_TRACEBACK = "ODANON_TRACEBACK"
_MAY_END = ("rich.", "typer.", "click.")  # where nobody reads on
_ALIVE = 50_000  # objects; modules make many that stay, and to look for rubbish among them took a fifth of a start


class Commands(TyperGroup):
    """Lists commands by what their sources say, and loads the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.offers = {offer.name: offer for offer in offers()}
        del self.commands  # those who call one need not wait until the sources of all are read

    @cached_property
    def commands(self) -> dict[str, TyperCommand]:  # type: ignore[override]
        return _listed(self.offers)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        with _one_sentence():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        try:
            with _one_sentence():
                return super().invoke(ctx)
        except SystemExit as exit_:
            offer = self.offers.get(ctx.invoked_subcommand)
            if offer is None or offer.packages != OURS or _module(exit_).startswith(_MAY_END):
                raise
            raise OdanonError(f"the program was ended{_where(exit_)}; report it to whoever made that") from exit_

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in self.offers:
            offer, (*others, last) = self.offers[args[0]], args
            # Without an option before it, --help is no option's value, so that the command will not run.
            asked = last == "--help" and not any(word.startswith("-") for word in others)
            return args[0], _command(offer, _outlined(offer) if asked else offer.load()), args[1:]
        return super().resolve_command(ctx, args)


@contextmanager
def _one_sentence() -> Iterator[None]:
    """What the parser says of a mistake, as every other mistake is told."""
    try:
        yield
    except _Misused as error:
        if (
            not error.format_message().strip() or type(error).__name__ == "NoArgsIsHelpError"
        ):  # which is the help itself
            raise
        said = one_line(error.format_message()).rstrip(". ")
        for pattern, plain in _PLAINER.items():
            said = re.sub(pattern, plain, said)
        path = error.ctx.command_path.split()[1:] if error.ctx is not None else []
        where = " ".join(["odanon", *path])
        raise OdanonError(f"{said[:1].lower()}{said[1:]}; `{where} --help` shows how it is written") from None


def _listed(offered: dict[str, Offer]) -> dict[str, TyperCommand]:
    """Lines of the help in their order; those of other panels come last."""
    lines = {name: listing(offer) for name, offer in offered.items()}
    panels = dict.fromkeys((*PANELS, *sorted(line.panel for line in lines.values())))
    order = {panel: at for at, panel in enumerate(panels)}
    named = sorted(lines.items(), key=lambda item: (order[item[1].panel], item[1].place, item[0]))
    return {name: TyperCommand(name, help=line.help, rich_help_panel=line.panel) for name, line in named}


def _outlined(offer: Offer) -> Any:
    """What is behind a command of ours, for its help alone; a stranger's module may count on being imported."""
    if offer.packages != OURS:
        return offer.load()
    try:
        return outlined(offer.points[0].module, offer.points[0].attr)
    except Exception:
        return offer.load()


def _command(offer: Offer, behind: Any) -> Any:
    """The command of an offer, a function or a Typer app with commands of its own."""
    app = typer.Typer(rich_markup_mode=_MARKUP)
    try:
        if isinstance(behind, typer.Typer):
            app.add_typer(behind, name=offer.name)
        else:
            app.command(offer.name)(behind)
        return get_group(app).commands[offer.name]
    except Exception as error:
        raise offer.broken("its options cannot be read", error) from error


def _main() -> None:
    """Publish where people travel without showing who does.

    With a table start at `odanon anonymize --help`. With traces run `odanon run demo` in the repository, then copy pipelines/demo.yaml; elsewhere docs/product-files.md has a file to begin with.
    """


main = typer.Typer(
    cls=Commands,
    callback=_main,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=_MARKUP,
)


def app() -> None:
    """Entry point: a mistake ends with its sentence on stderr and exit code 1, never with a traceback."""
    gc.set_threshold(_ALIVE, 20, 100)
    try:
        main()
    except SystemExit:
        raise
    except BaseException as error:
        pass_on(error)
        if os.environ.get(_TRACEBACK) and not isinstance(error, OdanonError):
            raise
        typer.secho(f"odanon: {_said(error)}", fg="red", err=True)
        sys.exit(1)


def _said(error: BaseException) -> str:
    """The sentence of a mistake; of one that nobody foresaw no words of its own, which may quote data."""
    if isinstance(error, OdanonError):
        return one_line(str(error))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; choose a path that you may use"
    if isinstance(error, OSError) and error.errno is not None and error.errno in errno.errorcode:
        return f"{os.strerror(error.errno).lower()}; nothing more could be written or read"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; use a smaller table or larger tiles"
    return (
        f"failed with {type(error).__name__}{_where(error)}; report it to whoever made that ({_TRACEBACK}=1 shows what led there,"
        " and may quote data)"
    )


def _where(error: BaseException) -> str:
    """The line of the program that raised an error."""
    lines = list(traceback.walk_tb(error.__traceback__))
    return f" in {_module(error)}, line {lines[-1][1]}" if lines else ""


def _module(error: BaseException) -> str:
    """The module that raised an error."""
    lines = list(traceback.walk_tb(error.__traceback__))
    return str(lines[-1][0].f_globals.get("__name__")) if lines else ""
