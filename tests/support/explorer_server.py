"""The explorer on a port of this machine, as long as a block lasts."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from odanon_assets.explore.basemap import BaseMap
from odanon_assets.explore.server import explorer_app


@contextmanager
def serving(at: str, basemap: BaseMap | None = None) -> Iterator[str]:
    """The address of the page over a store."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(explorer_app(at, basemap), log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()
