"""A real nginx with the proxy's configuration of deploy/, and how it is asked."""

import base64
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deployment import DEPLOY

UNPACKED = Path(sys.executable).parents[1] / "nginx" / "usr" / "sbin" / "nginx"
NGINX = shutil.which("nginx") or (str(UNPACKED) if UNPACKED.exists() else None)
MAIN = """
daemon off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/conf.d/*.conf;
}}"""


def with_login(secrets: Path, folder: Path, login: str) -> Path:
    """A copy of a deployment's secrets in which one known login is right."""
    name, _, password = login.partition(":")
    known = shutil.copytree(secrets, folder / "secrets")
    (known / "htpasswd").chmod(0o600)
    (known / "htpasswd").write_text(f"{name}:{_hashed(password)}\n")
    return known


@contextmanager
def running_proxy(
    folder: Path, secrets: Path, place: Path, webserver: int, port: int, data: Path, explore: int = 0
) -> Iterator[str]:
    """The address of nginx in front of a webserver and perhaps an explorer, and beside a data root."""
    command = _configured(folder, secrets, place, webserver, port, data, explore)
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
    try:
        yield f"https://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait()


def _configured(
    folder: Path, secrets: Path, place: Path, webserver: int, port: int, data: Path, explore: int
) -> list[str]:
    """The command that starts nginx with the files of deploy/, moved to this machine's ports and folders."""
    (folder / "conf.d").mkdir(parents=True)
    site = (DEPLOY / "proxy" / "odanon.conf").read_text().replace("listen 8443", f"listen 127.0.0.1:{port}")
    (folder / "conf.d" / "odanon.conf").write_text(site)
    moved = place.read_text()
    for there, here in (
        ("webserver:3000", f"127.0.0.1:{webserver}"),
        ("127.0.0.1:3000", f"127.0.0.1:{webserver}"),
        ("explore:8766", f"127.0.0.1:{explore}"),
        ("127.0.0.1:8766", f"127.0.0.1:{explore}"),
        ("/run/secrets", secrets),
        ("/etc/odanon", secrets),
        ("/var/lib/odanon/data", data),
    ):
        moved = moved.replace(there, str(here))
    (folder / "conf.d" / "place.conf").write_text(moved)
    workers = "user root;" if os.getuid() == 0 else ""  # the folders of tests are closed to others
    (folder / "nginx.conf").write_text(workers + MAIN.format(folder=folder))
    return [str(NGINX), "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]


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
