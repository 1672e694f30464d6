"""`odanon explore`: what is published, in a browser."""

import ipaddress
import logging
import os
import socket
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from starlette.applications import Starlette

from odanon.client.place import store_at
from odanon.errors import OdanonError
from odanon_assets.explore.basemap import BaseMap
from odanon_assets.explore.explorer import LOG
from odanon_assets.explore.limits import CONNECTIONS
from odanon_assets.explore.server import explorer_app
from odanon_assets.lake.places import default_root

PANEL = ("Stores", 0)
NEEDS = "explore"
AT_VARIABLE = "ODANON_READER_URL"  # the store of a deployment: a database as its reader, or a folder
BASEMAP_VARIABLE = "ODANON_BASEMAP"


def explore(
    at: Annotated[
        str | None,
        typer.Option(help="A data root or the address of a database, such as postgresql://reader@host/odanon."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any that is free.", min=0, max=65535)] = 8766,
    show: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    basemap: Annotated[Path | None, typer.Option(help="PMTiles file with raster tiles to draw below.")] = None,
    without_login: Annotated[
        bool,
        typer.Option(
            "--anyone", help="Listen on another host than this one: whoever reaches it sees all that is published."
        ),
    ] = False,
) -> None:
    """Look at everything published in a browser: calendars, maps, and trips between areas that you draw.

    For instance `odanon explore --open`, or on a database `odanon explore --at postgresql://reader@db.example/odanon`. It reads and never writes; nothing leaves this machine. Stop it with Ctrl-C.
    """
    if not (_is_loopback(host) or without_login):
        raise OdanonError(
            f"--host {host}: there is no login, so whoever reaches that address sees all that is published;"
            " add --anyone if that is meant, or put a proxy with a login in front"
        )
    own = [host, "localhost"] if _is_loopback(host) and ":" not in host else ["*"]
    app = explorer_app(_place(at), None if basemap is None else BaseMap.open(basemap), own)
    with _listening(host, port) as listener:
        name, number = listener.getsockname()[:2]
        address = f"http://{f'[{name}]' if ':' in name else name}:{number}/"
        typer.echo(f"What is published, at {address} ; stop it with Ctrl-C.")
        if show:
            webbrowser.open(address)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            limit_concurrency=CONNECTIONS,
        )
        uvicorn.Server(config).run(sockets=[listener])


def deployed() -> Starlette:
    """The server as the environment says, for `uvicorn --factory`: the store to read, and perhaps a base map."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s")
    LOG.setLevel(logging.INFO)
    basemap = os.environ.get(BASEMAP_VARIABLE)
    return explorer_app(_place(os.environ.get(AT_VARIABLE)), BaseMap.open(Path(basemap)) if basemap else None)


def _place(at: str | None) -> str:
    """A folder, by its full path, or the address of a database; one that cannot be is told here."""
    place = at or str(default_root())
    store_at(place)
    return place if "://" in place else str(Path(place).absolute())


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise OdanonError(f"cannot listen on {host}:{port} ({error.strerror}); choose another with --port") from None
