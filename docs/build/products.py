"""The page of product files: every key with type, default, meaning and an example."""

import json
from pathlib import Path
from typing import Any

import yaml
from marks import code, fenced, page, plain_type, table

from odanon.product import Product
from odanon.product.choices import Zoning
from odanon.product.schema import product_schema

_HEAD = ("key", "type", "default", "meaning", "example")
_INTRO = """A data product is one YAML file in `pipelines/`. `odanon check FILE` says what is wrong with one, in one sentence; `odanon schema` prints the JSON Schema that editors complete it by.
`${NAME}` is replaced by the environment. A key that names a plugin takes a name, or a name with parameters beside it: [plugins](plugins.md) lists them."""
_LEAST = "What a product cannot do without:"
_MOST = "All keys of the product of a day, for reference; nobody needs all of them:"
_KINDS = {  # what patterns and formats of the schema mean to people
    r"^\s*(\d+(?:\.\d+)?)\s*(s|min|h|d)\s*$": "duration",
    r"^([01]?\d|2[0-3]):[0-5]\d$": "clock time",
    "date": "date",
    "password": "text",
    "path": "path",
}
_CHOICES = {
    "Source": "source",
    "Staypoints": "staypoints",
    "Zoning": "zoning",
    "HierarchyChoice": "hierarchy",
    "Anonymize": "anonymize",
    "Metric": "metrics",
    "CheckChoice": "checks",
    "Engine": "engine",
    "Notifier": "notify",
}
_SAID = {  # keys that choose a plugin and say nothing themselves
    "source": "where the data come from",
    "staypoints": "how stays are found; a source of ready trips or OD rows needs none, and then it may be left out",
    "zoning": "the tiles",
    "hierarchy": "how tiles may be joined",
    "anonymize": "the algorithm and its promise: k, unit, suppression and the limits",
    "engine": "what the stages of traces run on",
}


class _Keys:
    """The schema, the product with nothing but defaults, and the examples."""

    def __init__(self, examples: list[dict[str, Any]]) -> None:
        self.schema = Product.model_json_schema()
        self.schema["required"] = [*json.loads(product_schema())["required"], "staypoints"]
        sections = {"schedule": {}, "trips": {"home_work": {}}}  # their defaults, where they are there
        self.least = Product.model_validate({**examples[0], **sections}).model_dump(mode="json")
        self.examples = [*examples[1:], examples[0]]

    def rows(self, fields: dict[str, Any], required: list[str], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        return [self._row(field, (*above, name), name in required) for name, field in fields.items()]

    def _row(self, field: dict[str, Any], path: tuple[str, ...], required: bool) -> tuple[str, ...]:
        meaning = field.get("description") or _SAID.get(path[-1]) or self._section(field).get("description", "")
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
        plain = plain["plugin"] if isinstance(plain, dict) else plain
        return "" if plain is None else code(_flow(plain))

    def _example(self, path: tuple[str, ...]) -> Any:
        for found in self.examples:
            value: Any = found
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                return value
        raise KeyError(f"docs/build/every-key.yaml has no example of {'.'.join(path)}; add one")

    def _section(self, field: dict[str, Any]) -> dict[str, Any]:
        """The schema of a key that has keys below it."""
        for option in (field, *field.get("anyOf", ())):
            if "$ref" in option and (name := option["$ref"].rsplit("/", 1)[1]) not in _CHOICES:
                found: dict[str, Any] = self.schema["$defs"][name]
                return found
        return {}

    def _type(self, field: dict[str, Any]) -> str:
        if "$ref" in field:
            name = field["$ref"].rsplit("/", 1)[1]
            return f"[{_CHOICES[name]} plugin](plugins.md)" if name in _CHOICES else "section"
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
                parts += [f"## {'.'.join(path)}", below.get("description", ""), table(_HEAD, rows)]
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


def product_page(here: Path) -> str:
    """Every key of a product file."""
    text = (here / "every-key.yaml").read_text()
    keys = _Keys([yaml.safe_load(part) for part in text.split("\n---\n")])
    least, most, _ = text.partition("\n")[2].split("\n---\n")
    top = keys.rows(keys.schema["properties"], keys.schema["required"])
    return page(
        "The product file",
        _INTRO,
        _LEAST,
        fenced("yaml", least),
        "## Every key",
        table(_HEAD, top),
        *keys.sections((), keys.schema),
        "## zoning.weights",
        "Beside the parameters of its plugin, `zoning` has one key more.",
        table(_HEAD, keys.rows(Zoning.beside, [], ("zoning",))),
        "## Everything in one file",
        _MOST,
        fenced("yaml", most),
    )
