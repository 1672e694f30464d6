"""The image of deploy/docker built without a container engine, and the services of compose.yaml started from it.

buildah builds and runs in a chroot: the image's own files, user and variables on the machine's loopback. What a container
engine adds (networks, limits, a read-only root) is not there.
"""

import configparser
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from compose_file import secrets_of, services
from deployment import DEPLOY
from running_stack import Stack

BASE = "localhost/odanon-debian"
CHROOT = "--isolation=chroot"


def buildable() -> bool:
    """Whether this machine has what it takes; `deploy/setup/buildah.sh` installs it."""
    return os.geteuid() == 0 and all(_program(name) for name in ("buildah", "debootstrap"))


def built_image() -> str:
    """Build the image of the commit with `deploy/docker/build.sh` and give its tag."""
    if BASE not in buildah("images", "--format", "{{.Name}}").splitlines():
        _make_base()
    mounts = [word for path in _pip_paths() for word in ("--volume", f"{path}:{path}:ro")]
    options = ["runtime", CHROOT, "--build-arg", f"DEBIAN_IMAGE={BASE}", *mounts]
    return _output([DEPLOY / "docker" / "build.sh", *options], {**os.environ, "ENGINE": "buildah"}).splitlines()[-1]


def buildah(*words: str | Path) -> str:
    return _output(["buildah", *words], dict(os.environ))


def inspected(tag: str) -> dict[str, Any]:
    return json.loads(buildah("inspect", "--type", "image", tag))


def megabytes(tag: str) -> float:
    """How much room the image takes, its base included."""
    number, unit = buildah("images", "--format", "{{.Size}}", tag).split()[:2]  # a line for each of its tags
    return float(number) * {"MB": 1, "GB": 1000}[unit]


def command_in(container: str, command: list[str], mounts: dict[Path, str], environment: dict[str, str]) -> list[str]:
    """What runs a command in a container as the image's user, behind the image's wrapper."""
    user = json.loads(buildah("inspect", container))["OCIv1"]["config"]["User"]
    volumes = [word for here, there in mounts.items() for word in ("--volume", f"{here}:{there}")]
    variables = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
    return ["buildah", "run", CHROOT, "--user", user, *volumes, *variables, container, "--", "with-secrets", *command]


class ImageStack(Stack):
    """The services of compose.yaml, each in a container of the image, with its own volumes, variables and secrets."""

    image: str
    containers: dict[str, str]

    def moved(self, text: str) -> str:
        """Folders are the containers' own; only addresses are the machine's."""
        paths = {there: here for there, here in self.places.items() if there.startswith("/")}
        self.places = {there: here for there, here in self.places.items() if there not in paths}
        try:
            return super().moved(text)
        finally:
            self.places = {**paths, **self.places}

    def command_of(self, name: str, command: list[str]) -> list[str]:
        service = services()[name]
        assert service["user"] == "10001:10001"
        environment = {key: self.moved(value) for key, value in service["environment"].items()}
        words = [self.moved(word) for word in command]
        return command_in(self.containers[name], words, self._mounts(name), environment)

    def start(self, name: str) -> None:
        if name not in self.containers:
            self.containers[name] = buildah("from", self.image).strip()
        with (self.folder / f"{name}.log").open("ab") as log:
            self.started[name] = subprocess.Popen(
                self.command_of(name, services()[name]["command"]), stdout=log, stderr=log, start_new_session=True
            )

    def healthy(self, name: str) -> bool:
        """The service's own health check, run where compose.yaml runs it."""
        how, *command = services()[name]["healthcheck"]["test"]
        assert how == "CMD"
        return subprocess.run(self.command_of(name, command), capture_output=True, check=False).returncode == 0

    def stop(self) -> None:
        super().stop()
        for container in self.containers.values():
            buildah("rm", container)

    def _mounts(self, name: str) -> dict[Path, str]:
        """The service's volumes and secrets, each at its place in the container."""
        mounts = {}
        for volume in services()[name]["volumes"]:
            target = volume["target"]
            here = target.replace("/var/lib/odanon", f"{self.folder}/lib").replace("/etc/odanon", f"{self.folder}/etc")
            mounts[Path(here)] = target
        secrets = self.folder / "run" / name
        if not secrets.is_dir():
            secrets.mkdir(parents=True)
            for target, source in secrets_of(services()[name]).items():
                shutil.copy(self.secrets / source, secrets / target)
        return {**mounts, secrets: "/run/secrets"}


def _make_base() -> None:
    """A small Debian like the official one, from the packages that this machine gets its own from."""
    listed = _output(
        ["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", "Created-By: Packages"], dict(os.environ)
    )
    mirror = next(line.split()[0] for line in listed.splitlines() if line.split()[1:] == ["bookworm"])
    container = buildah("from", "scratch").strip()
    root = buildah("mount", container).strip()
    # Certificates now: the build sees those of this machine in their place, where nothing can be installed.
    words = [_program("debootstrap"), "--variant=minbase", "--include=ca-certificates", "bookworm", root, mirror]
    _output(words, dict(os.environ))
    for unused in ("var/cache/apt", "var/lib/apt/lists"):
        shutil.rmtree(Path(root) / unused)
        (Path(root) / unused).mkdir()
    shares = [f"/usr/share/{unused}" for unused in ("doc", "info", "locale", "man")]
    for share in shares:
        shutil.rmtree(f"{root}{share}")
    (Path(root) / "etc/dpkg/dpkg.cfg.d/docker").write_text("".join(f"path-exclude {share}/*\n" for share in shares))
    buildah("umount", container)
    buildah("config", "--env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
    buildah("commit", "--rm", container, BASE)


def _pip_paths() -> list[Path]:
    """How this machine's pip finds packages: its settings, the folders they name, and certificates."""
    files = [Path("/etc/pip.conf"), Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf"]
    told = configparser.ConfigParser(interpolation=None)
    told.read(files)
    words = [word for section in told.sections() for value in told[section].values() for word in value.split()]
    named = [Path(word.removeprefix("file://")) for word in words if word.startswith(("/", "file://"))]
    folders = {*named, *(path.parent for path in named if path.name == "simple"), Path("/etc/ssl/certs")}
    tops = {folder for folder in folders if not folders & {*folder.parents}}  # a folder brings what is in it
    return sorted(path for path in {*files, *tops} if path.exists())


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")


def _output(command: list[Any], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=sys.stderr, text=True, check=False)
    assert done.returncode == 0, f"{Path(str(command[0])).name} ended with {done.returncode}; its words are above"
    return done.stdout
