"""A day made again from its source as it is now, beside what its window shows: what would change, and whether it may.

Nothing of it is kept until it takes the place of what was wrong.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.chain.stages import STAGES
from odanon_assets.checks.catalogue import OF_THE_GATE, checks_of
from odanon_assets.checks.delivery import incomplete
from odanon_assets.gate.decision import objections
from odanon_assets.lake.files import link
from odanon_assets.lake.lake import NAMES_KEY, Lake
from odanon_assets.publisher.bundle import make_bundle
from odanon_assets.publisher.process import publish_fresh
from odanon_assets.stores.interface import Act, Store
from odanon_assets.watch.quiet import quiet

_BEFORE_PUBLICATION = STAGES[:-1]
_TRACES = STAGES[0].name


@dataclass(frozen=True)
class Correction:
    """What would take the place of what a window shows; `refusal` says why it may not, and is empty where it may."""

    product: Product
    lake: Lake  # where the tables of the day belong
    day: date
    beside: Lake  # where those of this correction are
    manifest: dict[str, Any]
    refusal: str

    @property
    def release_id(self) -> str:
        return self.manifest["release_id"]

    def publish(self, act: Act) -> None:
        """Put the tables in their place and publish them; the gate is asked once more.

        Traces come last: until the release is visible, the source counts as changed since the day was published.
        """
        self._take_over(stage.name for stage in _BEFORE_PUBLICATION[1:])
        publish_fresh(self.product, self.lake, self.day, act)
        self._take_over([_TRACES])

    def finish(self) -> bool:
        """Do what an act that was cut off after the release was visible left undone; whether there was one.

        The store is asked once more, since it may not have put away what was replaced.
        """
        where = self.product.product, _TRACES, self.day
        if not self.lake.folder(*where).is_dir() or self.lake.figures(*where) == self.beside.figures(*where):
            return False
        publish_fresh(self.product, self.lake, self.day)
        self._take_over([_TRACES])
        return True

    def _take_over(self, stages: Iterable[str]) -> None:
        for stage in stages:
            made = self.beside.read(self.product.product, stage, self.day)
            with self.lake.new(self.product.product, stage, self.day) as draft:
                for path in made.iterdir():
                    link(path, draft / path.name)


@contextmanager
def correction(product: Product, lake: Lake, day: date, store: Store) -> Iterator[Correction]:
    """Run the stages of a day beside its tables and ask the gate what it would say; call it while the day is held."""
    if why := incomplete(product, lake, day):
        raise OdanonError(f"{product.product} {day} stays as it is: the day is not complete: {why}; wait for the rest")
    with lake.scratch() as folder:
        beside = _beside(lake, folder)
        _run(product, beside, day)
        with quiet():
            bundle = make_bundle(product, beside, day)
            findings = objections(product, beside, day, store, bundle)
        yield Correction(product, lake, day, beside, bundle.manifest, "; ".join(map(str, findings)))


def _beside(lake: Lake, folder: Path) -> Lake:
    """A lake of its own that knows the keys of this one, so that people have the same pseudonyms, and its evidence."""
    evidence = [path.relative_to(lake.root) for path in lake.root.glob("work/*/released")]
    for shared in (Path("keys"), NAMES_KEY, *evidence):
        (folder / shared).parent.mkdir(parents=True, exist_ok=True)
        (folder / shared).symlink_to(lake.root / shared)
    return Lake(folder)


def _run(product: Product, lake: Lake, day: date) -> None:
    """Every stage before publication with the checks that can stop a day."""
    blocking = [check for check in checks_of(product) if check.blocking and check.name not in OF_THE_GATE]
    for stage in _BEFORE_PUBLICATION:
        with quiet():
            stage.run(product, lake, day, **{name: getattr(product, name).instance for name in stage.plugins})
            verdicts = [(check.name, check.run(product, lake, day)) for check in blocking if check.stage == stage.name]
        for name, verdict in verdicts:
            if not verdict.passed:
                raise OdanonError(f"{product.product} {day}: check {name} failed: {verdict.sentence}")
