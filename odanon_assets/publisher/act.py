"""Publishing a day: build the bundle from the files of the day, verify, audit and write it, all under the locks.

The process that does this runs no code of other packages (`odanon_assets.publisher.__main__`), a store's apart.
"""

from contextlib import nullcontext, suppress
from datetime import date
from pathlib import Path
from typing import Any

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.report.release import render_release
from odanon_assets.derived.folders import Derived
from odanon_assets.gate.decision import let_pass
from odanon_assets.gate.evidence import confirm
from odanon_assets.gate.facts import release_facts
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.trials import write_judged
from odanon_assets.publisher.bundle import make_bundle
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.interface import Act, Store, data_locks, day_locks

_JUDGED = "passed in a trial"  # the verdicts, as the report of a trial tells them


class _JudgedError(Exception):
    """A trial has heard the gate's yes: raised where the store would begin to write."""


def publish_day(product: Product, lake: Lake, day: date, store: Store, act: Act | None = None) -> dict[str, Any]:
    """Refuse what the verifier or the auditor refuses, whoever launched this; else publish the day's release.

    The day is held while its bundle is built from the tables, verified and written, so that what is verified is what is
    published (PRIVACY rule 17); the store holds the window's lock meanwhile and nobody else can publish anything of the
    same data and time. An `act` replaces a release that the window already shows, and withdraws what was made from it.

    A trial goes the same way until the gate has spoken, and leaves with its answer.
    """
    if product.status == "trial" and not lake.trial:
        raise OdanonError(
            f"{product.product} is on trial and publishes nothing; to go live write status: live in its file"
        )
    derived = Derived(lake.root)

    def gate() -> None:
        let_pass(product, lake, day, store, bundle)
        if lake.trial:
            raise _JudgedError
        if act is not None:
            derived.withdraw(product.product, day)

    with lake.holding(product.product, day), lake.locked(_locks(release_facts(product, lake, day))):
        bundle = make_bundle(product, lake, day)
        fresh = True
        with suppress(_JudgedError), nullcontext() if act is None else derived.locked():
            fresh = store.publish(bundle, gate, act)
        if not lake.trial:
            confirm(lake, bundle.manifest)
    with lake.new(product.product, "published", day) as receipt:
        figures = {
            "release_id": bundle.release_id,
            "fresh": fresh,
            "flows": len(bundle.flows),
            "zones": len(bundle.zones),
            **bundle.manifest["input_counts"],
        }
        if lake.trial:
            figures |= _write_trial(receipt, bundle, fresh=fresh)
        elif (folder := store.window_folder(product.product, day)) is not None:
            figures["folder"] = str(folder)
        return write_figures(receipt, figures)


def _write_trial(folder: Path, bundle: Bundle, *, fresh: bool) -> dict[str, Any]:
    """What a trial leaves for its owner to look at."""
    told = {**bundle.manifest, "verifier": _JUDGED, "auditor": _JUDGED, "trial": True}
    return write_judged(folder, told, render_release(bundle.flows, bundle.zones, told), fresh=fresh)


def _locks(facts: dict[str, Any]) -> list[str]:
    """Those of all releases that may share input: of the same time in this lake, of the same data anywhere."""
    return [*day_locks(facts), *data_locks(facts)]
