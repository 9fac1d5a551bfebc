"""The embedded schema registry: Apicurio with its Confluent-compatible API, schemas in a file."""

from pathlib import Path

from lake_assets.errors import RegistryError
from lake_assets.formats.confluent.registry_client import check_registry
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.runtime.java import Java
from lake_assets.services.service import LOOPBACK, Ports, Service

_ANSWER_TIMEOUT_S = 5.0


def prepare(folder: Path, java: Java, jars: tuple[Path, ...], ports: Ports) -> list[str]:
    """The command that runs the registry; its database is made by itself."""
    (jar,) = jars
    (folder / "data").mkdir(exist_ok=True)
    settings = {
        "quarkus.http.host": LOOPBACK,
        "quarkus.http.port": str(ports[0]),
        "quarkus.http.access-log.enabled": "false",
        "quarkus.banner.enabled": "false",
        "quarkus.log.level": "WARN",
        'quarkus.log.category."io.quarkus".level': "INFO",
        "apicurio.storage.kind": "sql",
        "apicurio.storage.sql.kind": "h2",
        # A file, since the default is memory and forgets. Written at once, so that a registry that
        # is killed forgets nothing it has confirmed; ids in Kafka would lose their schemas.
        "apicurio.datasource.url": "jdbc:h2:file:./data/registry;WRITE_DELAY=0",
    }
    # Sized to start fast and stay small, with few schemas; not yet tried with many.
    heap = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    options = [f"-D{name}={value}" for name, value in settings.items()]
    return [str(java.executable), *heap, *options, "-jar", str(jar)]


def url_of(port: int) -> str:
    """Base URL of the Confluent-compatible API."""
    return f"http://{LOOPBACK}:{port}/apis/ccompat/v7"


def answers(port: int) -> bool:
    """Whether a registry on this port of the loopback lists its subjects."""
    try:
        check_registry(url_of(port), RegistryAccess(), timeout_s=_ANSWER_TIMEOUT_S)
    except RegistryError:
        return False
    return True


REGISTRY = Service(name="registry", group="registry", ports=1, prepare=prepare, answers=answers)
"""The embedded registry."""
