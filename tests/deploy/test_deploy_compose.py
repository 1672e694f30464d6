"""compose.yaml against the schema of compose files and the rules of a deployment."""

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from compose_file import FILE, secrets_of, services
from deployment import DEPLOY, Deployed, sql

WHOLE = yaml.safe_load(FILE.read_text())
SERVICES = services()
ONE_SHOT = {name for name, service in SERVICES.items() if service["restart"] == "no"}
each = pytest.mark.parametrize("name", SERVICES)


def test_it_follows_the_schema_of_compose_files() -> None:
    schema = files("check_jsonschema.builtin_schemas") / "vendor" / "compose-spec.json"
    jsonschema.validate(WHOLE, json.loads(schema.read_text()))


@each
def test_images_are_pinned(name: str) -> None:
    tag = SERVICES[name]["image"].partition(":")[2]
    assert re.match(r"\d+[.-]\d+|\$\{ODANON_VERSION:\?", tag)


@each
def test_services_can_do_little(name: str) -> None:
    service = SERVICES[name]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", service["user"])
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "pid", "network_mode", "devices"} & set(service)
    assert not any("docker.sock" in str(volume) for volume in service.get("volumes", []))


@each
def test_services_have_limits_and_a_policy_of_restart(name: str) -> None:
    service = SERVICES[name]
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert service["restart"] == ("no" if name in ONE_SHOT else "unless-stopped")
    assert ("healthcheck" in service) == (name not in ONE_SHOT)


@each
def test_no_secret_is_in_the_environment(name: str) -> None:
    """Names of files may be there; passwords, keys and URLs with either may not."""
    for key, value in SERVICES[name].get("environment", {}).items():
        assert key.endswith("_FILE") or not re.search(r"PASSWORD|SECRET|KEY|TOKEN", key)
        assert not re.search(r"://[^/@]*:[^/@]*@", value)
    assert set(secrets_of(SERVICES[name]).values()) <= set(WHOLE["secrets"])


def test_secrets_are_files_and_each_goes_only_where_it_is_needed() -> None:
    assert all(set(secret) == {"file"} for secret in WHOLE["secrets"].values())
    holders: dict[str, set[str]] = {}
    for name, service in SERVICES.items():
        for secret in secrets_of(service).values():
            holders.setdefault(secret, set()).add(name)
    assert holders == {
        "postgres_password": {"db", "migrate", "users", "restore"},
        "publisher_password": {"users", "code"},
        "steward_password": {"users", "steward", "correction"},
        "reader_password": {"users", "explore"},
        "backup_password": {"users", "backup"},
        "dagster_password": {"users", "code", "webserver", "daemon", "correction"},
        "pseudonym_key": {"code", "correction"},
        "htpasswd": {"proxy"},
        "tls_certificate": {"proxy"},
        "tls_key": {"proxy"},
    }


def test_only_the_proxy_is_published_and_only_the_proxy_meets_what_has_no_login() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]
    assert SERVICES["proxy"]["ports"][0].startswith("${ODANON_LISTEN:-127.0.0.1}:")
    on = {network: {n for n, s in SERVICES.items() if network in s["networks"]} for network in WHOLE["networks"]}
    assert on["edge"] == {"proxy", "webserver", "explore"}
    assert on["outside"] == {"code", "correction"}
    assert WHOLE["networks"]["core"]["internal"] is True
    assert on["core"] == set(SERVICES) - {"proxy"}


@each
def test_what_a_service_names_exists(name: str) -> None:
    service = SERVICES[name]
    for other, how in service.get("depends_on", {}).items():
        wanted = "service_completed_successfully" if other in ONE_SHOT else "service_healthy"
        assert how == {"condition": wanted}
        assert "profiles" not in SERVICES[other]
    for volume in service.get("volumes", []):
        if volume["type"] == "volume":
            assert volume["source"] in WHOLE["volumes"]
        elif not volume["source"].startswith("${"):
            assert (FILE.parent / volume["source"]).exists()
            assert volume["read_only"] is True
    assert set(service["networks"]) <= set(WHOLE["networks"])


def test_variables_are_explained_in_the_example() -> None:
    used = set(re.findall(r"\$\{([A-Z_]+)", FILE.read_text()))
    explained = set(re.findall(r"^([A-Z_]+)=", (FILE.parent / ".env.example").read_text(), re.M))
    assert used == explained


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert f"ODANON_VERSION={version('odanon')}\n" in (FILE.parent / ".env.example").read_text()


def test_secrets_are_written_once_and_closed(secrets: Path) -> None:
    assert {path.name for path in secrets.iterdir()} == set(WHOLE["secrets"])
    assert secrets.stat().st_mode & 0o777 == 0o700
    before = {path.name: path.read_bytes() for path in secrets.iterdir()}
    subprocess.run([DEPLOY / "compose" / "secrets.sh", secrets], check=True, capture_output=True)
    assert {path.name: path.read_bytes() for path in secrets.iterdir()} == before
    assert len(set(before.values())) == len(before)
    assert len(before["pseudonym_key"].strip()) == 64


def test_the_wrapper_gives_secrets_to_the_command_alone(tmp_path: Path) -> None:
    for name, content in {"PGPASSWORD": "a 'b' $c\n", "lower": "x", "A-B": "x", "ODANON_PSEUDONYM_KEY": "k"}.items():
        (tmp_path / name).write_text(content)
    program = "import os, json; print(json.dumps({k: v for k, v in os.environ.items() if k != 'LC_CTYPE'}))"
    command = [DEPLOY / "bin" / "with-secrets", sys.executable, "-c", program]
    done = subprocess.run(command, env={"PATH": "/bin:/usr/bin", "ODANON_SECRETS": str(tmp_path)}, capture_output=True)
    given: dict[str, Any] = json.loads(done.stdout)
    assert {key: given.get(key) for key in ("PGPASSWORD", "ODANON_PSEUDONYM_KEY")} == {
        "PGPASSWORD": "a 'b' $c",
        "ODANON_PSEUDONYM_KEY": "k",
    }
    assert not {"lower", "A-B"} & set(given)
    (tmp_path / "EMPTY").touch()
    refused = subprocess.run(command, env={"ODANON_SECRETS": str(tmp_path)}, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "is empty" in refused.stderr


def test_the_database_log_holds_no_value(deployed: Deployed) -> None:
    """The server's settings in compose.yaml, on a real server, with a row that breaks a rule."""
    options = [word[2:].split("=") for word in SERVICES["db"]["command"] if word.startswith("--log")]
    url, canary = deployed.url(), "person-canary-0815"
    (folder,) = sql(url, "SHOW data_directory")
    log = Path(folder).parent / "log"

    def logged() -> str:
        start = log.stat().st_size
        with pytest.raises(Exception, match="duplicate key"):
            sql(url, f"CREATE TEMP TABLE t (p text PRIMARY KEY); INSERT INTO t VALUES ('{canary}'), ('{canary}')")
        return log.read_text()[start:]

    assert canary in logged()  # what a server does by itself
    for name, value in options:
        sql(url, f"ALTER SYSTEM SET {name} = '{value}'")
    sql(url, "SELECT pg_reload_conf()")
    sql(url, "SELECT pg_sleep(0.5)")
    said = logged()
    assert "duplicate key" in said
    assert canary not in said


def test_production_differs_from_development_only_where_it_must() -> None:
    here, there = (
        yaml.safe_load(path.read_text()) for path in (DEPLOY.parent / "dagster.yaml", DEPLOY / "dagster.yaml")
    )
    assert {key: there.get(key) for key in here} == here
    assert set(there) - set(here) == {"storage", "retention"}
