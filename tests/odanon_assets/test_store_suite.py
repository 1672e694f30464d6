"""The suite of stores: both of ours conform, and planted faults are caught."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.testing import accept, check_store


def test_our_stores_conform(store: Store) -> None:
    check_store(store)


@dataclass(frozen=True)
class Faulty:
    """The embedded store with a planted fault."""

    inner: Any
    fault: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def publish(self, bundle: Any, gate: Any, act: Any = None) -> bool:
        fresh = self.inner.publish(bundle, accept if self.fault == "gate" else gate, act)
        return True if self.fault == "always new" else fresh

    def purge(self, product: str, window_start: Any, act: Any) -> bool:
        return True if self.fault == "purge" else self.inner.purge(product, window_start, act)

    def withdraw(self, product: str, window_start: Any, act: Any) -> bool:
        return True if self.fault == "withdraw" else self.inner.withdraw(product, window_start, act)

    def report(self, release_id: str) -> str:
        return self.inner.report(release_id) + (" " if self.fault == "report" else "")


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("gate", "what the gate refuses is published"),
        ("always new", "the same release twice"),
        ("purge", "a purged window still shows a release"),
        ("withdraw", "a withdrawn window still shows a release"),
        ("report", "the report comes back changed"),
    ],
)
def test_a_bad_store_is_caught(tmp_path: Path, fault: str, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_store(Faulty(EmbeddedStore(tmp_path), fault))
