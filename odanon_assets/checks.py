"""Asset checks: what the gate sees, made visible and blocking inside a run."""

import warnings
from datetime import date

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    AssetKey,
    PreviewWarning,
    asset_check,
)

from odanon.product import Product
from odanon_assets.lake import Lake, default_root
from odanon_assets.partitions import daily


def product_checks(product: Product) -> list[AssetChecksDefinition]:
    """The checks of a product."""
    with warnings.catch_warnings():
        # Partitioned checks are marked as a preview; without them every stored day would be checked at once.
        warnings.simplefilter("ignore", PreviewWarning)
        return [_verifier_check(product)]


def _verifier_check(product: Product) -> AssetChecksDefinition:
    @asset_check(
        asset=AssetKey([product.slug, "anonymized"]),
        name="verifier",
        blocking=True,
        partitions_def=daily(product),
        description="Counts the people behind every flow again, from the rows before anonymisation, and checks that "
        "flows are disjoint and volumes add up. Shares no code with the anonymisers.",
    )
    def verifier(context: AssetCheckExecutionContext) -> AssetCheckResult:
        from odanon_assets.gate import verify_day

        lake = Lake(default_root())
        findings = [
            finding
            for key in sorted(context.partition_keys)
            for finding in verify_day(product, lake, date.fromisoformat(key))
        ]
        return AssetCheckResult(
            passed=not findings,
            severity=AssetCheckSeverity.ERROR,
            metadata={finding.rule: finding.count for finding in findings},
            description="; ".join(map(str, findings)) or "every flow keeps its promise",
        )

    return verifier
