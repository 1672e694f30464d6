"""When the platform asks for a month: all days that the product makes of it are published, and not before."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetKey, AssetMaterialization, DagsterInstance, evaluate_automation_conditions
from product_example import small_product

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.product.windows import has_matrix
from odanon_assets.platform.build import build_definitions
from odanon_assets.platform.launch import days_between, run_days
from odanon_assets.platform.partitions import daily

MARCH = days_between(date(2026, 3, 2), date(2026, 3, 31))
WORKING: dict[str, Any] = {
    "od": {"bin": "12h", "days": "working"},
    "calendar": {"weekend": ["friday", "saturday"], "holidays": ["2026-03-02", "2026-03-31"]},
}


def asked(product: Product, days: list[date], asset: str = "monthly") -> set[str]:
    """The months that are asked for when the last of these days is published."""
    definitions = build_definitions([product])
    instance = DagsterInstance.ephemeral()
    published, monthly = AssetKey(["small", "published"]), AssetKey(["small", asset])
    for day in days[:-1]:
        instance.report_runless_asset_event(AssetMaterialization(published, partition=str(day)))
    first = evaluate_automation_conditions(definitions, instance)
    assert first.get_requested_partitions(monthly) == set()
    instance.report_runless_asset_event(AssetMaterialization(published, partition=str(days[-1])))
    second = evaluate_automation_conditions(definitions, instance, cursor=first.cursor)
    return second.get_requested_partitions(monthly)


@pytest.mark.parametrize("changes", [{}, WORKING])
def test_a_month_is_asked_for_with_its_last_day(workspace: Path, changes: dict[str, Any]) -> None:
    product = small_product(workspace, **changes)
    days = [day for day in MARCH if has_matrix(product, day)]
    assert asked(product, days) == {"2026-03-01"}
    assert asked(product, days[:-1]) == set()


def test_days_without_a_matrix_are_no_partitions(workspace: Path) -> None:
    product = small_product(workspace, **WORKING)
    keys = daily(product).get_partition_keys()
    assert [key for key in keys if key <= "2026-03-31"] == [str(day) for day in MARCH if has_matrix(product, day)]


def test_a_day_off_is_refused_in_a_sentence(workspace: Path) -> None:
    product = small_product(workspace, **WORKING)
    with pytest.raises(OdanonError, match="calendar says they are days off"):
        list(run_days(product, [date(2026, 3, 6)], resume=False))


def test_travellers_are_asked_for_with_the_last_day_of_a_month(workspace: Path) -> None:
    product = small_product(workspace, demand="town.yaml")
    assert asked(product, MARCH, "demand_metrics") == {"2026-03-01"}
    assert asked(product, MARCH[:-1], "demand_agents") == set()
