"""Trials as people see them, in the terminal and in the Dagster UI: never as something published."""

from datetime import timedelta
from pathlib import Path

from dagster import DagsterEventType, DagsterInstance, DagsterRunStatus
from gate_town import DAY, town
from typer.testing import CliRunner

from odanon import cli
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.places import default_root
from odanon_assets.lake.trials import outcomes
from odanon_assets.platform.build import build_definitions
from odanon_assets.platform.partitions import asset_key
from odanon_assets.platform.prometheus import failed_days
from odanon_assets.platform.recovery import TRIAL_TAG
from odanon_assets.stores.choice import open_store


def test_the_terminal_says_what_publication_would_have_said_and_how_to_go_live(town_folder: Path) -> None:
    product = town(town_folder, file_in=town_folder / "pipelines", status="trial")
    for week in (1, 2):
        with Lake(default_root(), trial=True).new("town", "traces", DAY - timedelta(weeks=week)) as past:
            write_figures(past, {"points": 500})
    ran = CliRunner().invoke(cli.main, ["run", "town"])
    assert ran.exit_code == 0, ran.output
    outcome = outcomes(default_root(), "town")[DAY]
    assert f"✓ {DAY}  trial: would be published as {outcome.release_id}" in ran.output
    assert "A small town — a trial, nothing is published; 2026-03-02 would be" in ran.output
    assert "every flow holds at least 10 distinct persons" in ran.output
    assert f"{outcome.report} (restricted)" in ran.output
    assert "write status: live in its file to publish" in ran.output
    assert (
        f"{DAY} traces volume: points lies more than 50% below the median"
        in ran.output[ran.output.index("Checks warn:") :]
    )
    assert open_store(product).windows("town") == []


def test_dagster_keeps_a_trial_as_observations_and_no_partition_turns_green_or_red(town_folder: Path) -> None:
    product = town(town_folder)
    job = build_definitions([product]).resolve_job_def("town")
    asked = {"ops": {"town_day": {"config": {"trial": True}}}}
    with DagsterInstance.get() as instance:
        result = job.execute_in_process(partition_key=str(DAY), instance=instance, run_config=asked)
        run = instance.get_run_by_id(result.run_id)
        assert run is not None
        assert run.status == DagsterRunStatus.SUCCESS
        assert run.tags[TRIAL_TAG] == "true"
        kinds = {entry.dagster_event_type for entry in instance.all_logs(run.run_id)}
        assert not kinds & {DagsterEventType.ASSET_MATERIALIZATION, DagsterEventType.ASSET_CHECK_EVALUATION}
        (told,) = instance.fetch_observations(asset_key(product, "published"), limit=5).records
        assert failed_days(product, instance) == []
    observation = told.asset_observation
    assert observation is not None
    assert observation.partition == str(DAY)
    assert str(observation.description).startswith("Trial: would be published as town-20260302-")
    assert observation.metadata["published"].value == "no (trial)"
    assert observation.metadata["checks"].value["anonymized verifier"] == "every flow keeps its promise"
    assert Path(observation.metadata["report"].value).is_file()
    assert open_store(product).windows("town") == []


def test_the_platform_calls_a_product_on_trial_so(workspace: Path) -> None:
    product = town(workspace, status="trial", schedule={})
    definitions = build_definitions([product])
    spec = definitions.resolve_asset_graph().get(asset_key(product, "published"))
    assert "On trial: runs publish nothing" in str(spec.description)
    assert spec.tags["status"] == "trial"
    assert spec.freshness_policy is None
    assert (
        definitions.resolve_schedule_def("town_daily").description
        == "Tries, and does not publish, the day 1 days back."
    )
