"""The gate in front of publication: whether a day may be published, and the sentence that refuses it."""

from datetime import date

from odanon.errors import OdanonError
from odanon.gate.verifier import Finding, added_up
from odanon.model.promise import Promise
from odanon.product import Product
from odanon_assets.gate.auditing import audit_day
from odanon_assets.gate.bundles import unlike_tables
from odanon_assets.gate.evidence import SEGMENTS, drop_unpublished, keep
from odanon_assets.gate.facts import other_origin
from odanon_assets.gate.verification import verify_day
from odanon_assets.lake.lake import Lake
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.interface import Store, window_of


def let_pass(product: Product, lake: Lake, day: date, store: Store, bundle: Bundle) -> None:
    """Let a day's release pass and keep what the auditor will need of it; what must not be published is refused.

    Of a trial nothing is kept, since no later release may be held against what was never published.

    Call it while the day is held. The tables are verified and audited, and the bundle must show them and nothing else.
    The sentence that refuses names the rules, and the other release where there is one.
    """
    shared = store.sharing(product.product, bundle.manifest["data_sha256"], *window_of(bundle.manifest))
    drop_unpublished(lake, product.product, day, store, {other["release_id"] for other in shared})
    findings = (
        promise_kept(product, lake, day)
        or other_origin(product, lake, day)
        or verify_day(product, lake, day)
        or unlike_tables(product, lake, day, bundle)
        or audit_day(product, lake, day, store)
    )
    if findings:
        raise OdanonError(
            f"{product.product} {day} is not published: {'; '.join(map(str, findings))};"
            " the earlier release, if any, stays"
        )
    if not lake.trial:
        keep(product, lake, day, store, bundle.manifest)


def promise_kept(product: Product, lake: Lake, day: date) -> list[Finding]:
    """Whether a day's tables were made for the product as its file is now: as strict a promise, the same segments."""
    made = Promise.of(lake.figures(product.product, "anonymized", day)["parameters"])
    weaker = made.weaker_than(product.anonymize.promise)
    split = (lake.read(product.product, "anonymized", day) / SEGMENTS).is_file()
    return added_up(
        [
            Finding(
                "promise", len(weaker), f"tables made with a weaker {', '.join(weaker)} than the product's file says"
            ),
            Finding(
                "segments", int(split != bool(product.segmented)), "tables made with other segments than the file's"
            ),
        ]
    )
