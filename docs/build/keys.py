"""Keys of a YAML file as a reference lists them: type, default, meaning and an example, all from the model that reads it."""

from dataclasses import dataclass
from typing import Any

import yaml
from marks import code, plain_type, table

HEAD = ("key", "type", "default", "meaning", "example")
_KINDS = {  # what patterns and formats of the schema mean to people
    r"^\s*(\d+(?:\.\d+)?)\s*(s|min|h|d)\s*$": "duration",
    r"^([01]?\d|2[0-3]):[0-5]\d$": "clock time",
    "date": "date",
    "password": "text",
    "path": "path",
}


@dataclass(frozen=True)
class Keys:
    """A schema, the file with nothing but defaults, and the examples."""

    schema: dict[str, Any]
    least: dict[str, Any]
    examples: list[dict[str, Any]]
    told_elsewhere: dict[str, str]  # schemas that are no sections of the page: what stands as their type
    said: dict[str, str]  # meanings of keys that say nothing themselves
    file: str  # where the examples lie

    def rows(self, fields: dict[str, Any], required: list[str], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        return [self._row(field, (*above, name), name in required) for name, field in fields.items()]

    def _row(self, field: dict[str, Any], path: tuple[str, ...], required: bool) -> tuple[str, ...]:
        meaning = field.get("description") or self.said.get(path[-1]) or self._section(field).get("description", "")
        default = "required" if required else self._default(field, path)
        example = "" if self._section(field).get("properties") else code(_flow(self._example(path)))
        return code(".".join(path)), self._type(field), default, meaning, example

    def _default(self, field: dict[str, Any], path: tuple[str, ...]) -> str:
        value: Any = self.least
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if self._section(field).get("properties"):
            return ""
        value = field.get("default") if value is None else value
        plain = [each["plugin"] for each in value] if _plugins(value) else value
        plain = plain.get("plugin", plain) if isinstance(plain, dict) else plain
        return "" if plain is None else code(_flow(plain))

    def _example(self, path: tuple[str, ...]) -> Any:
        for found in self.examples:
            value: Any = found
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                return value
        raise KeyError(f"docs/build/{self.file} has no example of {'.'.join(path)}; add one")

    def _section(self, field: dict[str, Any]) -> dict[str, Any]:
        """The schema of a key that has keys below it."""
        for option in (field, *field.get("anyOf", ())):
            if "$ref" in option and (name := option["$ref"].rsplit("/", 1)[1]) not in self.told_elsewhere:
                found: dict[str, Any] = self.schema["$defs"][name]
                return found
        return {}

    def _type(self, field: dict[str, Any]) -> str:
        if "$ref" in field:
            name = field["$ref"].rsplit("/", 1)[1]
            return self.told_elsewhere.get(name, "section")
        if "enum" in field or "const" in field:
            return " or ".join(code(each) for each in field.get("enum", [field.get("const")]))
        if options := [each for each in field.get("anyOf", field.get("oneOf", ())) if each.get("type") != "null"]:
            return " or ".join(map(self._type, options))
        if field.get("type") == "array":
            return f"list of {self._type(field['items'])}"
        kind = _KINDS.get(field.get("pattern", ""), _KINDS.get(field.get("format", ""), plain_type(field["type"])))
        return kind + _bounds(field)

    def sections(self, above: tuple[str, ...], schema: dict[str, Any]) -> list[str]:
        """A part of the page for every key with keys below it."""
        parts = []
        for name, field in schema["properties"].items():
            if (below := self._section(field)).get("properties"):
                path = (*above, name)
                rows = self.rows(below["properties"], below.get("required", []), path)
                parts += [f"## {'.'.join(path)}", below.get("description", ""), table(HEAD, rows)]
                parts += self.sections(path, below)
        return parts


def _plugins(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, dict) for each in value)


def _bounds(field: dict[str, Any]) -> str:
    least = [f"{field[key]} or more" for key in ("minimum",) if key in field]
    least += [f"above {field[key]}" for key in ("exclusiveMinimum",) if key in field]
    least += [f"at most {field[key]}" for key in ("maximum",) if key in field]
    return f" ({', '.join(least)})" if least else ""


def _flow(value: Any) -> str:
    """A value as it stands in a product file, in one line."""
    if isinstance(value, str):
        return value
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False).removesuffix("...\n").strip()
