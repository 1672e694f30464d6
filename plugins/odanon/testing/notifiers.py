"""Conformance of notifiers."""

from odanon.errors import OdanonError
from odanon.notify.alert import Alert
from odanon.protocols import Notifier
from odanon.testing.parameters import check_parameters

ALERTS = (
    Alert("town", "odanon town: a day failed", (("2026-03-02", "check volume failed"),), "https://example.org/runs/1"),
    Alert("town", "odanon town: a run failed before its days — «тест»"),
)


def check_notifier(plugin: Notifier, unreachable: Notifier | None = None) -> None:
    """All rules for a notifier that reaches somebody now, and for one that cannot reach anybody where that can be."""
    check_parameters(plugin)
    name = type(plugin).__name__
    for alert in ALERTS:
        try:
            plugin.notify(alert)
        except Exception as error:
            raise AssertionError(f"{name} fails with {type(error).__name__} on an alert it should pass on") from error
    if unreachable is None:
        return
    try:
        unreachable.notify(ALERTS[0])
    except OdanonError as error:
        if "\n" in str(error):
            raise AssertionError(f"{name}: its trouble is not one sentence") from error
        return
    except Exception as error:
        told = f"{name} raises {type(error).__name__} when nobody is reached"
        raise AssertionError(f"{told}; raise OdanonError with a sentence") from error
    raise AssertionError(f"{name} is silent when nobody is reached; raise OdanonError with a sentence")
