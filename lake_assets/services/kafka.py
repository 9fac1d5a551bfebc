"""The embedded broker: one KRaft node on the loopback, broker and controller in one process.

All its paths are relative to its folder, so that a lake's home can be moved while it is down.
"""

import os
import secrets
import subprocess
from base64 import urlsafe_b64encode
from importlib.resources import files
from pathlib import Path

from lake_assets.errors import ServiceError, SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.runtime.java import Java
from lake_assets.services.service import LOOPBACK, Ports, Service
from lake_assets.sources.kafka.topics import check_broker

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{broker},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{broker}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=data
log.segment.bytes=134217728
# 128 MB of heap by default, for compacted topics that hardly exist here.
log.cleaner.dedupe.buffer.size=8388608
# A mistyped topic is an error, not a new topic.
auto.create.topics.enable=false
num.partitions=2
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""

# Small, since the page cache and not the heap holds the messages. A guess that started and
# answered; not yet tried under load.
_HEAP = ("-Xms64m", "-Xmx384m", "-XX:+UseSerialGC")

_FORMAT_TIMEOUT_S = 60.0

_ANSWER_TIMEOUT_S = 3.0


def prepare(folder: Path, java: Java, jars: tuple[Path, ...], ports: Ports) -> list[str]:
    """Write the broker's properties and, the first time, format its storage.

    Raises:
        ServiceError: the storage cannot be formatted.
    """
    broker, controller = ports
    text = _PROPERTIES.format(host=LOOPBACK, broker=broker, controller=controller)
    (folder / "server.properties").write_text(text)
    log_config = Path(str(files("lake_assets.services"))) / "artifacts" / "log4j2.properties"
    run = [
        *(str(java.executable), *_HEAP, f"-Dlog4j2.configurationFile={log_config}"),
        *("-cp", os.pathsep.join(str(jar) for jar in jars)),
    ]
    if not (folder / "formatted").exists():
        _format(folder, run)
        (folder / "formatted").touch()
    return [*run, "kafka.Kafka", "server.properties"]


def _format(folder: Path, run: list[str]) -> None:
    cluster = folder / "cluster_id"
    if not cluster.exists():
        # Kept before it is used: a format that was killed half-way goes on with the same id.
        # A leading dash would be taken for an option.
        cluster.write_text("L" + urlsafe_b64encode(secrets.token_bytes(16)).decode()[:21])
    tool = ["kafka.tools.StorageTool", "format", "--ignore-formatted"]
    options = ["-t", cluster.read_text(), "-c", "server.properties"]
    done = subprocess.run(  # noqa: S603 our own command line
        [*run, *tool, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_FORMAT_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        output = (done.stderr + done.stdout).strip().splitlines()
        thing = f"storage of the embedded broker in {folder}"
        raise ServiceError(
            thing,
            f"cannot be formatted ({output[-1] if output else 'no message'})",
            "Make the folder writable, or move it away to begin with an empty broker",
        )


def answers(port: int) -> bool:
    """Whether a broker on this port of the loopback lists its topics."""
    here = Endpoints(kafka=f"{LOOPBACK}:{port}", registry="")
    try:
        check_broker(here, timeout_s=_ANSWER_TIMEOUT_S)
    except SourceError:
        return False
    return True


BROKER = Service(name="kafka", group="kafka", ports=2, prepare=prepare, answers=answers)
"""The embedded broker; its second port is the controller's."""
