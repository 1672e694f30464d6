"""What the error of a database means: its SQLSTATE as far as it can be told, and whether another try may succeed."""

import re
import sys

from odanon.errors import OdanonError, OutageError

# Not reached, out of resources, or shut down by a person or a crash: none of it is a mistake in the request.
_OUTAGES = ("08", "53", "57P01", "57P02", "57P03")
_ADVICE = {
    "08": "check that the server runs and that the URL names its host, port and TLS settings",
    "28": "check the user and the password in the URL",
    "3D": "check the name of the database in the URL, or create that database first",
    "53": "the server is out of disk, memory or connections",
    "57P": "the server was stopped; try again when it is back",
}
# While connecting, libpq gives a message and no code. A server that speaks another language is taken for an outage.
_REFUSALS = {
    "28": re.compile(
        r"authentication failed|no password supplied|pg_hba\.conf|no such user"
        r'|role ".*" (does not exist|is not permitted)'
    ),
    "3D": re.compile(r'database ".*" does not exist|no such database'),
    "42501": re.compile("permission denied for database"),
}


def sqlstate(error: BaseException) -> str:
    """The code of a database error, or its class alone (two characters); empty when nothing tells.

    Of other databases than PostgreSQL only a lost connection is known, as far as SQLAlchemy knows it.
    """
    driver = sys.modules.get("psycopg2")  # whoever has an error of its has imported it
    original = getattr(error, "orig", None) or error
    code = getattr(original, "pgcode", None)
    if code is not None:
        return str(code)
    if driver is not None and isinstance(original, (driver.OperationalError, driver.InterfaceError)):
        return next((kind for kind, words in _REFUSALS.items() if words.search(str(original))), "08")
    return "08" if getattr(error, "connection_invalidated", False) else ""


def error_type(code: str) -> type[OdanonError]:
    """Whether an error with this code is worth another try."""
    return OutageError if code.startswith(_OUTAGES) else OdanonError


def advice(code: str) -> str:
    """What to do about a server that is away or lets nobody in; empty when the request itself is the trouble."""
    return next((what for start, what in _ADVICE.items() if code.startswith(start)), "")
