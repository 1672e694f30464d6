"""What several answers read of the published tables."""

import json
from collections.abc import Iterable
from typing import Any

from odanon.client.publications import Publications


def texts(values: Iterable[str]) -> str:
    """Texts as SQL writes them, between commas."""
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)


def manifests_of(published: Publications, product: str) -> list[dict[str, Any]]:
    """The manifests of all visible releases of a product, by window."""
    rows = published.sql(f"SELECT manifest FROM releases WHERE product = {texts([product])} ORDER BY window_start")
    return [json.loads(told) if isinstance(told, str) else dict(told) for told in rows["manifest"]]
