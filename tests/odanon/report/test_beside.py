"""The link from a report to the explorer: on the same site, where the address says so, and nowhere else."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from chromium import Page, chromium

from odanon.report.release import render_release


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def served(tmp_path: Path, small_release: Any) -> Iterator[str]:
    (tmp_path / "report.html").write_text(render_release(*small_release), encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/report.html"
    server.shutdown()


def test_a_report_links_to_the_explorer_on_its_own_site_alone(served: str, small_release: Any) -> None:
    site, product = served.removesuffix("report.html"), small_release[2]["product"]
    with chromium() as page:
        assert linked(page, f"{served}#explore=/explore/") == f"{site}explore/#product={product}"
        for address in (
            "",
            "#explore=https://elsewhere.example/",
            "#explore=//elsewhere.example/",
            "#explore=javascript:alert(1)",
            "#explore=http://",
        ):
            assert linked(page, served + address) is None, address


def linked(page: Page, address: str) -> str | None:
    page.open(address)
    page.until("document.readyState === 'complete' && document.querySelector('#panel-title')?.textContent")
    return page.run("document.querySelector('#beside')?.href")
