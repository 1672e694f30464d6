"""The page of commands: what `odanon COMMAND --help` says, of all of them."""

from typing import Any

from marks import code, page, table
from typer.main import get_group

from odanon.cli import main

_HEAD = ("name", "type", "default", "meaning")
_TYPES = {  # in this order
    "list[str]": "text, several times",
    "str": "text",
    "int range": "whole number",
    "int": "whole number",
    "float range": "number",
    "float": "number",
    "%Y-%m-%d": "YYYY-MM-DD",
    "T%H:%M": "Thh:mm",
}
_INTRO = "What `odanon COMMAND --help` says, of every command. `odanon --help` lists them."


def commands_page() -> str:
    """One section a panel of `odanon --help`, one below it a command."""
    group, panels = get_group(main), dict[str, list[str]]()
    for name, listed in group.commands.items():
        _, command, _ = group.resolve_command(None, [name])  # type: ignore[arg-type]
        panels.setdefault(str(listed.rich_help_panel), []).append(_described(f"odanon {name}", command))
    return page("Commands", _INTRO, *(f"## {panel}\n\n" + "\n\n".join(parts) for panel, parts in panels.items()))


def _described(name: str, command: Any) -> str:
    below = getattr(command, "commands", None)
    if below is not None:
        return "\n\n".join(
            [f"### {name}", command.help, *(_described(f"{name} {each}", below[each]) for each in below)]
        )
    context = command.context_class(command, info_name=name)
    arguments = " ".join(each.name.upper() for each in command.params if each.param_type_name == "argument")
    rows = [_parameter(each, context) for each in command.params]
    usage = f"    {name} {arguments} [OPTIONS]".replace("  [", " [")
    return "\n\n".join([f"### {name}", usage, command.help or "", table(_HEAD, rows)]).rstrip()


def _parameter(each: Any, context: Any) -> tuple[str, str, str, str]:
    given = each.param_type_name == "argument"
    names = each.name.upper() if given else ", ".join(sorted(each.opts, key=len, reverse=True))
    return code(names), _type(each, context), "required" if each.required else _default(each), each.help or ""


def _type(each: Any, context: Any) -> str:
    if getattr(each, "is_flag", False):
        return "switch"
    shown = str(each.display_type(context)).strip("<>").replace("|", " or ")
    for told, plain in _TYPES.items():
        shown = shown.replace(told, plain)
    return shown


def _default(each: Any) -> str:
    told = each.default() if callable(each.default) else each.default
    return "" if told in (None, False, (), []) else code(getattr(told, "value", told))
