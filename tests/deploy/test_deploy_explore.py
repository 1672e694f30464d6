"""The explorer of compose.yaml as a real process on a real server, behind the real proxy: who comes in, and what it can reach."""

import json
import urllib.request
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from bundles import accept, bundle
from deployment import DEPLOY, Deployed
from nginx_proxy import NGINX, asked, running_proxy, with_login
from running_stack import Stack, free_port, stack_in

from odanon_assets.stores.postgis import PostgisStore

LOGIN = "ada:correct horse"


@pytest.fixture(scope="module")
def explored(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The service `explore` with a day to show, started as compose.yaml says."""
    with stack_in(deployed, tmp_path_factory.mktemp("explored")) as stack:
        PostgisStore(deployed.login("odanon_app")).publish(bundle(day=date(2026, 3, 2)), accept)
        stack.places["8766"] = str(free_port())
        stack.start("explore")
        stack.wait("the explorer", lambda: _products(stack) == ["town"], seconds=60)
        yield stack


def _products(stack: Stack) -> list[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{stack.places['8766']}/api/products", timeout=20) as answer:
        return [product["name"] for product in json.load(answer)["products"]]


def test_it_shows_what_is_published_with_the_rights_of_a_reader(explored: Stack, deployed: Deployed) -> None:
    assert _products(explored) == ["town"]
    environment = Path(f"/proc/{explored.started['explore'].pid}/environ").read_bytes().decode()
    assert "odanon_explorer@" in environment
    assert not [name for name in ("PSEUDONYM", "ODANON_DB_URL", "DAGSTER_PG") if name in environment]
    connection = psycopg2.connect(deployed.login("odanon_explorer"))
    with connection.cursor() as cursor, pytest.raises(psycopg2.errors.InsufficientPrivilege):
        cursor.execute("SELECT * FROM published.release")
    connection.close()
    log = explored.log("explore")
    assert "GET '/api/products' 200" in log
    assert "?" not in log


@pytest.mark.skipif(NGINX is None, reason="there is no nginx: run deploy/setup/nginx.sh .venv/nginx")
@pytest.mark.parametrize("is_open", [False, True])
def test_one_setting_says_whether_it_is_behind_the_login(
    explored: Stack, deployed: Deployed, tmp_path: Path, is_open: bool
) -> None:
    place = (DEPLOY / "compose" / "proxy-place.conf").read_text()
    setting = "$odanon_explore_login { default odanon; }"
    assert setting in place
    (tmp_path / "place.conf").write_text(
        place.replace(setting, setting.replace("odanon;", "off;")) if is_open else place
    )
    known = with_login(deployed.secrets, tmp_path / "known", LOGIN)
    ports: dict[str, Any] = {"webserver": free_port(), "port": free_port(), "explore": int(explored.places["8766"])}
    with running_proxy(tmp_path / "proxy", known, tmp_path / "place.conf", data=tmp_path, **ports) as proxy:
        stranger = asked(proxy + "/explore/api/products")
        assert stranger[0] == (200 if is_open else 401)
        status, answer, headers = asked(proxy + "/explore/api/products", LOGIN)
        assert (status, json.loads(answer)["products"][0]["name"]) == (200, "town")
        assert headers.get_all("Referrer-Policy") == ["no-referrer"]
        assert headers.get_all("Content-Security-Policy")[0].startswith("default-src 'none'")
        assert "max-age" in headers["Strict-Transport-Security"]
        assert asked(proxy + "/explore", LOGIN)[1].startswith("<!doctype html>")
        for closed in ("/", "/graphql", "/published/x/report=2026-03-02/report.html", "/explore/../graphql"):
            assert asked(proxy + closed)[0] == 401, closed
