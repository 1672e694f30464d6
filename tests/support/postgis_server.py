"""A private, temporary PostGIS for the tests: a given server, local binaries or a container, in this order."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg2

DSN_VARIABLE = "ODANON_TEST_DSN"
_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_CONTAINER_IMAGE = "docker.io/postgis/postgis:15-3.3"


@contextmanager
def postgis_server(*, durable: bool = False) -> Iterator[str]:
    """The URL of an empty database with PostGIS; `durable` keeps fsync on, for crash tests."""
    given = os.environ.get(DSN_VARIABLE)
    if given:
        yield given
        return
    binaries = _local_binaries()
    if binaries is not None:
        with _cluster(binaries, durable) as server:
            yield server.url
    elif (
        shutil.which("docker") and subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0
    ):
        with _container() as url:
            yield url
    else:
        raise RuntimeError(
            f"the database tests need PostGIS: run deploy/setup/postgis.sh as root, or set {DSN_VARIABLE}"
        )


def _local_binaries() -> Path | None:
    """The newest PostgreSQL whose PostGIS extension is installed."""
    found = [
        path.parent
        for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")
        if Path(f"/usr/share/postgresql/{path.parts[-3]}/extension/postgis.control").exists()
    ]
    return max(found, key=lambda path: float(path.parts[-2]), default=None)


class Server:
    """A private server that can be stopped as if the power failed, and started again."""

    def __init__(self, control: list[str], folder: Path, options: str, url: str) -> None:
        self.url = url
        self._control, self._folder, self._options = control, folder, options

    def start(self) -> None:
        _call([*self._control, "-l", str(self._folder / "log"), "-o", self._options, "start"])

    def crash(self) -> None:
        """What `pg_ctl stop -m immediate` does, without the time that pg_ctl takes to start."""
        postmaster = self._folder / "data" / "postmaster.pid"
        os.kill(int(postmaster.read_text().split()[0]), signal.SIGQUIT)
        deadline = time.monotonic() + 60
        while postmaster.exists():
            if time.monotonic() > deadline:
                raise RuntimeError("the private PostgreSQL server does not stop")
            time.sleep(0.005)


@contextmanager
def crashing_server() -> Iterator[Server]:
    """A durable server of our own, whatever ODANON_TEST_DSN says: nobody else's may be crashed."""
    binaries = _local_binaries()
    if binaries is None:
        raise RuntimeError("the crash tests need local PostGIS binaries: run deploy/setup/postgis.sh as root")
    with _cluster(binaries, durable=True) as server:
        yield server


@contextmanager
def _cluster(binaries: Path, durable: bool) -> Iterator[Server]:
    """initdb into a temporary folder as an unprivileged user, on a free loopback port."""
    folder = Path(tempfile.mkdtemp(prefix="odanon-postgis-"))
    user = _unprivileged_user()
    if user is not None:
        shutil.chown(folder, user)
    become = [] if user is None else ["runuser", "-u", user, "--"]
    port = _free_port()
    settings = {"listen_addresses": "127.0.0.1", "port": str(port), "unix_socket_directories": str(folder)}
    settings |= {} if durable else _FAST
    control = [*become, str(binaries / "pg_ctl"), "-D", str(folder / "data"), "-w"]
    try:
        _call(
            [*become, str(binaries / "initdb"), "-D", str(folder / "data"), "-U", "odanon", "-A", "trust", "-E", "UTF8"]
        )
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        server = Server(control, folder, options, f"postgresql://odanon@127.0.0.1:{port}/postgres")
        server.start()
        try:
            _with_postgis(server.url)
            yield server
        finally:
            server.crash()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _container() -> Iterator[str]:
    port, name = _free_port(), f"odanon-test-{uuid.uuid4().hex[:12]}"
    trust = ["-e", "POSTGRES_HOST_AUTH_METHOD=trust", "-e", "POSTGRES_USER=odanon", "-e", "POSTGRES_DB=postgres"]
    _call(["docker", "run", "--rm", "-d", "--name", name, "-p", f"127.0.0.1:{port}:5432", *trust, _CONTAINER_IMAGE])
    try:
        yield _with_postgis(f"postgresql://odanon@127.0.0.1:{port}/postgres")
    finally:
        _call(["docker", "rm", "-f", name])


def _with_postgis(url: str) -> str:
    deadline = time.monotonic() + 60
    while True:
        try:
            connection = psycopg2.connect(url)
            break
        except psycopg2.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS postgis")
    connection.close()
    return url


def _unprivileged_user() -> str | None:
    """PostgreSQL refuses to run as root; None when we are not root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _call(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/", check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-500:]}")
