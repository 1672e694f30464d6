"""A day made again from its source as it is now, beside what its window shows: what would change, and whether it may.

Nothing of it is kept until it takes the place of what was wrong.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.product.windows import is_longer, matrix_days
from odanon_assets.chain.stages import Stage, day_stages, stages_of, window_stages
from odanon_assets.checks.catalogue import OF_THE_GATE, checks_of
from odanon_assets.checks.delivery import incomplete
from odanon_assets.gate.decision import objections
from odanon_assets.lake.files import link
from odanon_assets.lake.lake import NAMES_KEY, Lake
from odanon_assets.lake.places import DAY_STAGES
from odanon_assets.publisher.bundle import make_bundle
from odanon_assets.publisher.process import publish_fresh
from odanon_assets.stores.interface import Act, Store
from odanon_assets.watch.quiet import quiet

_TRACES = "traces"


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
        parts = list(_parts(self.product, self.beside, self.day))
        self._take_over(part for part in parts if part[0] != _TRACES)
        publish_fresh(self.product, self.lake, self.day, act)
        self._take_over(part for part in parts if part[0] == _TRACES)

    def finish(self) -> bool:
        """Do what an act that was cut off after the release was visible left undone; whether there was one.

        The store is asked once more, since it may not have put away what was replaced.
        """
        name = self.product.product
        read = [part for part in _parts(self.product, self.beside, self.day) if part[0] == _TRACES]
        kept = [part for part in read if self.lake.folder(name, *part).is_dir()]
        other = [part for part in kept if self.lake.figures(name, *part) != self.beside.figures(name, *part)]
        if not other:
            return False
        publish_fresh(self.product, self.lake, self.day)
        self._take_over(other)
        return True

    def _take_over(self, parts: Iterable[tuple[str, date]]) -> None:
        for stage, day in parts:
            made = self.beside.read(self.product.product, stage, day)
            with self.lake.new(self.product.product, stage, day) as draft:
                for path in made.iterdir():
                    link(path, draft / path.name)


def _parts(product: Product, lake: Lake, window: date) -> Iterator[tuple[str, date]]:
    """The tables behind what a window publishes: the stage of each, and its day or the window."""
    made = lake.days_of(product.product, window) if is_longer(product) else []
    for stage in stages_of(product)[:-1]:
        of_days = is_longer(product) and stage.name in DAY_STAGES
        yield from ((stage.name, day) for day in (made if of_days else [window]))


@contextmanager
def correction(product: Product, lake: Lake, day: date, store: Store) -> Iterator[Correction]:
    """Run the stages of a day beside its tables and ask the gate what it would say; call it while the day is held.

    Of a longer window all days are run again; those that cannot be are missing in it, which its product's file may not allow.
    """
    if not is_longer(product) and (why := incomplete(product, lake, day)):
        raise OdanonError(f"{product.product} {day} stays as it is: the day is not complete: {why}; wait for the rest")
    with lake.scratch() as folder:
        beside = _beside(lake, folder)
        if is_longer(product):
            _run_days(product, lake, beside, matrix_days(product, day))
        _run(product, beside, day, window_stages(product) or stages_of(product))
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


def _run_days(product: Product, lake: Lake, beside: Lake, days: Iterable[date]) -> None:
    """The stages of the days of a longer window, without the days that cannot be made."""
    for day in days:
        with suppress(OdanonError):
            if not incomplete(product, lake, day):
                _run(product, beside, day, day_stages(product))


def _run(product: Product, lake: Lake, day: date, chain: tuple[Stage, ...]) -> None:
    """Every stage of a chain before publication with the checks that can stop a day."""
    blocking = [check for check in checks_of(product) if check.blocking and check.name not in OF_THE_GATE]
    for stage in (stage for stage in chain if stage.name != "published"):
        with quiet():
            stage.run(product, lake, day, **{name: getattr(product, name).instance for name in stage.plugins})
            verdicts = [(check.name, check.run(product, lake, day)) for check in blocking if check.stage == stage.name]
        for name, verdict in verdicts:
            if not verdict.passed:
                raise OdanonError(f"{product.product} {day}: check {name} failed: {verdict.sentence}")
