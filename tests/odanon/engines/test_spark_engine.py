"""The Spark engine gives what the local one gives, row by row, and tells nothing of the data in its errors."""

import os
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pyspark
import pytest
from killing import die, killed
from product_example import small_product
from pyspark.sql import SparkSession

from odanon.engines.spark import Spark
from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.chain.day import Made, run_day
from odanon_assets.chain.od import od
from odanon_assets.chain.staypoints import staypoints
from odanon_assets.chain.traces import traces
from odanon_assets.chain.trips import trips
from odanon_assets.lake.lake import Lake

DAY = date(2026, 3, 2)
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # for a JVM that lives for seconds
}


@pytest.fixture
def spark() -> Iterator[Spark]:
    """An engine on two local cores whose session ends with the test."""
    engine = Spark(master="local[2]", buckets=3, conf=CONF)
    yield engine
    engine._session().stop()


def made_by(engine: Any, root: Path, people: int) -> dict[str, bytes]:
    """Every file of the stages up to the OD rows."""
    root.mkdir()
    product, lake = small_product(root, source={"plugin": "simulated", "people": people, "dirt": 0.01}), Lake(root)
    traces(product, lake, DAY, source=product.source.instance, engine=engine)
    staypoints(product, lake, DAY, staypoints=product.staypoints.instance, engine=engine)
    trips(product, lake, DAY, engine=engine)
    od(product, lake, DAY, zoning=product.zoning.instance)
    return {str(path.relative_to(root)): path.read_bytes() for path in (root / "work").rglob("*") if path.is_file()}


def local_engine(buckets: int) -> Any:
    from odanon.engines.local import Local

    return Local(buckets=buckets, workers=2)


def test_results_equal_the_local_engine_and_errors_stay_silent(spark: Spark, tmp_path: Path) -> None:
    """One test, because a session takes seconds to start."""
    assert made_by(spark, tmp_path / "spark", 60) == made_by(local_engine(3), tmp_path / "local", 60)

    assert list(spark.map(lambda n: n * n, range(5))) == [0, 1, 4, 9, 16]
    assert list(spark.map(str, [])) == []

    def leak(item: int) -> None:
        raise ValueError("person canary-77 at 45.123456, 4.654321")

    with pytest.raises(OdanonError) as failed:
        list(spark.map(leak, [1]))
    assert str(failed.value) == "a Spark task failed with ValueError"
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None

    def refuse(item: int) -> None:
        raise OdanonError("the file is damaged; replace it")

    with pytest.raises(OdanonError, match=r"^the file is damaged; replace it$"):
        list(spark.map(refuse, [1]))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port: int) -> None:
    """Return when something listens on the port."""
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(1)
    raise TimeoutError("no Spark master came up within five minutes")


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """A standalone master and workers on loopback, each a process of its own."""
    home = Path(pyspark.__file__).parent
    port = free_port()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
    }
    classes = [str(home / "bin" / "spark-class")]
    master = [*classes, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
    worker = [*classes, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1"]
    url = f"spark://127.0.0.1:{port}"
    commands = [[*master, "--webui-port", "0"]] + [
        [*worker, "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder / f"w{number}"), url]
        for number in range(workers)
    ]
    running = []
    try:
        for number, command in enumerate(commands):
            log = (folder / f"{number}.log").open("w")
            running.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            if number == 0:
                wait_for(port)  # a driver or worker that finds no master gives up after a minute
        yield url
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(30)


@pytest.mark.skipif(not os.environ.get("ODANON_STRESS"), reason="a real cluster: set ODANON_STRESS=1")
def test_results_equal_the_local_engine_on_a_cluster_of_two_workers(tmp_path: Path) -> None:
    def worker_folder(_: int) -> str:
        """The folder of the worker that runs this; the wait leaves the second task to the other worker."""
        time.sleep(5)
        return os.getcwd()

    with cluster(tmp_path, workers=2) as url:
        conf = {
            **CONF,
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "768m",
            "spark.cores.max": "2",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # wait for both workers
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        }
        engine = Spark(master=url, buckets=4, conf=conf)
        session = engine._session()
        try:
            assert session.sparkContext.master == url
            assert len(set(engine.map(worker_folder, range(2)))) == 2
            assert made_by(engine, tmp_path / "spark", 60) == made_by(local_engine(4), tmp_path / "local", 60)
        finally:
            session.stop()


def spark_left_by_kill_9(product: Product) -> None:
    """Shuffle the points of a day, then kill Spark and this process while the shuffle is on disk."""
    # A session of the tests before belongs to the parent process; this one starts its own.
    pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = pyspark.SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    plugins = {"source": product.source.instance, "engine": product.engine.instance}
    (made,) = run_day(product, DAY, {"traces"}, set(), plugins)
    assert isinstance(made, Made)
    assert list(Path(os.environ["SPARK_LOCAL_DIRS"]).rglob("shuffle_*.data"))
    os.kill(pyspark.SparkContext._gateway.proc.pid, signal.SIGKILL)  # type: ignore[union-attr]
    die()


@pytest.mark.thorough  # scratch that a kill leaves is swept in test_scratch
def test_what_a_killed_spark_leaves_is_unreadable_and_swept(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    source = {"plugin": "simulated", "people": 60, "seed": 3, "radius_km": 3}
    engine = {"plugin": "spark", "master": "local[2]", "buckets": 2, "conf": CONF}
    product = small_product(workspace, source=source, engine=engine)
    killed(lambda: spark_left_by_kill_9(product))
    left = list((workspace / "data" / "work").glob(".odanon-*/**/shuffle_*.data"))
    assert left
    assert all(len(zlib.compress(path.read_bytes())) >= path.stat().st_size for path in left)  # noise: encrypted
    Lake(workspace / "data").sweep()
    assert not list((workspace / "data" / "work").glob(".odanon-*"))
