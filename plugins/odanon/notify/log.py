"""Alerts in the log."""

import logging

from odanon.notify.alert import Alert
from odanon.plugin import plugin


@plugin
class Log:
    """Write alerts to the log of the process that watches (the Dagster daemon), under the name odanon.alerts."""

    def notify(self, alert: Alert) -> None:
        logging.getLogger("odanon.alerts").error(alert.text)
