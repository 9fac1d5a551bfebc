"""What docker/ describes: containers of compose.yaml and of Kubernetes, and their variables."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from lake_assets.settings.load import variables

DOCKER = Path(__file__).parents[2] / "docker"
IMAGES = (DOCKER / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
VALUES = yaml.safe_load((DOCKER / "kubernetes/dagster-values.yaml").read_text())
MANIFESTS = [*yaml.safe_load_all((DOCKER / "kubernetes/lake-assets.yaml").read_text())]

OURS = {name: service for name, service in SERVICES.items() if service["image"] == "lake-assets"}

_OTHERS = {
    "JAVA_HOME",
    "SPARK_HOME",
    "SPARK_DAEMON_MEMORY",
    "SPARK_LOCAL_DIRS",
    "SPARK_MASTER_OPTS",
    "SPARK_SCALA_VERSION",
    "SPARK_WORKER_OPTS",
    "DAGSTER_HOME",
    "DAGSTER_PG_PASSWORD",  # in the instance that Dagster's chart makes
    "PATH",
    "PYTHONDONTWRITEBYTECODE",
}


def manifest(kind: str, name: str) -> dict[str, Any]:
    """One object of Kubernetes'."""
    found: dict[str, Any]
    (found,) = [m for m in MANIFESTS if m["kind"] == kind and m["metadata"]["name"] == name]
    return found


def known_variables() -> set[str]:
    """Variables that something reads: settings, Dagster's instance, Spark and Dagster."""
    known = {*_OTHERS, "DAGSTER_POSTGRES_PASSWORD_FILE"}
    instance = (DOCKER / "dagster.yaml").read_text()
    known |= {*re.findall(r"\{env: (\w+)\}", instance)}
    for variable in variables():
        known |= {variable, f"{variable}_FILE"}
    return known


def of_kubernetes() -> dict[str, str]:
    """The code server's variables there."""
    found: dict[str, str] = manifest("ConfigMap", "lake-assets")["data"]
    return found


def strings(what: object) -> Iterator[str]:
    """All texts in a document, keys among them."""
    if isinstance(what, dict):
        for key, value in what.items():
            yield from (str(key), *strings(value))
    elif isinstance(what, list):
        for value in what:
            yield from strings(value)
    else:
        yield str(what)


def parsed(value: str) -> dict[str, str]:
    """A variable that is JSON."""
    found: dict[str, str] = json.loads(value)
    return found


def is_program(path: Path) -> bool:
    """Whether a file may be run."""
    return os.access(path, os.X_OK)
