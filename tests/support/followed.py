"""Following a tutorial to the letter: its files are written and its lines are run, in their order."""

import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"(?:^`([\w./-]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SERVES = re.compile(r"on (http://127\.0\.0\.1:\d+)")
_UNTIL = 240  # seconds for a server to answer


@dataclass(frozen=True)
class Step:
    """A file to write, or lines for a shell."""

    file: str
    language: str
    text: str
    before: str  # what the page says up to here


def steps(page: str) -> Iterator[Step]:
    """The steps of a page; code that is neither a file nor a line for a shell is only to be read."""
    for found in _BLOCK.finditer(page):
        if found[1] or found[2] == "shell":
            yield Step(found[1] or "", found[2], found[3], page[: found.start()])


def follow(page: str, folder: Path, programs: Path) -> str:
    """Do all that a page says in a folder, with the programs of an environment; what was printed. Variables stay set."""
    kept, said = folder / ".variables", []
    kept.write_text("")
    for step in steps(page):
        if step.file:
            (folder / step.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / step.file).write_text(step.text)
        elif "Ctrl-C" in step.before.rsplit("\n\n", 2)[-2]:
            _serve(step, folder, programs)
        else:
            script = f"set -e\n. {kept}\n{step.text}\nexport -p > {kept}\n"
            done = subprocess.run(
                ["bash", "-c", script],
                cwd=folder,
                env=_environment(programs),
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{step.text}\n{done.stdout}{done.stderr}"
            said.append(done.stdout)
    return "".join(said)


def _environment(programs: Path) -> dict[str, str]:
    """A newcomer's: nothing of ours is set."""
    others = {
        name: value for name, value in os.environ.items() if not name.startswith(("ODANON_", "DAGSTER_", "PYTHON"))
    }
    return {**others, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "120"}


def _serve(step: Step, folder: Path, programs: Path) -> None:
    """Start what the page starts, wait until it answers where the page says, and press Ctrl-C."""
    (address,) = _SERVES.findall(step.before.rsplit("\n\n", 2)[-2])
    script = f". {folder / '.variables'}\n{step.text}"
    with (
        (folder / ".served").open("w+") as log,
        subprocess.Popen(
            ["bash", "-c", script],
            cwd=folder,
            env=_environment(programs),
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as server,
    ):
        try:
            deadline = time.monotonic() + _UNTIL
            while not _answers(address):
                assert server.poll() is None, Path(log.name).read_text()
                assert time.monotonic() < deadline, Path(log.name).read_text()
                time.sleep(1)
        finally:
            os.killpg(server.pid, signal.SIGINT)
            server.wait(120)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
