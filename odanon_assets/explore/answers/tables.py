"""What several answers read of the published tables."""

import json
from collections.abc import Iterable
from typing import Any

from odanon.client.publications import Publications


def timed(at: str, seconds: float) -> str:
    """The place of a store; a database stops what takes too long, and what nobody waits for any more."""
    if "://" not in at:
        return at
    from sqlalchemy import make_url

    url, limit = make_url(at), f"-c statement_timeout={1000 * seconds:.0f} -c client_connection_check_interval=1s"
    given = url.query.get("options", "")
    return url.update_query_dict({"options": f"{given} {limit}".strip()}).render_as_string(hide_password=False)


def texts(values: Iterable[str]) -> str:
    """Texts as SQL writes them, between commas."""
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)


def manifests_of(published: Publications, product: str) -> list[dict[str, Any]]:
    """The manifests of all visible releases of a product, by window."""
    rows = published.sql(f"SELECT manifest FROM releases WHERE product = {texts([product])} ORDER BY window_start")
    return [json.loads(told) if isinstance(told, str) else dict(told) for told in rows["manifest"]]
