"""Alerts reach people: a real HTTP server, a real SMTP dialogue, the log."""

import json
import logging
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest

from odanon.errors import OdanonError
from odanon.notify.alert import Alert
from odanon.notify.email import Email
from odanon.notify.log import Log
from odanon.notify.webhook import Webhook

ALERT = Alert("demo", "odanon demo: a day failed", (("2026-03-05", "8 % of the input rows are bad"),), "ui/runs/1")
heard: list[str] = []


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        heard.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(500 if self.path == "/broken" else 200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        return


class Mailbox(socketserver.StreamRequestHandler):
    """As much SMTP as a client needs to hand over one message."""

    def handle(self) -> None:
        self.wfile.write(b"220 ready\r\n")
        while line := self.rfile.readline().strip():
            if line.upper() == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                text = b"".join(iter(self.rfile.readline, b".\r\n"))
                heard.append(text.decode())
            self.wfile.write(b"221 bye\r\n" if line.upper() == b"QUIT" else b"250 ok\r\n")
            if line.upper() == b"QUIT":
                return


@contextmanager
def serving(handler: type) -> Iterator[int]:
    heard.clear()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_webhook_gets_the_alert_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Hook) as port:
        monkeypatch.setenv("ODANON_WEBHOOK_URL", f"http://127.0.0.1:{port}/hook")
        Webhook().notify(ALERT)
    body = json.loads(heard[0])
    assert body["product"] == "demo"
    assert body["days"] == [{"day": "2026-03-05", "error": "8 % of the input rows are bad"}]
    assert "odanon run demo --from 2026-03-05 --to 2026-03-05 --resume" in body["text"]


def test_an_e_mail_gets_the_alert_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Mailbox) as port:
        monkeypatch.setenv("ODANON_SMTP_URL", f"smtp://127.0.0.1:{port}")
        Email(to=["on-call@example.org"]).notify(ALERT)
    assert "Subject: odanon demo: a day failed" in heard[0]
    assert "2026-03-05: 8 % of the input rows are bad" in heard[0]


def test_the_log_gets_the_alert(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="odanon.alerts"):
        Log().notify(ALERT)
    assert "2026-03-05: 8 % of the input rows are bad" in caplog.text


@pytest.mark.parametrize(
    ("notifier", "variable", "value"),
    [
        (Webhook(), "ODANON_WEBHOOK_URL", "http://127.0.0.1:9/secret-path"),
        (Webhook(), "ODANON_WEBHOOK_URL", ""),
        (Email(to=["a@example.org"]), "ODANON_SMTP_URL", "smtp://user:secret-word@127.0.0.1:9"),
        (Email(to=["a@example.org"]), "ODANON_SMTP_URL", "127.0.0.1"),
    ],
)
def test_a_trouble_names_the_variable_and_no_secret(
    notifier: Webhook | Email, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(OdanonError, match=variable) as caught:
        notifier.notify(ALERT)
    assert "secret" not in str(caught.value)


def test_a_refusing_webhook_is_a_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Hook) as port:
        monkeypatch.setenv("ODANON_WEBHOOK_URL", f"http://127.0.0.1:{port}/broken")
        with pytest.raises(OdanonError, match="could not be posted"):
            Webhook().notify(ALERT)
