"""Publishing a day: build the bundle from the files of the day, verify, audit and write it, all under the locks.

The process that does this runs no code of other packages (`odanon_assets.publisher.__main__`), a store's apart.
"""

from contextlib import nullcontext
from datetime import date
from typing import Any

from odanon.product import Product
from odanon_assets.derived.folders import Derived
from odanon_assets.gate.decision import let_pass
from odanon_assets.gate.evidence import confirm
from odanon_assets.gate.facts import release_facts
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.publisher.bundle import make_bundle
from odanon_assets.stores.interface import Act, Store, data_locks, day_locks


def publish_day(product: Product, lake: Lake, day: date, store: Store, act: Act | None = None) -> dict[str, Any]:
    """Refuse what the verifier or the auditor refuses, whoever launched this; else publish the day's release.

    The day is held while its bundle is built from the tables, verified and written, so that what is verified is what is
    published (PRIVACY rule 17); the store holds the window's lock meanwhile and nobody else can publish anything of the
    same data and time. An `act` replaces a release that the window already shows, and withdraws what was made from it.
    """
    derived = Derived(lake.root)

    def gate() -> None:
        let_pass(product, lake, day, store, bundle)
        if act is not None:
            derived.withdraw(product.product, day)

    with lake.holding(product.product, day), lake.locked(_locks(release_facts(product, lake, day))):
        bundle = make_bundle(product, lake, day)
        with nullcontext() if act is None else derived.locked():
            fresh = store.publish(bundle, gate, act)
        confirm(lake, bundle.manifest)
    with lake.new(product.product, "published", day) as receipt:
        figures = {
            "release_id": bundle.release_id,
            "fresh": fresh,
            "flows": len(bundle.flows),
            "zones": len(bundle.zones),
            **bundle.manifest["input_counts"],
        }
        if (folder := store.window_folder(product.product, day)) is not None:
            figures["folder"] = str(folder)
        return write_figures(receipt, figures)


def _locks(facts: dict[str, Any]) -> list[str]:
    """Those of all releases that may share input: of the same time in this lake, of the same data anywhere."""
    return [*day_locks(facts), *data_locks(facts)]
