"""The proxy's configuration in a real nginx, in front of a webserver that tells what reached it."""

import base64
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from deployment import DEPLOY

UNPACKED = Path(sys.executable).parents[1] / "nginx" / "usr" / "sbin" / "nginx"
NGINX = shutil.which("nginx") or (str(UNPACKED) if UNPACKED.exists() else None)
pytestmark = pytest.mark.skipif(NGINX is None, reason="there is no nginx: run deploy/setup/nginx.sh .venv/nginx")
MAIN = """
daemon off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/conf.d/*.conf;
}}"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Echo(BaseHTTPRequestHandler):
    """Answers with the headers that it was sent."""

    def do_GET(self) -> None:
        content = str(self.headers).encode()
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


def configured(folder: Path, secrets: Path, place: Path, webserver: int, port: int) -> list[str]:
    """The command that starts nginx with the files of deploy/, moved to this machine's ports and folders."""
    (folder / "conf.d").mkdir(parents=True)
    site = (DEPLOY / "proxy" / "odanon.conf").read_text().replace("listen 8443", f"listen 127.0.0.1:{port}")
    (folder / "conf.d" / "odanon.conf").write_text(site)
    moved = place.read_text().replace("webserver:3000", f"127.0.0.1:{webserver}")
    for there, here in (
        ("127.0.0.1:3000", f"127.0.0.1:{webserver}"),
        ("/run/secrets", secrets),
        ("/etc/odanon", secrets),
    ):
        moved = moved.replace(there, str(here))
    (folder / "conf.d" / "place.conf").write_text(moved)
    workers = "user root;" if os.getuid() == 0 else ""  # the folders of tests are closed to others
    (folder / "nginx.conf").write_text(workers + MAIN.format(folder=folder))
    return [str(NGINX), "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]


@pytest.fixture(scope="module", params=["compose", "systemd"])
def proxy(request: Any, tmp_path_factory: Any, secrets: Path, webserver: int) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("proxy"), free_port()
    known = shutil.copytree(secrets, tmp_path_factory.mktemp("known") / "secrets")
    (known / "htpasswd").chmod(0o600)
    (known / "htpasswd").write_text(f"ada:{_hashed('correct horse')}\n")
    command = configured(folder, known, DEPLOY / request.param / "proxy-place.conf", webserver, port)
    tested = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.05)
    yield f"https://127.0.0.1:{port}"
    running.terminate()
    running.wait()


def _hashed(password: str) -> str:
    """As secrets.sh makes it."""
    done = subprocess.run(
        ["openssl", "passwd", "-6", "-stdin"], input=password, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def asked(url: str, login: str | None = None, **headers: str) -> tuple[int, str, Any]:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    if login:
        headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=10, context=trusting
        ) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, "", error.headers


def test_nobody_comes_in_without_the_login(proxy: str) -> None:
    for path in ("/", "/graphql", "/server_info", "/report_asset_materialization/x", "/healthz/../graphql"):
        assert asked(proxy + path)[0] == 401, path
        assert asked(proxy + path, "ada:wrong")[0] == 401
        assert asked(proxy + path, "eve:correct horse")[0] == 401
    assert asked(proxy + "/healthz")[0] == 204


def test_with_the_login_the_webserver_answers_and_does_not_see_it(proxy: str) -> None:
    status, seen, headers = asked(proxy + "/graphql", "ada:correct horse", **{"X-Forwarded-For": "forged"})
    assert status == 200
    assert "Authorization" not in seen
    assert "forged" not in seen
    assert "X-Forwarded-Proto: https" in seen
    assert headers["X-Frame-Options"] == "DENY"
    assert "max-age" in headers["Strict-Transport-Security"]
    assert "/" not in headers["Server"]  # no version


def test_web_sockets_of_the_interface_pass(proxy: str) -> None:
    _, seen, _ = asked(proxy + "/graphql", "ada:correct horse", Upgrade="websocket", Connection="Upgrade")
    assert "Upgrade: websocket" in seen
    assert "Connection: upgrade" in seen


def test_there_is_no_way_in_without_encryption(proxy: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(proxy.replace("https", "http"), timeout=10)
    assert refused.value.code == 400
