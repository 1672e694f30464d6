"""A deployment's database for the tests: servers that ask for passwords, made ready by the files in deploy/."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg2
from postgis_server import Server, crashing_server
from repository import REPOSITORY
from sqlalchemy.engine import make_url

DEPLOY = REPOSITORY / "deploy"
# Only the superuser of the tests comes in without a password.
HBA = ["host all odanon 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"]


@dataclass(frozen=True)
class Deployed:
    """A server with the databases `odanon` and `dagster`, and the folder of its secrets."""

    server: Server
    secrets: Path

    def url(self, user: str = "odanon", password: str | None = None, database: str = "odanon") -> str:
        made = make_url(self.server.url).set(username=user, password=password, database=database)
        return made.render_as_string(hide_password=False)

    def login(self, user: str, database: str = "odanon") -> str:
        """The URL of one of the users of users.sql, with the password in its secret."""
        name = {
            "odanon_app": "publisher",
            "odanon_steward": "steward",
            "odanon_explorer": "reader",
            "odanon_backup": "backup",
            "dagster": "dagster",
        }
        return self.url(user, self.secret(f"{name[user]}_password"), database)

    def secret(self, name: str) -> str:
        return (self.secrets / name).read_text().strip()

    @property
    def port(self) -> int:
        return int(make_url(self.server.url).port or 0)

    @property
    def environment(self) -> dict[str, str]:
        """What psql, pg_dump and pg_restore read, as superuser."""
        return {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "odanon"}

    def run_users_sql(self) -> None:
        """The one-shot service `users` of compose.yaml."""
        script = DEPLOY / "sql" / "users.sql"
        succeed(["psql", "-q", "-d", "odanon", "-v", f"secrets={self.secrets}", "-f", script], self.environment)


@contextmanager
def server_with_passwords() -> Iterator[Server]:
    """A server of our own with nothing in it that lets nobody but the superuser in without a password."""
    with crashing_server() as server:
        (path,) = sql(server.url, "SHOW hba_file")
        sql(server.url, f"COPY (SELECT unnest(%s)) TO '{path}'", HBA)
        sql(server.url, "ALTER SYSTEM SET fsync = off")  # nobody pulls the plug of this machine
        sql(server.url, "SELECT pg_reload_conf()")
        yield server


def sql(url: str, statement: str, *values: object) -> list:
    """The first column of what a statement answers, outside a transaction."""
    connection = psycopg2.connect(url)
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return [row[0] for row in cursor] if cursor.description else []
    finally:
        connection.close()


def succeed(command: list, environment: dict[str, str]) -> str:
    """What a command prints; it must end well and complain of nothing."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
