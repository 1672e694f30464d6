"""A backup taken on one server and brought back on another: everything published, nothing personal."""

import os
import subprocess
from datetime import date
from pathlib import Path

import pytest
from bundles import accept, bundle
from dagster import DagsterInstance, DagsterRunStatus
from deployment import DEPLOY, Deployed, server_with_passwords, sql, succeed

from odanon_assets.stores import schema
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.postgis import PostgisStore
from odanon_assets.stores.roles import ROLES

DAYS = [date(2026, 3, 2), date(2026, 3, 3)]
CANARY = "person-canary-4711"


def called(script: str, *arguments: Path, made: Deployed, root: Path, **changes: str) -> str:
    environment = {**made.environment, "ODANON_ROOT": str(root), **changes}
    return succeed([DEPLOY / "backup" / script, *arguments], environment)


def refusal(script: str, *arguments: Path, made: Deployed, root: Path) -> str:
    environment = {**made.environment, "ODANON_ROOT": str(root)}
    command = [DEPLOY / "backup" / script, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


@pytest.fixture
def instance(deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Dagster home with the production settings."""
    (tmp_path / "dagster.yaml").write_text((DEPLOY / "dagster.yaml").read_text())
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_PG_HOST", "127.0.0.1")
    monkeypatch.setenv("DAGSTER_PG_PASSWORD", deployed.secret("dagster_password"))
    return tmp_path


def test_round_trip(deployed: Deployed, instance: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, published = tmp_path / "data", PostgisStore(deployed.login("odanon_app"))
    for day in DAYS:
        published.publish(bundle(day=day, rows=9), accept)
        EmbeddedStore(root).publish(bundle(day=day, rows=5), accept)
    for private in ("work/town/traces/date=2026-03-02/bucket-000.parquet", "keys/0a1b/2026-03-02"):
        (root / private).parent.mkdir(parents=True, exist_ok=True)
        (root / private).write_text(CANARY)
    receipt = root / "work/town/published/date=2026-03-02/figures.json"
    receipt.parent.mkdir(parents=True)
    receipt.write_text("{}")
    sql(deployed.login("odanon_steward"), f"CREATE TABLE raw.traces AS SELECT '{CANARY}' AS person")
    monkeypatch.setenv("DAGSTER_PG_PORT", str(deployed.port))
    with DagsterInstance.get() as before:
        run = before.create_run_for_job(_job(), status=DagsterRunStatus.SUCCESS).run_id

    login = {"PGUSER": "odanon_backup", "PGPASSWORD": deployed.secret("backup_password")}
    backup = Path(called("backup.sh", tmp_path / "backups", made=deployed, root=root, **login).strip())
    assert sorted(path.name for path in backup.iterdir()) == ["SHA256SUMS", "dagster.dump", "files.tar", "odanon.dump"]
    listed = succeed(["tar", "-tf", backup / "files.tar"], dict(os.environ))
    assert CANARY not in listed + succeed(["pg_restore", "-f", "-", backup / "odanon.dump"], dict(os.environ))
    assert {line.split("/")[0] for line in listed.splitlines()} == {"audit", "published", "work"}
    assert [line for line in listed.splitlines() if line.startswith("work")] == [
        "work/town/published/date=2026-03-02/figures.json"
    ]
    assert CANARY.encode() not in (backup / "files.tar").read_bytes()

    assert "already; rename or drop it first" in refusal("restore.sh", backup, made=deployed, root=tmp_path / "x")
    with server_with_passwords() as server:
        other, there = Deployed(server, deployed.secrets), tmp_path / "restored"
        called("restore.sh", backup, made=other, root=there)
        schema.init(other.url())
        other.run_users_sql()
        assert schema.check(other.url()) == []
        assert sql(other.url(), "SELECT count(*) FROM raw.traces") == [0]
        store = PostgisStore(other.login("odanon_app"))
        for found, original in ((store, published), (EmbeddedStore(there), EmbeddedStore(root))):
            assert found.windows("town") == [day.isoformat() for day in DAYS]
            for day in DAYS:
                release = original.released("town", day)
                assert found.released("town", day) == release
                assert found.problems(release) == []
        assert store.audit_log().equals(published.audit_log())
        assert store.publish(bundle(day=date(2026, 3, 4), rows=9), accept)  # work goes on
        monkeypatch.setenv("DAGSTER_PG_PORT", str(other.port))
        with DagsterInstance.get() as after:
            assert after.get_run_by_id(run).status == DagsterRunStatus.SUCCESS
        _damage(backup / "files.tar")
        assert "damaged or incomplete" in refusal("restore.sh", backup, made=other, root=tmp_path / "y")


def test_old_backups_go_and_a_failed_one_leaves_nothing(deployed: Deployed, tmp_path: Path) -> None:
    for day in (1, 2, 3):
        (tmp_path / "backups" / f"odanon-2026010{day}T000000Z").mkdir(parents=True)
    (tmp_path / "backups" / "kept by hand").mkdir()
    new = called("backup.sh", tmp_path / "backups", made=deployed, root=tmp_path, ODANON_BACKUP_KEEP="2").strip()
    kept = sorted(path.name for path in (tmp_path / "backups").iterdir())
    assert kept == ["kept by hand", "odanon-20260103T000000Z", Path(new).name]
    unreachable = Deployed(deployed.server, deployed.secrets)
    environment = {**unreachable.environment, "PGPORT": "1", "ODANON_ROOT": str(tmp_path)}
    command = [DEPLOY / "backup" / "backup.sh", tmp_path / "backups"]
    assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode != 0
    assert sorted(path.name for path in (tmp_path / "backups").iterdir()) == kept


def test_restore_knows_every_role_of_the_schema() -> None:
    text = (DEPLOY / "backup" / "restore.sh").read_text()
    assert all(f"'{role}'" in text for role in ROLES)


def _job():
    from dagster import job

    @job
    def nothing() -> None: ...

    return nothing


def _damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
