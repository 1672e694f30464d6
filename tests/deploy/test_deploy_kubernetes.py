"""Kubernetes objects against the schema of their kind; the chart's values against what odanon needs of them."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from deployment import DEPLOY

from odanon.product import load_product

FILES = [DEPLOY / "helm" / "objects.yaml", *sorted((DEPLOY / "spark").glob("*.yaml"))]
OBJECTS = [
    pytest.param(found, id=f"{found['kind']}/{found.get('metadata', {}).get('name', path.stem)}")
    for path in FILES
    if path.name != "product.yaml"
    for found in yaml.safe_load_all(path.read_text())
]
VALUES: dict[str, Any] = yaml.safe_load((DEPLOY / "helm" / "values.yaml").read_text())
CODE = VALUES["dagster-user-deployments"]["deployments"][0]
LAUNCHER = VALUES["runLauncher"]["config"]["k8sRunLauncher"]


def pod_of(spec: dict[str, Any], **container: Any) -> dict[str, Any]:
    """A pod as the chart makes it from values."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "made"},
        "spec": {**spec, "containers": [{"name": "odanon", "image": "odanon:0.1.0", **container}]},
    }


def pods() -> dict[str, dict[str, Any]]:
    """The pods of the chart's three services and of a run."""
    made = {
        name: pod_of(
            {"securityContext": part["podSecurityContext"], "volumes": part["volumes"]},
            **{key: part[key] for key in ("securityContext", "resources", "volumeMounts")},
            **{
                key: {k: v for k, v in part[key].items() if k != "enabled"} for key in ("livenessProbe",) if key in part
            },
        )
        for name, part in {
            "webserver": VALUES["dagsterWebserver"],
            "daemon": VALUES["dagsterDaemon"],
            "code": CODE,
        }.items()
    }
    made["code"]["spec"]["containers"][0]["env"] = CODE["env"]
    run = LAUNCHER["runK8sConfig"]
    made["run"] = pod_of(
        {**run["podSpecConfig"], "volumes": LAUNCHER["volumes"]},
        **run["containerConfig"],
        **{key: LAUNCHER[key] for key in ("securityContext", "resources", "volumeMounts")},
    )
    return made


def validated(found: dict[str, Any]) -> None:
    """Against the newest schemas of Kubernetes; a key that they do not know is a mistake."""
    kubernetes_validate.validate(found, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("found", OBJECTS)
def test_objects_follow_the_schema_of_their_kind(found: dict[str, Any]) -> None:
    if found["kind"] == "Pod":  # a template: Spark adds the image and a name
        found = {**found, "metadata": {"name": "executor"}}
    validated(found)


@pytest.mark.parametrize("name", ["webserver", "daemon", "code", "run"])
def test_what_the_chart_makes_of_the_values_follows_the_schema(name: str) -> None:
    validated(pods()[name])


def pod_specs() -> list[Any]:
    written = [
        template["spec"]["template"]["spec"]
        for found in (param.values[0] for param in OBJECTS)
        for template in (found.get("spec", {}).get("jobTemplate", found),)
        if found["kind"] in ("Job", "CronJob", "Deployment")
    ]
    template = yaml.safe_load((DEPLOY / "spark" / "executor-pod.yaml").read_text())["spec"]
    return [*written, template, *(pod["spec"] for pod in pods().values())]


@pytest.mark.parametrize("spec", pod_specs(), ids=range(len(pod_specs())))
def test_pods_have_no_rights_and_their_mounts_exist(spec: dict[str, Any]) -> None:
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert ":latest" not in container.get("image", "")
        assert {mount["name"] for mount in container["volumeMounts"]} <= {volume["name"] for volume in spec["volumes"]}
        for variable in container.get("env", []):
            assert "PASSWORD" not in variable["name"]
            assert "KEY" not in variable["name"]


def test_only_the_code_location_and_its_runs_hold_odanons_secrets() -> None:
    holders = {name for name, pod in pods().items() if "odanon-secrets" in str(pod)}
    assert holders == {"code", "run"}
    assert "secret" not in str(yaml.safe_load((DEPLOY / "spark" / "executor-pod.yaml").read_text())["spec"]["volumes"])


def test_the_chart_is_of_the_locked_version_and_opens_nothing() -> None:
    assert f"--version {version('dagster')} " in (DEPLOY / "helm" / "values.yaml").read_text()
    assert VALUES["generatePostgresqlPasswordSecret"] is False
    assert VALUES["postgresql"]["enabled"] is False
    assert "postgresqlPassword" not in VALUES["postgresql"]
    assert VALUES["dagsterWebserver"]["service"]["type"] == "ClusterIP"
    login = VALUES["ingress"]["annotations"]
    assert login["nginx.ingress.kubernetes.io/auth-type"] == "basic"
    assert VALUES["ingress"]["dagsterWebserver"]["tls"]["enabled"] is True


def test_the_chart_gives_the_instance_the_settings_of_dagster_yaml() -> None:
    settings = yaml.safe_load((DEPLOY / "dagster.yaml").read_text())
    extra = VALUES["additionalInstanceConfig"]
    assert extra == {key: settings[key] for key in extra}
    assert VALUES["telemetry"] == settings["telemetry"]
    monitoring = VALUES["dagsterDaemon"]["runMonitoring"]
    assert monitoring["freeSlotsAfterRunEndSeconds"] == settings["run_monitoring"]["free_slots_after_run_end_seconds"]
    assert monitoring["startTimeoutSeconds"] == settings["run_monitoring"]["start_timeout_seconds"]
    ticks = {key: value["purge_after_days"] for key, value in settings["retention"].items()}
    assert {key: VALUES["retention"][key]["purgeAfterDays"] for key in ticks} == ticks
    assert set(settings) == {*extra, "telemetry", "run_monitoring", "retention", "storage"}


def test_the_spark_product_is_a_product_and_points_at_the_files_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODANON_DB_URL", "postgresql+psycopg2://odanon_app@/odanon")
    engine = load_product(DEPLOY / "spark" / "product.yaml").engine.instance
    assert engine.master.startswith("k8s://")
    template = Path(engine.conf["spark.kubernetes.executor.podTemplateFile"])
    assert (DEPLOY / "spark" / template.name).exists()
    for name in ("spark.authenticate", "spark.network.crypto.enabled", "spark.io.encryption.enabled"):
        assert engine.conf[name] == "true"
