"""deploy/compose/compose.yaml as the tests read it, and its services as processes without Docker."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from deployment import DEPLOY

FILE = DEPLOY / "compose" / "compose.yaml"


def services() -> dict[str, dict[str, Any]]:
    return yaml.safe_load(FILE.read_text())["services"]


def secrets_of(service: dict[str, Any]) -> dict[str, str]:
    """The secrets of a service: name inside the container -> name of the secret."""
    listed = [{"source": item} if isinstance(item, str) else item for item in service.get("secrets", [])]
    return {item.get("target", item["source"]): item["source"] for item in listed}


@dataclass
class Host:
    """A folder and ports that stand for the containers' own; `moved` rewrites what names them."""

    folder: Path
    secrets: Path
    places: dict[str, str]
    started: dict[str, subprocess.Popen] = field(default_factory=dict)

    def moved(self, text: str) -> str:
        if text in services():  # a name of the containers' network
            return "127.0.0.1"
        text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)  # variables have their defaults
        for there, here in self.places.items():
            text = text.replace(there, here)
        return text

    def start(self, name: str) -> None:
        """Start a service's own command with its own environment and secrets, and nothing else of ours."""
        service = services()[name]
        mounted = self.folder / "run" / name
        mounted.mkdir(parents=True, exist_ok=True)
        for target, source in secrets_of(service).items():
            (mounted / target).unlink(missing_ok=True)
            (mounted / target).symlink_to(self.secrets / source)
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "ODANON_SECRETS": str(mounted),
            **{key: self.moved(value) for key, value in service["environment"].items()},
        }
        command = [DEPLOY / "bin" / "with-secrets", *(self.moved(word) for word in service["command"])]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.started[name] = subprocess.Popen(
                command, env=environment, cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """As a power cut: the service and every process it started."""
        process = self.started.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for name in list(self.started):
            self.kill(name)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()
