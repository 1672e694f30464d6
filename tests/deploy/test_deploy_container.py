"""The image, built for real, and the services of compose.yaml started from it against a real PostGIS."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from deployment import DEPLOY, Deployed
from image import ImageStack, buildable, buildah, built_image, command_in, inspected, megabytes
from nginx_proxy import NGINX, asked, running_proxy, with_login
from repository import REPOSITORY
from running_stack import free_port, stack_in

from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.postgis import PostgisStore

pytestmark = [
    pytest.mark.skipif(not os.environ.get("ODANON_STRESS"), reason="builds the image, minutes: set ODANON_STRESS=1"),
    pytest.mark.skipif(not buildable(), reason="needs root, buildah and debootstrap: run deploy/setup/buildah.sh"),
]
DAY = date(2026, 3, 2)
LOGIN = "ada:correct horse"


@pytest.fixture(scope="module")
def image() -> str:
    return built_image()


@pytest.fixture
def container(image: str) -> Iterator[str]:
    made = buildah("from", image).strip()
    yield made
    buildah("rm", made)


def owned(folder: Path) -> Path:
    """A folder that the image's user may write, as the volumes of compose.yaml are."""
    folder.mkdir(exist_ok=True)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 10001, 10001)
    return folder


def test_the_image_tells_its_commit_and_is_no_larger_than_it_must(image: str) -> None:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    name, _, tag = image.partition(":")
    labels = inspected(image)["OCIv1"]["config"]["Labels"]
    version = labels["org.opencontainers.image.version"]
    assert name == "odanon"
    assert tag.removesuffix("-changed") == f"{version}-{commit.stdout[:12]}"
    assert labels["org.opencontainers.image.revision"].removesuffix("-changed") == commit.stdout.strip()
    assert megabytes(image) <= 1100


def test_a_demo_day_runs_in_it_as_its_own_user_and_nothing_of_its_own_can_be_changed(
    container: str, tmp_path: Path
) -> None:
    mounts = {owned(tmp_path / "data"): "/var/lib/odanon/data", REPOSITORY / "pipelines": "/etc/odanon/products"}
    home = {owned(tmp_path / "home"): "/var/lib/odanon/dagster"}
    words = ["odanon", "run", "demo", "--date", str(DAY)]
    done = subprocess.run(command_in(container, words, {**mounts, **home}, {}), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (release,) = EmbeddedStore(tmp_path / "data").windows("demo")
    assert release == str(DAY)
    assert {path.stat().st_uid for path in (tmp_path / "data").rglob("*")} == {10001}
    writable = "find / -xdev -writable -not -type l -not -path '/proc/*' -not -path '/dev/*' -not -path '/sys/*'"
    found = subprocess.run(command_in(container, ["sh", "-c", f"id -u; {writable}"], {}, {}), capture_output=True)
    user, *places = found.stdout.decode().split()
    assert user == "10001"
    assert all(place.startswith(("/var/lib/odanon", "/tmp", "/var/tmp", "/run/lock")) for place in places), places


@pytest.mark.skipif(NGINX is None, reason="there is no nginx: run deploy/setup/nginx.sh .venv/nginx")
def test_the_services_of_compose_come_up_from_the_image_and_publish_a_day_behind_the_proxy(
    image: str, deployed: Deployed, tmp_path: Path
) -> None:
    with stack_in(deployed, tmp_path, ImageStack) as stack:
        stack.image, stack.containers = image, {}
        shutil.copytree(DEPLOY.parent / "pipelines", tmp_path / "etc/products", dirs_exist_ok=True)
        owned(tmp_path / "lib")
        stack.start("code")
        stack.wait("the health of the code location", lambda: stack.healthy("code"))
        stack.start("webserver")
        stack.start("daemon")
        stack.wait("the code location", stack.loaded)
        run = stack.launch(DAY)
        stack.wait("the run", lambda: stack.runs()[run] in ("SUCCESS", "FAILURE"), seconds=900)
        assert stack.runs()[run] == "SUCCESS", stack.log("code")[-3000:]
        store = PostgisStore(deployed.login("odanon_app"))
        release = store.released("small", DAY)
        assert release is not None
        assert store.problems(release) == []
        for name in ("webserver", "daemon"):
            assert stack.healthy(name), stack.log(name)[-3000:]

        secrets = with_login(deployed.secrets, tmp_path / "known", LOGIN)
        place, web = DEPLOY / "compose" / "proxy-place.conf", int(stack.places["3000"])
        with running_proxy(tmp_path / "proxy", secrets, place, web, free_port(), stack.folder / "lib/data") as proxy:
            assert asked(proxy + "/healthz")[0] == 204
            assert asked(proxy + "/server_info")[0] == 401
            status, answer, _ = asked(proxy + "/server_info", LOGIN)
            assert (status, "dagster_version" in json.loads(answer)) == (200, True)
