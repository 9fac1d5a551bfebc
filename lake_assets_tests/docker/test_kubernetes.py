"""What kubernetes/ describes as far as no cluster is needed: schemas, and that its parts fit.

Dagster's chart is not at hand, so its values are not rendered here; what of them is Kubernetes' own
is put into a pod that the schemas know.
"""

import kubernetes_validate
import pytest
import yaml
from dagster_postgres.utils import pg_url_from_config

from lake_assets.settings.load import load_settings
from lake_assets_tests.docker.described import (
    COMPOSE,
    DOCKER,
    MANIFESTS,
    OURS,
    VALUES,
    known_variables,
    manifest,
    of_kubernetes,
    parsed,
)

VERSION = "1.37"
CODE = manifest("StatefulSet", "lake-assets-code")
POD = CODE["spec"]["template"]["spec"]
EXECUTOR = yaml.safe_load(manifest("ConfigMap", "lake-assets-executor")["data"]["executor.yaml"])
PROBES = ("readinessProbe", "livenessProbe")


def pod_of(role):
    """A pod of what the values say of a role."""
    given = VALUES[role]
    container = {
        "name": "dagster",
        "image": "image",
        **{name: given[name] for name in ("securityContext", "resources", "volumeMounts")},
        **{name: given[name] for name in PROBES if name in given},
    }
    spec = {
        "securityContext": given["podSecurityContext"],
        "volumes": given["volumes"],
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "dagster"}, "spec": spec}


PODS = {
    "code": POD,
    "executor": EXECUTOR["spec"],
    **{role: pod_of(role)["spec"] for role in ("dagsterWebserver", "dagsterDaemon")},
}


@pytest.mark.parametrize("each", MANIFESTS, ids=lambda each: each["kind"])
def test_a_manifest_is_one(each):
    kubernetes_validate.validate(each, VERSION, strict=True)


@pytest.mark.parametrize("role", ["dagsterWebserver", "dagsterDaemon"])
def test_the_charts_pods_would_be_some(role):
    kubernetes_validate.validate(pod_of(role), VERSION, strict=True)


def test_the_executors_template_is_a_pod():
    whole = {**EXECUTOR, "metadata": {"name": "executor"}}
    whole["spec"]["containers"][0].setdefault("image", "image")
    kubernetes_validate.validate(whole, VERSION, strict=True)


def test_the_schema_finds_a_misspelled_key():
    wrong = {**CODE, "spec": {**CODE["spec"], "replica": 1}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)


@pytest.mark.parametrize("pod", PODS)
def test_a_pod_is_of_the_restricted_standard(pod):
    spec = PODS[pod]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@pytest.mark.parametrize("pod", PODS)
def test_mounts_are_of_volumes(pod):
    spec, claims = PODS[pod], CODE["spec"]["volumeClaimTemplates"] if pod == "code" else []
    volumes = {each["name"] for each in spec["volumes"]}
    volumes |= {each["metadata"]["name"] for each in claims}
    mounted = [mount["name"] for c in spec["containers"] for mount in c["volumeMounts"]]
    assert {*mounted} == volumes


def test_the_code_server_is_that_of_compose():
    (container,) = POD["containers"]
    assert container["args"] == OURS["code"]["command"]
    assert CODE["spec"]["replicas"] == 1


def test_what_is_set_is_read_by_somebody():
    named = {*of_kubernetes(), *(each["name"] for each in POD["containers"][0]["env"])}
    assert named <= known_variables()


def test_the_settings_of_the_lake_are_valid(monkeypatch, tmp_path):
    (tmp_path / "options").write_text("{}")
    for variable, value in of_kubernetes().items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("LAKE_ASSETS_STORAGE_OPTIONS_FILE", str(tmp_path / "options"))
    settings = load_settings()
    assert settings.spark.master.startswith("k8s://")
    assert str(settings.state_dir).startswith("/data/")


def test_spark_knows_the_pod_the_service_and_the_image():
    conf = parsed(of_kubernetes()["LAKE_ASSETS_SPARK_CONF"])
    name, service = CODE["metadata"]["name"], CODE["spec"]["serviceName"]
    assert manifest("Service", service)["spec"]["clusterIP"] == "None"
    assert conf["spark.kubernetes.driver.pod.name"] == f"{name}-0"
    namespace = conf["spark.kubernetes.namespace"]
    assert conf["spark.driver.host"] == f"{name}-0.{service}.{namespace}.svc"
    assert conf["spark.kubernetes.container.image"] == POD["containers"][0]["image"]
    template = conf["spark.kubernetes.executor.podTemplateFile"]
    assert {m["mountPath"]: m["name"] for m in POD["containers"][0]["volumeMounts"]}[
        template.rpartition("/")[0]
    ] == "executor"


def test_dagster_has_the_same_image_and_finds_the_code_server():
    images = {role: VALUES[role]["image"] for role in ("dagsterWebserver", "dagsterDaemon")}
    for image in images.values():
        assert f"{image['repository']}:{image['tag']}" == POD["containers"][0]["image"]
    (server,) = VALUES["dagsterWebserver"]["workspace"]["servers"]
    ports = manifest("Service", server["host"])["spec"]["ports"]
    assert server["port"] in [each["port"] for each in ports]


def test_the_instance_is_that_of_compose():
    theirs = yaml.safe_load((DOCKER / "dagster.yaml").read_text())
    queue = VALUES["dagsterDaemon"]["runCoordinator"]["config"]["queuedRunCoordinator"]
    runs = theirs["concurrency"]["runs"]
    assert queue["maxConcurrentRuns"] == runs["max_concurrent_runs"]
    assert queue["tagConcurrencyLimits"] == runs["tag_concurrency_limits"]
    launcher = VALUES["runLauncher"]["config"]["customRunLauncher"]
    assert {name: launcher[name] for name in ("module", "class")} == theirs["run_launcher"]
    monitoring = VALUES["dagsterDaemon"]["runMonitoring"]
    assert monitoring["startTimeoutSeconds"] == theirs["run_monitoring"]["start_timeout_seconds"]
    for name, value in VALUES["additionalInstanceConfig"].items():
        assert value == theirs[name]


def test_the_database_is_spoken_to_as_in_compose():
    storage = yaml.safe_load((DOCKER / "dagster.yaml").read_text())["storage"]["postgres"]
    scheme = VALUES["postgresql"]["postgresqlScheme"]
    assert scheme == storage["postgres_db"]["scheme"]
    place = {"username": "u", "password": "p", "hostname": "h", "db_name": "d"}
    url = pg_url_from_config({"postgres_db": {**place, "port": 5432, "scheme": scheme}})
    assert url.startswith("postgresql+psycopg2://")
    image = VALUES["postgresql"]["image"]
    assert (
        f"{image['repository']}:{image['tag']}".removeprefix("library/")
        == (COMPOSE["services"]["postgres"]["image"])
    )


def test_secrets_are_named_and_none_is_here():
    assert "Secret" not in [each["kind"] for each in MANIFESTS]
    secrets = [v["secret"]["secretName"] for v in POD["volumes"] if "secret" in v]
    assert secrets == ["lake-assets"]
    assert VALUES["generatePostgresqlPasswordSecret"] is False
    (password,) = POD["containers"][0]["env"]
    name = password["valueFrom"]["secretKeyRef"]["name"]
    assert name == VALUES["global"]["postgresqlSecretName"]
