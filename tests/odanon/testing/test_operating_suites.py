"""The suites of engines and notifiers: ours conform, and planted faults are caught."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from odanon.api import Alert, parameter, plugin
from odanon.engines.local import Local
from odanon.notify.email import Email
from odanon.notify.log import Log
from odanon.notify.webhook import Webhook
from odanon.testing import check_engine, check_notifier


@pytest.mark.parametrize("engine", [Local(), Local(buckets=3, workers=2), Local(buckets=1)])
def test_the_local_engine_conforms(engine: Local) -> None:
    check_engine(engine)


@plugin
class Careless:
    """An engine with a planted fault."""

    buckets: int = parameter(3, "parts", ge=1)
    fault: str = parameter("", "which one")

    def map(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        found = list(items)
        if self.fault == "order":
            return map(task, found[::-1])
        if self.fault != "swallows":
            return map(task, found)
        try:
            return iter([task(item) for item in found])
        except Exception:
            return iter([])

    def shuffle(self, parts: list[Any], read: Any, prepare: Any, folder: Path) -> tuple[list[Any], list[Any]]:
        wanted = parts[:1] if self.fault == "loses" else parts
        buckets = self.buckets + 1 if self.fault == "buckets" else self.buckets
        return Local(buckets=buckets, workers=1).shuffle(wanted, read, prepare, folder)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("order", "in the order of the items"),
        ("swallows", "swallows the error of a task"),
        ("loses", "loses the tally of a batch"),
        ("buckets", "are not those of the engine local"),
    ],
)
def test_a_bad_engine_is_caught(fault: str, sentence: str) -> None:
    check_engine(Careless())
    with pytest.raises(AssertionError, match=sentence):
        check_engine(Careless(fault=fault))


def test_notifiers_conform(monkeypatch: pytest.MonkeyPatch) -> None:
    check_notifier(Log())
    monkeypatch.delenv("ODANON_SMTP_URL", raising=False)
    monkeypatch.setenv("ODANON_WEBHOOK_URL", "http://127.0.0.1:9/")
    check_notifier(Log(), unreachable=Webhook())
    check_notifier(Log(), unreachable=Email(to=["a@example.org"]))


@plugin
class Hushed:
    """Says nothing, or too much."""

    loud: bool = parameter(False, "raises something else")

    def notify(self, alert: Alert) -> None:
        if self.loud:
            raise RuntimeError(alert.text)


def test_a_bad_notifier_is_caught() -> None:
    with pytest.raises(AssertionError, match="is silent when nobody is reached"):
        check_notifier(Hushed(), unreachable=Hushed())
    with pytest.raises(AssertionError, match="raises RuntimeError when nobody is reached"):
        check_notifier(Hushed(), unreachable=Hushed(loud=True))
    with pytest.raises(AssertionError, match="fails with RuntimeError"):
        check_notifier(Hushed(loud=True))
