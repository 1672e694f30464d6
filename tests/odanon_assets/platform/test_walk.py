"""The operator's day, walked from the first trial to a withdrawal: on a real `dagster dev`, and by commands; on both stores.

A trial, going live, half a delivery that waits, the rest, a corrupt file, a correction, a withdrawal. After every step
`odanon status` and `odanon prometheus` are asked. Pictures of the UI go to ODANON_PICTURES, or nowhere that lasts.
"""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import gate_town as gate
import pandas as pd
import pytest
from dagster import AssetKey
from dagster._core.storage.tags import PARTITION_NAME_TAG
from dagster_dev import Platform
from repository import REPOSITORY
from typer.testing import CliRunner

from odanon import cli
from odanon.product import Product
from odanon_assets.platform.launch import open_instance
from odanon_assets.platform.recovery import TRIAL_TAG, WITHDRAWN_TAG
from odanon_assets.stores.choice import open_store

pytestmark = pytest.mark.skipif(
    not os.environ.get("ODANON_STRESS"), reason="minutes on a real platform: set ODANON_STRESS=1"
)
PEOPLE, FEWEST = 250, 150
WHO = ("--by", "Ada", "--reason", "an operator was missing")
UNIFORM = {"plugin": "uniform", "k": 10, "level": 6, "suppression": 0.5}
PATIENCE_S = 900  # a busy machine takes its time
FINISHED = ("SUCCESS", "FAILURE", "CANCELED")


def called(*words: str) -> str:
    result = CliRunner().invoke(cli.main, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*words: str) -> str:
    result = CliRunner().invoke(cli.main, list(words))
    assert result.exit_code != 0, result.output
    return f"{result.output}{result.exception}"


@dataclass(frozen=True)
class Town:
    """A product over OD tables that are delivered day by day with a note that says when they are whole."""

    folder: Path
    publish: dict[str, str]
    days: list[date]

    def product(self, status: str) -> Product:
        return gate.town(
            self.folder,
            status=status,
            start=str(self.days[0]),
            publish=self.publish,
            anonymize=UNIFORM,
            schedule={"cron": "0 4 * * *", "lag": "2d", "on_arrival": True, "look_back": "4d"},
            arrival={"marker": "{date}.done", "min_rows": FEWEST},
        )

    def deliver(self, day: date, people: int = PEOPLE, more: int = 0) -> None:
        """A table that appears in one step, as a careful sender does it."""
        rows, others = gate.people(people, day=day), gate.people(max(more, 1), day=day, seed=5)
        rows = pd.concat([rows, others.assign(person="new " + others["person"])]) if more else rows
        draft = self.folder / f".{day}.draft"
        rows.to_parquet(draft, index=False)
        draft.rename(self.folder / f"{day}.parquet")

    def done(self, day: date) -> None:
        (self.folder / f"{day}.done").touch()

    def stands(self, day: date) -> tuple[str, str]:
        """How `odanon status` says that a day stands, and why."""
        (found,) = (each for each in json.loads(called("status", "town", "--json")) if each["day"] == str(day))
        return found["state"], found["why"] or found["trial"] or ""


class Operator(Protocol):
    """How somebody has days run."""

    halves: str  # how a day stands of which too little was read

    def reload(self) -> None: ...

    def waits(self, day: date, why: str) -> None: ...

    def run(self, day: date, *, well: bool = True) -> None: ...

    def seen(self, name: str, day: date, made: int, failed: int) -> None: ...


class ByCommand:
    """A person at a terminal."""

    halves = "failed"

    def reload(self) -> None:
        return

    def waits(self, day: date, why: str) -> None:
        assert f"the day is not complete: {why}" in refused("run", "town", "--date", str(day))

    def run(self, day: date, *, well: bool = True) -> None:
        (called if well else refused)("run", "town", "--date", str(day))

    def seen(self, name: str, day: date, made: int, failed: int) -> None:
        return


class ByPlatform:
    """Nobody: sensors ask for the days, and people look at the UI."""

    halves = "waiting"

    def __init__(self, workspace: Path, pictures: Path) -> None:
        self.platform, self.pictures = Platform(workspace), pictures
        self.known: set[str] = set()

    def reload(self) -> None:
        self.platform.reload()

    def waits(self, day: date, why: str) -> None:
        def told() -> bool:
            ticks = self.platform.ticks("sensor", "town_arrival")
            return any(f"{day}: {why}" in (tick["skipReason"] or "") for tick in ticks)

        self.platform.until(told, f"a tick that says that {day} waits", PATIENCE_S)

    def run(self, day: date, *, well: bool = True) -> None:
        """Wait for the run that the sensor asks for."""

        def ended() -> dict[str, str]:
            runs = {
                run: status
                for run, (status, tags) in self.platform.runs().items()
                if run not in self.known and tags.get(PARTITION_NAME_TAG) == str(day)
            }
            return runs if runs and all(status in FINISHED for status in runs.values()) else {}

        found = self.platform.until(ended, f"a run of {day}", PATIENCE_S)
        self.known |= found.keys()
        well = well or self.stopped_well(day)
        assert set(found.values()) == {"SUCCESS" if well else "FAILURE"}

    def stopped_well(self, day: date) -> bool:
        """Too little of a day fails no run that a tick asked for."""
        state = next(
            each["state"] for each in json.loads(called("status", "town", "--json")) if each["day"] == str(day)
        )
        return bool(state == self.halves)

    def seen(self, name: str, day: date, made: int, failed: int) -> None:
        """What the UI counts, and a picture of a day in it."""
        self.platform.until(
            lambda: self.platform.days("town") == (made, failed), f"{name}: {made} made, {failed} failed", PATIENCE_S
        )
        page = f"/assets/town/published?view=partitions&partition={day}"
        self.platform.picture(page, self.pictures / f"{name}.png", "Latest materialization")


@pytest.fixture(params=["platform", "commands"])
def operator(
    request: pytest.FixtureRequest, workspace: Path, publish: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Operator]:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ODANON_PUBLISHED_URL", "https://maps.example/published")
    if request.param == "commands":
        yield ByCommand()
        return
    (workspace / "dagster" / "dagster.yaml").symlink_to(REPOSITORY / "dagster.yaml")
    pictures = Path(os.environ.get("ODANON_PICTURES", workspace)) / f"pictures-{publish['store']}"
    pictures.mkdir(parents=True, exist_ok=True)
    made: ByPlatform | None = None
    # The product's file must be there when the platform starts.
    town_of(workspace, publish).product("trial")
    try:
        made = ByPlatform(workspace, pictures)
        yield made
    finally:
        if made is not None:
            made.platform.stop(signal.SIGTERM)


def town_of(workspace: Path, publish: dict[str, str]) -> Town:
    today = datetime.now(UTC).date()
    return Town(workspace, publish, [today - timedelta(days=back) for back in (3, 2, 1)])


def figures() -> dict[str, float]:
    """What `odanon prometheus` says of days, and of the gate's checks."""
    lines = [line.rsplit(" ", 1) for line in called("prometheus").splitlines() if line.startswith("odanon_")]
    names = ("published", "failed", "withdrawn")
    found = {name: value for name in names for key, value in lines if key.startswith(f"odanon_{name}_days")}
    gate_checks = [value for key, value in lines if 'check="verifier"' in key or 'check="auditor"' in key]
    assert set(gate_checks) <= {"1"}  # no failure of this walk is theirs
    return {name: float(value) for name, value in found.items()}


def counted(published: int, failed: int, withdrawn: int) -> dict[str, float]:
    return {"published": published, "failed": failed, "withdrawn": withdrawn}


def latest(day: date) -> dict[str, Any]:
    """What Dagster shows of the last publication of a day."""
    with open_instance() as instance:
        event = instance.get_latest_materialization_event(AssetKey(["town", "published"]))
    assert event is not None
    made = event.asset_materialization
    assert made is not None
    assert made.partition == str(day)
    return {name: value.value for name, value in made.metadata.items()}


def test_the_operators_day(operator: Operator, workspace: Path, publish: dict[str, str]) -> None:
    town = town_of(workspace, publish)
    first, second, third = town.days
    store = open_store(town.product("trial"))
    town.deliver(first)
    town.done(first)
    operator.run(first)
    assert town.stands(first)[0] == "trial"
    assert town.stands(first)[1].startswith("would be published as town-")
    assert store.ledger().empty
    assert store.audit_log().empty
    assert figures() == counted(0, 0, 0)
    operator.seen("1-trial", first, 0, 0)

    town.product("live")
    operator.reload()
    operator.run(first)
    assert town.stands(first)[0] == "published"
    assert figures() == counted(1, 0, 0)
    operator.seen("2-live", first, 1, 0)
    assert latest(first)["report"].startswith("https://maps.example/published/town/")

    town.deliver(second, people=PEOPLE // 2)
    operator.waits(second, f"there is no {second}.done beside the files of {second}")
    assert town.stands(second)[0] == ("failed" if isinstance(operator, ByCommand) else "waiting")
    town.done(second)
    operator.run(second, well=False)
    state, why = town.stands(second)
    assert state == operator.halves
    assert f"{second} has fewer rows than arrival.min_rows = {FEWEST}" in why
    assert store.windows("town") == [str(first)]
    assert figures() == counted(1, int(operator.halves == "failed"), 0)
    operator.seen("3-half", second, 1, 0)

    town.deliver(second)
    operator.run(second)
    assert town.stands(second)[0] == "published"
    assert figures() == counted(2, 0, 0)
    operator.seen("4-rest", second, 2, 0)

    (workspace / f"{third}.parquet").write_bytes(b"PAR1 and then nothing")
    town.done(third)
    operator.run(third, well=False)
    state, why = town.stands(third)
    assert state == "failed"
    assert "truncated, damaged" in why
    assert figures() == counted(2, 1, 0)
    operator.seen("5-corrupt", third, 2, 1)

    before = store.released("town", second)
    town.deliver(second, more=PEOPLE)
    shown = refused("supersede", "town", "--date", str(second))
    assert "the auditor says yes" in shown
    assert "to replace it give --by and --reason" in shown
    assert store.released("town", second) == before
    assert "shows town-" in called("supersede", "town", "--date", str(second), *WHO)
    assert store.released("town", second) != before
    assert latest(second)["release_id"] == store.released("town", second)
    assert figures() == counted(2, 1, 0)
    operator.seen("6-correction", second, 2, 1)

    assert "is withdrawn" in called("withdraw", "town", "--date", str(first), *WHO)
    assert town.stands(first)[0] == "withdrawn"
    assert store.windows("town") == [str(second)]
    assert set(store.query("select window_start from flows")["window_start"].astype(str)) == {str(second)}
    assert figures() == counted(1, 1, 1)
    operator.seen("7-withdrawal", first, 1, 2)
    told = called("status", "town")
    assert f"{first}  withdrawn" in told
    with open_instance() as instance:
        runs = [run.tags for run in instance.get_runs()]
    assert sum(WITHDRAWN_TAG in tags for tags in runs) == 1
    assert any(TRIAL_TAG in tags for tags in runs)
