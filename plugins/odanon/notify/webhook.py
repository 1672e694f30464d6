"""Alerts as HTTP requests, the way chat rooms and pagers take them."""

import json
import os
import urllib.error
import urllib.request

from odanon.errors import OdanonError
from odanon.notify.alert import Alert
from odanon.plugin import parameter, plugin

_TIMEOUT_S = 20


@plugin
class Webhook:
    """POST alerts as JSON (text, product, days, link) to the address that an environment variable names."""

    url_variable: str = parameter(
        "ODANON_WEBHOOK_URL",
        "environment variable with the address; it often holds a secret, so it never enters a file",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
    )

    def check(self) -> None:
        """Whether there is an address; it is not asked, since it would take the question for an alert."""
        self._address()

    def _address(self) -> str:
        address = os.environ.get(self.url_variable, "")
        if not address.startswith(("http://", "https://")):
            raise OdanonError(f"{self.url_variable} holds no http address; set it to the webhook's")
        return address

    def notify(self, alert: Alert) -> None:
        address = self._address()
        days = [{"day": day, "error": sentence} for day, sentence in alert.days]
        body = {"text": alert.text, "product": alert.product, "days": days, "link": alert.link}
        request = urllib.request.Request(
            address, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
                return
        except (OSError, urllib.error.URLError) as error:
            raise OdanonError(
                f"the alert could not be posted ({type(error).__name__}); check the address in {self.url_variable}"
            ) from None
