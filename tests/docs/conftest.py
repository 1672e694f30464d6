"""The documentation site, built once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from repository import REPOSITORY


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site; whatever Sphinx warns of fails, and nothing reaches another host."""
    out = tmp_path_factory.mktemp("site") / "site"
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    command = [sys.executable, REPOSITORY / "docs" / "build", out]
    done = subprocess.run(command, env=os.environ | nowhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out
