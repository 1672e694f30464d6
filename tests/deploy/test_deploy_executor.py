"""deploy/spark/executor: what Spark on Kubernetes calls in an executor's container."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from deployment import DEPLOY

from odanon.engines.spark import Spark

EXECUTOR = DEPLOY / "spark" / "executor"
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def test_an_executor_starts_java_with_what_spark_on_kubernetes_gives_it(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    given = {
        "SPARK_DRIVER_URL": "spark://driver",
        "SPARK_EXECUTOR_ID": "3",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_EXECUTOR_MEMORY": "3072m",
        "SPARK_APPLICATION_ID": "app",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_IP": "10.0.0.9",
        "SPARK_EXECUTOR_POD_NAME": "pod",
        "SPARK_JAVA_OPT_0": "-Da=b c",
        "SPARK_JAVA_OPT_1": "-Dd=e",
    }
    done = subprocess.run([EXECUTOR], env={**given, "PATH": f"{tmp_path}:{PATH}"}, capture_output=True, text=True)
    words = done.stdout.splitlines()
    assert words[:4] == ["-Da=b c", "-Dd=e", "-Xms3072m", "-Xmx3072m"]
    assert words[words.index("-cp") + 2].endswith("KubernetesExecutorBackend")
    assert dict(zip(words[7::2], words[8::2], strict=True)) == {
        "--driver-url": "spark://driver",
        "--executor-id": "3",
        "--cores": "2",
        "--app-id": "app",
        "--hostname": "10.0.0.9",
        "--resourceProfileId": "0",
        "--podName": "pod",
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def master() -> Iterator[str]:
    """A Spark master without workers: whoever takes a task came by himself."""
    port = free_port()
    jars = f"{pyspark.__path__[0]}/jars/*"
    command = ["java", "-cp", jars, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
    running = subprocess.Popen([*command, "--webui-port", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.3)
    yield f"spark://127.0.0.1:{port}"
    running.terminate()
    running.wait()


@pytest.mark.skipif(not os.environ.get("ODANON_STRESS"), reason="a real driver and executor: set ODANON_STRESS=1")
def test_an_executor_takes_tasks_from_a_real_driver(master: str, tmp_path: Path) -> None:
    port = free_port()
    conf = {"spark.driver.host": "127.0.0.1", "spark.driver.port": str(port), "spark.ui.showConsoleProgress": "false"}
    engine = Spark(master=master, buckets=2, conf=conf)
    context = engine._session().sparkContext
    given = {
        "SPARK_DRIVER_URL": f"spark://CoarseGrainedScheduler@127.0.0.1:{port}",
        "SPARK_EXECUTOR_ID": "1",
        "SPARK_EXECUTOR_CORES": "1",
        "SPARK_EXECUTOR_MEMORY": "512m",
        "SPARK_APPLICATION_ID": context.applicationId,
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
        "SPARK_EXECUTOR_POD_NAME": "the-pod",
        "PATH": PATH,
        "HOME": str(tmp_path),
    }
    with (tmp_path / "log").open("wb") as log:
        executor = subprocess.Popen([EXECUTOR], env=given, cwd=tmp_path, stdout=log, stderr=log)
    try:
        where = list(engine.map(lambda _: os.environ.get("SPARK_EXECUTOR_POD_NAME"), range(3)))
    finally:
        context.stop()
        executor.terminate()
        executor.wait()
    assert where == ["the-pod"] * 3
