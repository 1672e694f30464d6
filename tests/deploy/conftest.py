"""A deployment's secrets and database, made by the files in deploy/."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from deployment import DEPLOY, Deployed, server_with_passwords, sql, succeed
from running_stack import Stack, stack_in

from odanon_assets.stores import schema


@pytest.fixture(scope="session")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Secrets as deploy/compose/secrets.sh writes them."""
    folder = tmp_path_factory.mktemp("compose") / "secrets"
    succeed([DEPLOY / "compose" / "secrets.sh", folder, "ada"], dict(os.environ))
    return folder


@pytest.fixture(scope="session")
def deployed(secrets: Path) -> Iterator[Deployed]:
    """What the one-shot services of compose.yaml do: `odanon db init`, then users.sql."""
    with server_with_passwords() as server:
        made = Deployed(server, secrets)
        sql(server.url, "CREATE DATABASE odanon")
        schema.init(made.url())
        made.run_users_sql()
        yield made


@pytest.fixture
def stack(deployed: Deployed, tmp_path: Path) -> Iterator[Stack]:
    """The services of compose.yaml, to be started by the test."""
    with stack_in(deployed, tmp_path) as made:
        yield made
