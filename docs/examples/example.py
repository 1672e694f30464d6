"""What the examples share: where their data lie, and calling `odanon` as on a command line."""

import argparse
import os
import shlex
import sys
from pathlib import Path

from odanon.cli import main


def asked(what: str, needs: dict[str, str]) -> argparse.Namespace:
    """The options of an example: `data`, `out` and `sample`. `needs` are files below `data` and where to get them."""
    parser = argparse.ArgumentParser(description=what)
    place = os.environ.get("ODANON_SHARED_DATA", "data")
    parser.add_argument("--data", type=Path, default=Path(place), help="folder of the data sets (default: %(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="new folder for what the example makes")
    parser.add_argument("--sample", type=int, help="take only so many rows, for a first look")
    options = parser.parse_args()
    missing = [
        f"{options.data / name} is missing: {source}"
        for name, source in needs.items()
        if not (options.data / name).exists()
    ]
    if missing:
        sys.exit("\n".join([*missing, "Put it there, or name another folder with --data."]))
    options.out.mkdir(parents=True)
    return options


def odanon(*words: object) -> None:
    """Print a command and run it."""
    line = [str(word) for word in words]
    print(f"\n$ odanon {shlex.join(line)}")
    main(line, standalone_mode=False)
