"""The documentation site, built once."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from repository import REPOSITORY


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of the site, which the first process that needs it builds for all."""
    ours = tmp_path_factory.getbasetemp()
    out = (ours if worker_id == "master" else ours.parent) / "built" / "site"
    out.parent.mkdir(exist_ok=True)
    with (out.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            _build(out)
    return out


def _build(out: Path) -> None:
    """Whatever Sphinx warns of fails, and nothing reaches another host."""
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    begun = out.with_name("begun")
    command = [sys.executable, REPOSITORY / "docs" / "build", begun]
    done = subprocess.run(command, env=os.environ | nowhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    begun.rename(out)
