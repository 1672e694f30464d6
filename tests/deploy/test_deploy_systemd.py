"""The units for a plain server, by systemd's own tools and by rules of our own."""

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compose_file import secrets_of, services
from deployment import DEPLOY

FOLDER = DEPLOY / "systemd"
SERVICES = sorted(FOLDER.glob("*.service"))
HARDENING = FOLDER / "odanon-.service.d" / "hardening.conf"
has_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed here")


def settings(path: Path, section: str = "Service") -> dict[str, list[str]]:
    """The settings of a section; most may be given several times."""
    found: dict[str, list[str]] = {}
    part = ""
    for line in path.read_text().splitlines():
        if line.startswith("["):
            part = line.strip("[]")
        elif part == section and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    """The units with the programs of this environment, as systemd would find them."""
    shutil.copytree(FOLDER, tmp_path / "units")
    for path in (tmp_path / "units").glob("*.service"):
        text = path.read_text().replace("/opt/odanon/deploy", str(DEPLOY))
        path.write_text(text.replace("/opt/odanon/venv/bin", str(Path(sys.executable).parent)))
    return tmp_path / "units"


@has_systemd
def test_systemd_accepts_every_unit(staged: Path) -> None:
    units = [
        str(path).replace("@.", "@demo.") for path in sorted(staged.glob("*.service")) + sorted(staged.glob("*.timer"))
    ]
    done = subprocess.run(
        ["systemd-analyze", "verify", *units],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{staged}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@has_systemd
@pytest.mark.parametrize("unit", [path.name for path in SERVICES if "@" not in path.name])
def test_systemd_finds_the_units_closed(staged: Path, unit: str) -> None:
    """systemd's own measure of exposure, from 0 (closed) to 10."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--no-pager", "--offline=true", str(staged / unit)],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{staged}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert exposure is not None, done.stderr
    assert float(exposure[1]) <= 1.5


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_secrets_are_credentials_and_the_same_as_in_compose(path: Path) -> None:
    unit = settings(path)
    given = dict(line.split(":") for line in unit["LoadCredential"])
    assert all(source.startswith("/etc/odanon/secrets/") for source in given.values())
    kind = path.stem.removeprefix("odanon-").rstrip("@")
    composed = secrets_of(services()[{"purge": "steward"}.get(kind, kind)])
    assert {name: Path(source).name for name, source in given.items()} == composed
    assert unit["ExecStart"][0].startswith("/opt/odanon/deploy/bin/with-secrets ")
    assert all("PASSWORD" not in line for line in unit.get("Environment", []))


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_services_write_to_their_own_folders_alone(path: Path) -> None:
    assert all(
        folder.startswith(("/var/lib/odanon", "/var/backups/odanon"))
        for folder in settings(path).get("ReadWritePaths", [])
    )
    common = settings(HARDENING)
    assert common["User"] == ["odanon"]
    assert common["NoNewPrivileges"] == ["yes"]
    assert common["ProtectSystem"] == ["strict"]


def test_what_has_no_login_listens_on_loopback() -> None:
    for name in ("webserver", "explore"):
        assert " --host 127.0.0.1 " in settings(FOLDER / f"odanon-{name}.service")["ExecStart"][0]
    assert settings(FOLDER / "odanon-code.service")["ExecStart"][0].endswith(" --host=127.0.0.1 --port=4000")


def test_each_timer_has_its_service() -> None:
    timers = sorted(FOLDER.glob("*.timer"))
    assert [path.stem for path in timers] == ["odanon-backup", "odanon-purge@"]
    for path in timers:
        assert path.with_suffix(".service").exists()
        assert settings(path, "Timer")["Persistent"] == ["yes"]


def test_the_example_of_settings_has_every_variable_of_the_files_and_no_secret() -> None:
    parser = configparser.ConfigParser()
    parser.optionxform = str  # type: ignore[method-assign,assignment]
    parser.read_string("[all]\n" + (FOLDER / "odanon.env.example").read_text())
    names = set(parser["all"])
    for file in ("dagster.yaml", "workspace.yaml"):
        needed = set(re.findall(r"env: (\w+)", (DEPLOY / file).read_text()))
        assert needed - {"DAGSTER_PG_PASSWORD"} <= names
    assert not [name for name in names if re.search("PASSWORD|SECRET|KEY", name)]


@pytest.mark.skipif(not shutil.which("systemd-tmpfiles"), reason="systemd-tmpfiles is not installed here")
def test_folders_are_made_as_written(tmp_path: Path) -> None:
    import getpass
    import grp

    me, group = getpass.getuser(), grp.getgrgid(os.getegid()).gr_name
    rules = (FOLDER / "odanon.tmpfiles").read_text().replace("odanon odanon", f"{me} {group}")
    (tmp_path / "rules.conf").write_text(rules)
    root = tmp_path / "root"
    (root / "var" / "lib").mkdir(parents=True)
    subprocess.run(["systemd-tmpfiles", f"--root={root}", "--create", tmp_path / "rules.conf"], check=True)
    assert (root / "var/lib/odanon/data").stat().st_mode & 0o777 == 0o751  # the proxy passes through, to reports
    assert (root / "var/lib/odanon/dagster/dagster.yaml").readlink() == Path("/opt/odanon/deploy/dagster.yaml")
    assert (root / "var/backups/odanon").stat().st_mode & 0o777 == 0o700
