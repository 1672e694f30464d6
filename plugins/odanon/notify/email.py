"""Alerts by e-mail."""

import os
import smtplib
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from odanon.errors import OdanonError
from odanon.notify.alert import Alert
from odanon.plugin import parameter, plugin

_TIMEOUT_S = 20


@plugin
class Email:
    """Send alerts by e-mail over the SMTP server that an environment variable names."""

    to: list[str] = parameter(..., "addresses that are told", min_length=1)
    sender: str = parameter("odanon", "the address that alerts come from")
    server_variable: str = parameter(
        "ODANON_SMTP_URL",
        "environment variable with the server: smtp:// (upgraded to TLS when offered) or smtps://, user and password in it",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
    )

    def notify(self, alert: Alert) -> None:
        message = EmailMessage()
        message["Subject"] = alert.title.splitlines()[0][:200]
        message["From"], message["To"] = self.sender, ", ".join(self.to)
        message.set_content(alert.text)
        try:
            with self._connection() as server:
                server.send_message(message)
        except (OSError, smtplib.SMTPException) as error:
            raise OdanonError(
                f"the alert could not be mailed ({type(error).__name__}); check the server in {self.server_variable}"
            ) from None

    def check(self) -> None:
        """Whether the server can be reached and lets us in; nothing is sent."""
        try:
            with self._connection() as server:
                server.noop()
        except (OSError, smtplib.SMTPException) as error:
            raise OdanonError(
                f"the mail server cannot be used ({type(error).__name__}); check it in {self.server_variable}"
            ) from None

    def _connection(self) -> smtplib.SMTP:
        url = urlsplit(os.environ.get(self.server_variable, ""))
        if url.scheme not in ("smtp", "smtps") or not url.hostname:
            raise OdanonError(
                f"{self.server_variable} names no mail server; set it to smtp://host:port or smtps://user:password@host"
            )
        kind = smtplib.SMTP_SSL if url.scheme == "smtps" else smtplib.SMTP
        server = kind(url.hostname, url.port or 0, timeout=_TIMEOUT_S)
        if url.scheme == "smtp":
            server.ehlo()
            if server.has_extn("starttls"):
                server.starttls()
        if url.username:
            server.login(unquote(url.username), unquote(url.password or ""))
        return server
