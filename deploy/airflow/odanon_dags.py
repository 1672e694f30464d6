"""Airflow DAGs of all product files: copy this file and odanon_plan.py into the DAG folder. docs/airflow.md explains them.

A DAG is a product, a run one or more days, its one task `odanon run`. It starts by the product's own schedule and by events
of the asset odanon://source/PRODUCT; it updates the asset odanon://published/PRODUCT.
"""

import logging
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Asset, AssetOrTimeSchedule, CronTriggerTimetable, Param

sys.path.append(str(Path(__file__).parent))  # not every command of Airflow looks for modules in the DAG folder
from odanon_plan import NOTHING_TO_DO, Plan, command, days_to_run, read_plan


def product_dag(plan: Plan) -> DAG:
    """The DAG of one product."""
    source, published = Asset(plan.source), Asset(plan.published)
    schedule: Any = [source] if plan.live else None
    if plan.live and plan.cron is not None:
        schedule = AssetOrTimeSchedule(timetable=CronTriggerTimetable(plan.cron, timezone=plan.timezone), assets=source)

    def odanon_command(dag_run: Any, params: Any, events: Any) -> str:
        told = [event.extra for found in (events or {}).values() for event in found]
        return command(plan, days_to_run(plan, dag_run.logical_date or dag_run.run_after, params["day"], told))

    with DAG(
        dag_id=f"odanon-{plan.product}",
        description=plan.title,
        schedule=schedule,
        start_date=plan.first_run,
        catchup=False,
        max_active_runs=1,
        default_args={"owner": plan.owner},
        params={
            "day": Param(None, type=["null", "string"], format="date", description="the day to run; none: the one due")
        },
        tags=["odanon"],
        user_defined_macros={"odanon_command": odanon_command},
    ) as dag:
        BashOperator(
            task_id="publish",
            bash_command="{{ odanon_command(dag_run, params, triggering_asset_events) }}",
            append_env=True,
            skip_on_exit_code=NOTHING_TO_DO,
            outlets=[published] if plan.live else [],
            retries=1,
            retry_delay=timedelta(minutes=10),
        )
    return dag


for _path in sorted(Path(os.environ.get("ODANON_PRODUCTS", "/etc/odanon/products")).glob("*.y*ml")):
    try:
        _dag = product_dag(read_plan(_path))
    except (KeyError, TypeError, ValueError) as error:  # one bad file stops no other product
        logging.getLogger("airflow.odanon").error("%s makes no DAG (%s); `odanon check` says why", _path, error)
        continue
    globals()[_dag.dag_id.replace("-", "_")] = _dag
