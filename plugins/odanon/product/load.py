"""Reading product files: one mistake gives one sentence with file, key, value and remedy."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from odanon import registry
from odanon.errors import OdanonError
from odanon.product.choices import PluginChoice
from odanon.product.model import Product
from odanon.product.plain_yaml import plain_yaml

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CLAIM = re.compile(r"""^product:[ \t]*["']?([^"'#\s]+)""", re.MULTILINE)
_OTHER = re.compile(r"^demand:", re.MULTILINE)  # in a file that is no product
_SECRET_KEYS = re.compile(r"(url|published|password|secret|token|key)$")
_ADDRESSES = ("url", "published")  # of databases too
_SCALARS = (str, int, float, bool, type(None))
M = TypeVar("M", bound=BaseModel)


Strangers = Mapping[str, dict[str, Any]]  # by stage, the plugin of another package with its parameters


def load_product(path: str | Path, strangers: Strangers | None = None) -> Product:
    """Load and validate one product file.

    Given `strangers`, no code of another package is run: what its plugins were set up with is taken from there. What is promised
    is still what the file says.
    """
    found = load_file(Path(path), Product, strangers)
    return found if found.demand is None else found.model_copy(update={"demand": Path(path).parent / found.demand})


def load_file(path: Path, model: type[M], strangers: Strangers | None = None) -> M:
    """Load and validate a file of a model that is named by its first key, such as `product: NAME`."""
    what = model.__name__.lower()
    raw = _read_yaml(path, what)
    _refuse_literal_secrets(raw, path, ())
    try:
        return model.model_validate(_expand(raw, path, ()), context=strangers)
    except ValidationError as error:
        raise OdanonError(_sentence(path, raw, error, model)) from None
    except OdanonError as error:
        raise OdanonError(f"{path}: {error}") from None
    except Exception as error:  # whatever a stranger's plugin does when it is given its parameters
        raise OdanonError(
            f"{path}: a plugin of this file fails with {type(error).__name__} when it is made; update its package"
        ) from error


@dataclass(frozen=True)
class Loaded:
    """The products of some files, and for every file that makes none the sentence that says why."""

    products: list[Product]
    broken: dict[Path, str]


def product_paths(folder: str | Path) -> list[Path]:
    """The product files of a folder by name; there must be one. Demand files that lie beside them are none."""
    folder = Path(folder)
    paths = [path for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]) if not _is_demand(path)]
    if not paths:
        raise OdanonError(
            f"{folder}: no product files (*.yaml) here; docs/product-files.md has one to begin with, or name their folder in ODANON_PRODUCTS"
        )
    return paths


def _is_demand(path: Path) -> bool:
    text = _text_of(path)
    return _OTHER.search(text) is not None and _CLAIM.search(text) is None


def _text_of(path: Path) -> str:
    """What a file says, whatever it is; nothing of one that cannot be read."""
    there = path.is_file() and os.access(path, os.R_OK)
    return path.read_text(encoding="utf-8", errors="replace") if there else ""


def load_products(paths: Iterable[Path]) -> Loaded:
    """The products of many files; one that is broken keeps no other from working."""
    products: dict[str, Product] = {}
    broken: dict[Path, str] = {}
    for path in paths:
        try:
            product = load_product(path)
            if product.product in products:
                raise _taken(path, product.product)
            products[product.product] = product
        except OdanonError as error:
            broken[path] = str(error)
    return Loaded(list(products.values()), broken)


def load_named(folder: str | Path, name: str, strangers: Strangers | None = None) -> Product:
    """The product of this name, whatever the other files of the folder look like; for `strangers` see `load_product`."""
    names = claimed_names(folder)
    claiming = names.get(name, [])
    if not claiming:
        known = ", ".join(sorted(names))
        raise OdanonError(f"no product is called {name[:100]!r} in {folder}; there are {known}")
    if len(claiming) > 1:
        raise _taken(claiming[1], name)
    return load_product(claiming[0], strangers)


def claimed_names(folder: str | Path) -> dict[str, list[Path]]:
    """The names that product files claim, whatever else is wrong with them."""
    names: dict[str, list[Path]] = {}
    for path in product_paths(folder):
        names.setdefault(_claim(path), []).append(path)
    return names


def _claim(path: Path) -> str:
    """The name in a product file; of one that is no YAML, what the line says that should hold it, or the file's name."""
    try:
        return str(_expand(_read_yaml(path).get("product", path.stem), path, ("product",)))
    except OdanonError:
        found = _CLAIM.search(_text_of(path))
        return found[1] if found else path.stem


def _taken(path: Path, name: str) -> OdanonError:
    return OdanonError(f"{path}: product = {name!r} is taken by another file; choose another name")


def _read_yaml(path: Path, what: str = "product") -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise OdanonError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise OdanonError(f"{path}: is not UTF-8 text; save it as such") from None
    try:
        raw = plain_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise OdanonError(f"{path}:{where} {problem}; repair the YAML there") from None
    if not isinstance(raw, dict):
        raise OdanonError(f"{path}: a {what} file is a mapping that starts with `{what}: NAME`")
    return raw


def _expand(value: Any, path: Path, keys: tuple[str, ...]) -> Any:
    """Replace ${VAR} by the environment's value, in strings at any depth."""
    if isinstance(value, dict):
        return {key: _expand(item, path, (*keys, str(key))) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, path, (*keys, str(index))) for index, item in enumerate(value)]
    if not isinstance(value, str):
        return value

    def lookup(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise OdanonError(
                f"{path}: {'.'.join(keys)} needs the environment variable {match[1]}, which is not set;"
                f" export {match[1]}=... first"
            )
        return os.environ[match[1]]

    return _VARIABLE.sub(lookup, value)


def _refuse_literal_secrets(value: Any, path: Path, keys: tuple[str, ...]) -> None:
    """A URL with a password, or a secret, belongs in the environment and not in a file under version control."""
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_literal_secrets(item, path, (*keys, str(key)))
    elif isinstance(value, str) and keys and _SECRET_KEYS.search(keys[-1]):
        without = _VARIABLE.sub("", value)
        literal = keys[-1] not in _ADDRESSES and without != ""
        if literal or re.search(r"://[^/@]*:[^/@]+@", without):
            raise OdanonError(
                f"{path}: {'.'.join(keys)} holds a secret in plain text; put it into an environment variable"
                " and write ${THAT_VARIABLE} here"
            )


def _sentence(path: Path, raw: dict[str, Any], error: ValidationError, model: type[BaseModel]) -> str:
    """The first mistake as one sentence; the number of further ones at the end."""
    errors = error.errors()
    first = errors[0]
    keys = [str(key) for key in first["loc"]]
    found, value = _value_at(raw, keys)
    shown = f" = {value!r}" if found and isinstance(value, _SCALARS) and not {*_ADDRESSES} & {*keys} else ""
    more = f" ({len(errors) - 1} more mistakes in this file)" if len(errors) > 1 else ""
    told = registry.explain(first, _known_keys(model, raw, keys[:-1]) if first["type"] in registry.UNKNOWN_KEY else ())
    return f"{path}: {'.'.join(keys) or f'{model.__name__.lower()} file'}{shown}: {told}{more}"


def _known_keys(whole: type[BaseModel], raw: Any, keys: list[str]) -> list[str]:
    """The keys that may stand at a place of a file."""
    model: type[BaseModel] | None = whole
    for key in keys:
        if not key.isdigit():  # the entries of a list share their model
            field = model.model_fields.get(key) if model else None
            model = _section(field.annotation) if field else None
    if model is None or not issubclass(model, PluginChoice):
        return list(model.model_fields) if model else []
    _, chosen = _value_at(raw, keys)
    return [known.name for known in registry.find(model.stage, chosen["plugin"]).parameters]


def _section(annotation: Any) -> type[BaseModel] | None:
    """The model within an annotation such as `list[Metric] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _section(part))), None)


def _value_at(raw: Any, keys: list[str]) -> tuple[bool, Any]:
    for key in keys:
        if isinstance(raw, dict) and key in raw:
            raw = raw[key]
        elif isinstance(raw, list) and key.isdigit() and int(key) < len(raw):
            raw = raw[int(key)]
        else:
            return False, None
    return True, raw
