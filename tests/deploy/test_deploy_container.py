"""The image, built for real, and the services of compose.yaml started from it against a real PostGIS."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyogrio
import pytest
from deployment import DEPLOY, Deployed
from image import ImageStack, buildable, buildah, built_image, command_in, inspected, megabytes
from nginx_proxy import NGINX, asked, running_proxy, with_login
from repository import REPOSITORY
from running_stack import free_port, stack_in

from odanon import registry
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


def owned(folder: Path) -> Path:
    """A folder that the image's user may write, as the volumes of compose.yaml are."""
    folder.mkdir(exist_ok=True)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 10001, 10001)
    return folder


class Container(NamedTuple):
    """A container of the image with a data folder, as its user sees it."""

    name: str
    data: Path
    mounts: dict[Path, str]

    def run(self, *words: str) -> str:
        """What a command says; it must end well."""
        done = subprocess.run(command_in(self.name, [*words], self.mounts, {}), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def demo(image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    """A container in which a demo day was published."""
    folder = tmp_path_factory.mktemp("demo")
    data, home = owned(folder / "data"), owned(folder / "home")
    volumes = {data: "/var/lib/odanon/data", home: "/var/lib/odanon/dagster"}
    mounts = {**volumes, REPOSITORY / "pipelines": "/etc/odanon/products"}
    made = Container(buildah("from", image).strip(), data, mounts)
    made.run("odanon", "run", "demo", "--date", str(DAY))
    yield made
    buildah("rm", made.name)


def test_the_image_tells_its_commit_and_is_no_larger_than_it_must(image: str) -> None:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    name, _, tag = image.partition(":")
    labels = inspected(image)["OCIv1"]["config"]["Labels"]
    version = labels["org.opencontainers.image.version"]
    assert name == "odanon"
    assert tag.removesuffix("-changed") == f"{version}-{commit.stdout[:12]}"
    assert labels["org.opencontainers.image.revision"].removesuffix("-changed") == commit.stdout.strip()
    assert megabytes(image) <= 900


def test_a_demo_day_runs_in_it_as_its_own_user_and_nothing_of_its_own_can_be_changed(demo: Container) -> None:
    (release,) = EmbeddedStore(demo.data).windows("demo")
    assert release == str(DAY)
    assert {path.stat().st_uid for path in demo.data.rglob("*")} == {10001}
    writable = "find / -xdev -writable -not -type l -not -path '/proc/*' -not -path '/dev/*' -not -path '/sys/*'"
    found = subprocess.run(command_in(demo.name, ["sh", "-c", f"id -u; {writable}"], {}, {}), capture_output=True)
    user, *places = found.stdout.decode().split()
    assert user == "10001"
    assert all(place.startswith(("/var/lib/odanon", "/tmp", "/var/tmp", "/run/lock")) for place in places), places


def test_nothing_that_was_taken_out_is_missed(demo: Container) -> None:
    """The build imports all that odanon imports; here the libraries also work: GDAL, Arrow, DuckDB, scikit-learn."""
    listed = demo.run("odanon", "plugins")
    shown = {line.split("  ")[0] for line in listed.splitlines()}
    assert {f"{found.stage}: {found.name}" for stage in registry.STAGES for found in registry.installed(stage)} <= shown
    assert "broken: " not in listed
    assert demo.run("odanon", "report", "demo", "--date", str(DAY)).lower().startswith("<!doctype html>")

    formats = ["--format", "gpkg", "--format", "geoparquet"]
    demo.run("odanon", "export", "demo", "--out", "/var/lib/odanon/data/exported", *formats)
    flows = pd.read_parquet(demo.data / "exported" / "flows.parquet")
    package = demo.data / "exported" / "demo.gpkg"
    assert {*pyogrio.list_layers(package)[:, 0]} == {"zones", "desire_lines", "flows", "weights", "layer_styles"}
    assert pyogrio.read_info(package, layer="flows")["features"] == len(flows) > 0
    assert str(len(flows)) in demo.run("odanon", "sql", "select count(*) from flows").split()

    clusters = "import numpy; from odanon.anonymizers.places import glove_sk; print(glove_sk.complete_linkage({}, 3))"
    points = "numpy.array([[0, 9, 1], [0, 9, 1], [0, 9, 1], [0, 9, 1]])"
    assert demo.run("python", "-c", clusters.format(points)).split() == ["[[0", "2]", "[1", "3]]"]


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
