"""The Dockerfile, and every script beside it, by the linters of their kinds and by rules of our own."""

import ast
import json
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from itertools import pairwise
from pathlib import Path

import pytest
from compose_file import services
from deployment import DEPLOY
from distributions import needed
from packaging.utils import canonicalize_name
from repository import REPOSITORY

FILE = DEPLOY / "docker" / "Dockerfile"
IGNORE = FILE.with_name("Dockerfile.dockerignore")
BIN = Path(sys.executable).parent


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile as (instruction, rest), without comments and with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", FILE.read_text(), flags=re.M).replace("\\\n", " ")
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip()]


def stage(name: str) -> list[tuple[str, str]]:
    found = instructions()
    starts = [at for at, (word, _) in enumerate(found) if word == "FROM"] + [len(found)]
    return next(found[a:b] for a, b in pairwise(starts) if found[a][1].endswith(f" AS {name}"))


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run([BIN / "hadolint", FILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_base_is_pinned_to_the_debian_that_has_the_python_of_the_lock() -> None:
    (base,) = (rest for word, rest in instructions() if word == "ARG" and rest.startswith("DEBIAN_IMAGE"))
    assert re.fullmatch(r"DEBIAN_IMAGE=debian:12\.\d+-slim", base)  # Debian 12 has Python 3.11
    bases = {rest.split()[0] for word, rest in instructions() if word == "FROM"}
    assert bases == {"${DEBIAN_IMAGE}", "system", "build", "runtime"}


@pytest.mark.parametrize("name", ["runtime", "spark"])
def test_images_end_as_a_numbered_user_without_rights(name: str) -> None:
    assert [rest for word, rest in stage(name) if word == "USER"][-1] == "10001:10001"


def test_the_image_runs_the_code_location_behind_the_wrapper_and_tells_its_health() -> None:
    runtime = dict(stage("runtime"))
    assert runtime["ENTRYPOINT"] == '["with-secrets"]'
    assert json.loads(runtime["CMD"]) == services()["code"]["command"]
    assert "grpc-health-check" in runtime["HEALTHCHECK"]
    assert "ADD" not in {word for word, _ in instructions()}


def test_versions_come_from_the_lock_and_no_compiler_or_cache_stays() -> None:
    installs = [rest for word, rest in instructions() if word == "RUN" and "pip --python" in rest]
    assert len(installs) == 2
    assert all("--constraint" in rest and "requirements.lock" in rest for rest in installs)
    copied = [rest for word, rest in stage("runtime") if word == "COPY"]
    assert copied == ["--from=build /opt/venv /opt/venv", "deploy/bin /opt/odanon/bin"]


def test_what_the_image_does_not_install_is_an_extra_that_its_build_does_without() -> None:
    nodes = [
        node
        for folder in ("plugins/odanon", "odanon_assets")
        for file in (REPOSITORY / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
    ]
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    ours = {"odanon", "odanon_assets", *sys.stdlib_module_names}
    (install,) = (rest for word, rest in stage("build") if word == "RUN" and "pip --python" in rest)
    assert install.endswith('".[pipeline${EXTRAS:+,$EXTRAS}]"')
    installed, sources = needed(["odanon[pipeline]"]).keys(), packages_distributions()
    missing = {
        top
        for top in {name.partition(".")[0] for name in named} - ours
        if installed.isdisjoint(canonicalize_name(source) for source in sources.get(top, []))
    }
    tree = ast.parse(FILE.with_name("imports.py").read_text())
    (extras,) = (
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXTRAS"
    )
    assert "holidays" in missing  # or this test sees nothing
    assert missing <= ast.literal_eval(extras)


def test_no_secret_and_no_data_can_enter_the_build() -> None:
    lines = [line for line in IGNORE.read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    allowed = {line[1:] for line in lines if line.startswith("!")}
    sources = {
        source
        for word, rest in instructions()
        if word == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    }
    assert allowed == sources
    assert all((DEPLOY.parent / source).exists() for source in sources)


SCRIPTS = [
    path
    for path in sorted(DEPLOY.rglob("*"))
    if path.is_file() and path.read_bytes()[:2] == b"#!" and b"sh\n" in path.read_bytes()[:30]
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_scripts_are_sound(script: Path) -> None:
    done = subprocess.run(
        [BIN / "shellcheck", "--external-sources", "--source-path=SCRIPTDIR", script], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert script.stat().st_mode & 0o111
    assert re.search(r"^set -eu", script.read_text(), re.M)


def test_all_scripts_were_found() -> None:
    assert {"with-secrets", "executor", "backup.sh", "restore.sh", "secrets.sh"} <= {path.name for path in SCRIPTS}
