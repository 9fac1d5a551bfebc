"""The lake under fault: its feed, what its tables are called, and its settings by venue."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from faults.reader import Names
from lake_assets.services.registry import url_of
from lake_assets.settings.schema import (
    KafkaSettings,
    RegistrySettings,
    Settings,
    StorageSettings,
)
from lake_assets.settings.spark import SparkSettings
from lake_assets.settings.upkeep import MaintenanceSettings

FEED, TOPIC, VIEW = "games", "game-stream", "player_agg"

SUBJECT = f"{TOPIC}-value"

BUCKET = "lake"

_FEED = f"""
feed: {FEED}
source: {{kafka: {{topic: {TOPIC}, starting_offsets: earliest}}}}
payload: {{protobuf: {{subject: {SUBJECT}}}}}
route: {{column: game_name, unknown: create}}
gold:
  - {{name: {VIEW}, keys: [gamer_id], measures: {{events: count(*)}}, refresh: live}}
"""

NAMES = Names(
    bronze=f"bronze/bronze_{FEED}",
    quarantine=f"quarantine/quarantine_{FEED}",
    silver="silver/silver_{key}_events",
    gold=f"gold/gold_{{key}}_{VIEW}",
    gold_key="gamer_id",
    gold_count="events",
    event_id="device_id",
    key="game_name",
)


def declare(folder: Path) -> Path:
    """Write the feed; returns the folder of feeds."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{FEED}.yaml").write_text(_FEED)
    return folder


def settings_of(
    base: Settings, folder: Path, *, broker: tuple[str, int], registry: tuple[str, int]
) -> Settings:
    """Of a lake on this machine's disk.

    Args:
        base: has jars and Java.
        folder: the run's own.
        broker: where the streams find it.
        registry: likewise.
    """
    host, port = broker
    return Settings(
        home=folder / "home",
        lake=folder / "disk" / "lake",
        feeds=declare(folder / "feeds"),
        runtime=base.runtime,
        kafka=KafkaSettings(bootstrap_servers=f"{host}:{port}"),
        registry=RegistrySettings(url=url_of(registry[1])),
        spark=SparkSettings(master="local[2]", driver_memory="700m"),
        # So that upkeep finds something to join, and files to delete, within minutes, though not
        # such as a piece of work may still read; `work` has it done, not Dagster.
        maintenance=MaintenanceSettings(
            keep_hours=0.1, keep_deleted_days=0.1, join_at_files=8, schedule="0 0 1 1 *"
        ),
    )


def in_a_bucket(settings: Settings, options: Mapping[str, str]) -> Settings:
    """The same lake in a bucket."""
    return settings.model_copy(
        update={
            "lake": Path(f"s3://{BUCKET}/faults"),
            "state": settings.home / "state",
            "storage": StorageSettings.model_validate({"options": options}),
        }
    )


def on_a_cluster(settings: Settings, master: str, path: str) -> Settings:
    """The same lake, whose work a cluster does.

    Args:
        settings: of a lake in a bucket.
        master: the cluster's.
        path: where executors find the package.
    """
    conf = {
        "spark.executor.memory": "700m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.executorEnv.PYTHONPATH": path,
    }
    secrets = {name: SecretStr(value) for name, value in conf.items()}
    own = settings.spark.model_copy(update={"master": master, "conf": secrets})
    return settings.model_copy(update={"spark": own})


def store_options(address: tuple[str, int]) -> dict[str, str]:
    """Of the store at an address, as deltalake takes them."""
    host, port = address
    return {
        "aws_endpoint_url": f"http://{host}:{port}",
        "aws_allow_http": "true",
        "aws_region": "us-east-1",
        "aws_access_key_id": "faults",
        "aws_secret_access_key": "faults",
    }
