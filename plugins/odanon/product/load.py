"""Reading product files: one mistake gives one sentence with file, key, value and remedy."""

import os
import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from odanon.errors import OdanonError
from odanon.product.model import Product
from odanon.product.plain_yaml import plain_yaml
from odanon.registry import explain

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_KEYS = re.compile(r"(url|password|secret|token|key)$")
_SCALARS = (str, int, float, bool, type(None))


def load_product(path: str | Path) -> Product:
    """Load and validate one product file."""
    path = Path(path)
    raw = _read_yaml(path)
    _refuse_literal_secrets(raw, path, ())
    try:
        return Product.model_validate(_expand(raw, path, ()))
    except ValidationError as error:
        raise OdanonError(_sentence(path, raw, error)) from None
    except OdanonError as error:
        raise OdanonError(f"{path}: {error}") from None


def load_products(folder: str | Path) -> list[Product]:
    """All products of a folder, by file name; two files must not claim one name."""
    folder = Path(folder)
    paths = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
    if not paths:
        raise OdanonError(f"{folder}: no product files (*.yaml) here; copy pipelines/demo.yaml to start one")
    products: dict[str, Product] = {}
    for path in paths:
        product = load_product(path)
        if product.product in products:
            raise OdanonError(f"{path}: product = {product.product!r} is taken by another file; choose another name")
        products[product.product] = product
    return list(products.values())


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise OdanonError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    try:
        raw = plain_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise OdanonError(f"{path}:{where} {problem}; repair the YAML there") from None
    if not isinstance(raw, dict):
        raise OdanonError(f"{path}: a product file is a mapping that starts with `product: NAME`")
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
        literal = keys[-1] != "url" and without != ""
        if literal or re.search(r"://[^/@]*:[^/@]+@", without):
            raise OdanonError(
                f"{path}: {'.'.join(keys)} holds a secret in plain text; put it into an environment variable"
                " and write ${THAT_VARIABLE} here"
            )


def _sentence(path: Path, raw: dict[str, Any], error: ValidationError) -> str:
    """The first mistake as one sentence; the number of further ones at the end."""
    errors = error.errors()
    first = errors[0]
    keys = [str(key) for key in first["loc"]]
    found, value = _value_at(raw, keys)
    shown = f" = {value!r}" if found and isinstance(value, _SCALARS) and "url" not in keys else ""
    more = f" ({len(errors) - 1} more mistakes in this file)" if len(errors) > 1 else ""
    return f"{path}: {'.'.join(keys) or 'product file'}{shown}: {explain(first)}{more}"


def _value_at(raw: Any, keys: list[str]) -> tuple[bool, Any]:
    for key in keys:
        if isinstance(raw, dict) and key in raw:
            raw = raw[key]
        elif isinstance(raw, list) and key.isdigit() and int(key) < len(raw):
            raw = raw[int(key)]
        else:
            return False, None
    return True, raw
