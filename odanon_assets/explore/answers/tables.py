"""What several answers read of the published tables."""

from collections.abc import Iterable


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
