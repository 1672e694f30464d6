"""The proxy's configuration in a real nginx, in front of a webserver that tells what reached it."""

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from deployment import DEPLOY
from nginx_proxy import NGINX, asked, running_proxy, with_login

pytestmark = pytest.mark.skipif(NGINX is None, reason="there is no nginx: run deploy/setup/nginx.sh .venv/nginx")
LOGIN = "ada:correct horse"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Echo(BaseHTTPRequestHandler):
    """Answers with the path and the headers that it was sent."""

    def do_GET(self) -> None:
        content = f"{self.path}\n{self.headers}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def webserver() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


@pytest.fixture(scope="module")
def data(tmp_path_factory: Any) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module", params=["compose", "systemd"])
def proxy(request: Any, tmp_path_factory: Any, secrets: Path, webserver: int, data: Path) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("proxy"), free_port()
    known = with_login(secrets, tmp_path_factory.mktemp("known"), LOGIN)
    with running_proxy(folder, known, DEPLOY / request.param / "proxy-place.conf", webserver, port, data) as address:
        yield address


def test_nobody_comes_in_without_the_login(proxy: str) -> None:
    for path in ("/", "/graphql", "/server_info", "/report_asset_materialization/x", "/healthz/../graphql"):
        assert asked(proxy + path)[0] == 401, path
        assert asked(proxy + path, "ada:wrong")[0] == 401
        assert asked(proxy + path, "eve:correct horse")[0] == 401
    assert asked(proxy + "/healthz")[0] == 204


def test_with_the_login_the_webserver_answers_and_does_not_see_it(proxy: str) -> None:
    status, seen, headers = asked(proxy + "/graphql", LOGIN, **{"X-Forwarded-For": "forged"})
    assert status == 200
    assert "Authorization" not in seen
    assert "forged" not in seen
    assert "X-Forwarded-Proto: https" in seen
    assert headers["X-Frame-Options"] == "DENY"
    assert "max-age" in headers["Strict-Transport-Security"]
    assert "/" not in headers["Server"]  # no version


def test_reports_are_shown_to_who_logs_in_and_nothing_else_of_the_data_is(proxy: str, data: Path) -> None:
    copied, own = "/published/small/report=2026-03-02/report.html", "/published/demo/releases/demo-1/report.html"
    for kept in (
        "derived" + copied.removeprefix("/published"),
        own[1:],
        "work/report.html",
        "derived/small/figures.json",
    ):
        (data / kept).parent.mkdir(parents=True, exist_ok=True)
        (data / kept).write_text(f"this is {kept}")
    assert asked(proxy + copied)[0] == 401
    assert asked(proxy + copied, LOGIN)[1] == "this is derived/small/report=2026-03-02/report.html"
    assert asked(proxy + own, LOGIN)[1] == "this is published/demo/releases/demo-1/report.html"
    for wrong in (
        "/published/../work/report.html",
        "/published/small/../../work/report.html",
        "/derived/small/figures.json",
    ):
        assert "this is" not in asked(proxy + wrong, LOGIN)[1]
    (data / "derived/small/report=2026-03-02/report.html").unlink()  # its release was withdrawn
    assert asked(proxy + copied, LOGIN)[0] == 404


def test_web_sockets_of_the_interface_pass(proxy: str) -> None:
    _, seen, _ = asked(proxy + "/graphql", LOGIN, Upgrade="websocket", Connection="Upgrade")
    assert "Upgrade: websocket" in seen
    assert "Connection: upgrade" in seen


def test_there_is_no_way_in_without_encryption(proxy: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(proxy.replace("https", "http"), timeout=10)
    assert refused.value.code == 400
