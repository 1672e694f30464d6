"""The DAGs of product files: the plan without Airflow, and under ODANON_STRESS=1 the DAGs in a real one of its own."""

import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deployment import DEPLOY
from product_example import small_product

from odanon.product import load_product
from odanon.product.windows import has_matrix
from odanon_assets.stores.embedded import EmbeddedStore

sys.path.append(str(DEPLOY / "airflow"))
from odanon_plan import NOTHING_TO_DO, Plan, command, days_to_run, read_plan

FOUR = datetime(2026, 3, 4, 3, tzinfo=UTC)  # four in the morning in Paris
AIRFLOW = "apache-airflow==3.3.2"


def plan_of(folder: Path, **changes: Any) -> Plan:
    small_product(folder, **changes)
    return read_plan(folder / "small.yaml")


def test_the_day_that_is_due_lies_back_by_the_lag_on_the_local_calendar(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, schedule={"cron": "0 4 * * *", "lag": "2d"})
    assert (plan.cron, plan.timezone) == ("0 4 * * *", "Europe/Paris")
    assert days_to_run(plan, FOUR) == [date(2026, 3, 2)]
    assert days_to_run(plan, datetime(2026, 3, 4, 23, 30, tzinfo=UTC)) == [date(2026, 3, 3)]
    assert days_to_run(plan, plan.first_run) == [plan.start]
    assert days_to_run(plan, plan.first_run - timedelta(hours=1)) == []


def test_events_of_the_source_and_people_name_days(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    events: list[dict[str, Any]] = [{"day": "2026-03-09"}, {"day": "2026-03-05"}, {"day": "2026-03-09"}, {}]
    assert days_to_run(plan, FOUR, events=events) == [date(2026, 3, day) for day in (3, 5, 9)]
    assert days_to_run(plan, FOUR, asked="2026-03-07", events=events) == [date(2026, 3, 7)]
    with pytest.raises(ValueError, match="Invalid isoformat"):
        days_to_run(plan, FOUR, asked="2026-03-07; rm -rf /")


def test_days_without_a_matrix_are_those_of_the_product(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, od={"bin": "12h", "days": "working"}, calendar={"holidays": ["2026-03-05"]})
    product = load_product(tmp_path / "small.yaml")
    for day in (date(2026, 2, 25) + timedelta(days=n) for n in range(30)):
        assert plan.has_matrix(day) == has_matrix(product, day)
    assert command(plan, []) == f"exit {NOTHING_TO_DO}"


def test_every_day_is_tried_and_a_failed_one_fails_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = tmp_path / "odanon-stub"
    stub.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n[ "$4" != 2026-03-03 ]\n')
    stub.chmod(0o755)
    monkeypatch.setenv("ODANON_COMMAND", str(stub))
    days = [date(2026, 3, day) for day in (2, 3, 4)]
    done = subprocess.run(["bash", "-c", command(plan_of(tmp_path), days)], check=False)
    assert done.returncode == 1
    assert (tmp_path / "calls").read_text().splitlines() == [f"run small --date {day} --resume" for day in days]
    assert subprocess.run(["bash", "-c", command(plan_of(tmp_path), days[:1])], check=False).returncode == 0


@pytest.mark.parametrize("text", ["", "a: b", "product: 'x; rm -rf /'\ntitle: t", "- 1"])
def test_what_is_no_product_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(ValueError, match="is no product file"):
        read_plan(tmp_path / "bad.yaml")


TOLD = """
import json
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization
bag = DagBag()
told = {"errors": bag.import_errors}
asset_driven = lambda dag: hasattr(dag.timetable, "asset_condition") and dag.timetable.asset_condition
for name, dag in bag.dags.items():
    again = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    told[name] = {
        "start": dag.start_date.isoformat(),
        "timetable": type(again.timetable).__name__,
        "waits_for": [asset.uri for _, asset in again.timetable.asset_condition.iter_assets()] if asset_driven(again) else [],
        "updates": [asset.uri for task in dag.tasks for asset in task.outlets],
    }
print("TOLD" + json.dumps(told))
"""


@pytest.mark.skipif(not os.environ.get("ODANON_STRESS"), reason="installs Airflow, minutes: set ODANON_STRESS=1")
def test_a_real_airflow_loads_the_dags_and_publishes_a_day(tmp_path: Path) -> None:
    home = Path(sys.executable).parents[1] / "airflow"  # an environment of its own: its versions are not ours
    python = home / "bin" / "python"
    if not (home / ".installed").exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([DEPLOY / "setup" / "pip.sh", home, AIRFLOW], check=True)
        (home / ".installed").touch()
    dags, products = tmp_path / "dags", tmp_path / "products"
    products.mkdir()
    dags.symlink_to(DEPLOY / "airflow")
    source = {"plugin": "simulated", "people": 80, "seed": 3, "radius_km": 3}
    small_product(products, source=source, schedule={"cron": "0 4 * * *", "lag": "2d"})
    small_product(products, product="by-hand", source=source)
    small_product(products, product="tried", source=source, status="trial")
    (products / "broken.yaml").write_text("product: BROKEN\n")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        "PATH": f"{home}/bin:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(tmp_path / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "ODANON_COMMAND": str(Path(sys.executable).parent / "odanon"),
        "ODANON_PRODUCTS": str(products),
        "ODANON_ROOT": str(tmp_path / "data"),
        "DAGSTER_HOME": str(tmp_path / "data" / "dagster"),
    }

    def airflow(*words: str | Path) -> str:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        return done.stdout

    airflow(home / "bin/airflow", "db", "migrate")
    told = json.loads(airflow(python, "-c", TOLD).partition("TOLD")[2])
    assert told.pop("errors") == {}
    scheduled, by_hand = told["odanon-small"], told["odanon-by-hand"]
    assert set(told) == {"odanon-small", "odanon-by-hand", "odanon-tried"}
    assert (told["odanon-tried"]["timetable"], told["odanon-tried"]["updates"]) == ("NullTimetable", [])
    assert scheduled["start"] == "2026-03-03T23:00:00+00:00"
    assert (scheduled["timetable"], by_hand["timetable"]) == ("AssetOrTimeSchedule", "AssetTriggeredTimetable")
    assert scheduled["waits_for"] == ["odanon://source/small"]
    assert scheduled["updates"] == ["odanon://published/small"]
    airflow(home / "bin/airflow", "dags", "test", "odanon-small", FOUR.isoformat())
    assert EmbeddedStore(tmp_path / "data").windows("small") == ["2026-03-02"]
    airflow(home / "bin/airflow", "dags", "test", "odanon-by-hand", "--conf", '{"day": "2026-03-03"}')
    assert EmbeddedStore(tmp_path / "data").windows("by-hand") == ["2026-03-03"]
