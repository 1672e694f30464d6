"""What is installed on request only: the modules that extras of odanon bring, and the sentence that says which one to install."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from odanon.errors import OdanonError

# module -> the extra in pyproject.toml that brings it
BROUGHT_BY = {
    "alembic": "postgis",
    "dagster": "pipeline",
    "dagster_postgres": "pipeline",
    "holidays": "holidays",
    "matplotlib": "plot",
    "opendp": "dp",
    "openlineage": "openlineage",
    "openmatrix": "omx",
    "pmtiles": "explore",
    "psycopg2": "postgis",
    "pyspark": "spark",
    "sqlalchemy": "postgis",
    "starlette": "explore",
    "uvicorn": "explore",
}


class MissingExtraError(OdanonError):
    """Something that is installed on request is asked for and not there."""


@contextmanager
def needed_by(what: str) -> Iterator[None]:
    """A block in which something imports a module of an extra: one that is not there is one sentence, with the remedy."""
    try:
        yield
    except ImportError as error:
        module = (error.name or "").partition(".")[0]
        if module not in BROUGHT_BY:
            raise
        raise MissingExtraError(f"{what} needs {module}; run: {remedy(BROUGHT_BY[module])}") from None


def remedy(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'odanon[{extra}]'"


def is_installed(extra: str) -> bool:
    """Whether all that our modules import of an extra is there; nothing of it is imported."""
    return all(find_spec(module) is not None for module, brought in BROUGHT_BY.items() if brought == extra)
