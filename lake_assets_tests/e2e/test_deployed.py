"""A lake as docker/compose.yaml runs it, by hand: a deploy of code, and a second Dagster beside."""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import dagster as dg
import httpx
import psycopg
import pytest
from dagster._core.scheduler.instigation import InstigatorType
from psycopg import sql

from benchmarks.postgres import Postgres
from lake_assets.delta.log_history import open_table
from lake_assets.demo.dagster_dev import free_port
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import StorageSettings
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.e2e.deployment import Deployment
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic
from lake_assets_tests.sample import gold_of, silver_of
from lake_assets_tests.services.secured import MARKER
from lake_assets_tests.spark.standalone import run_cluster

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

FEED = """
feed: {name}
source: {{kafka: {{topic: {topic}}}}}
payload: {{json: {{schema: "game string, score int"}}}}
route: {{column: game, keys: [{key}]}}
expectations: [{{name: has_score, sql: "score >= 0", action: drop}}]
gold: [{{name: best, sql: "select count(*) as plays from silver", schedule: "0 0 1 1 *"}}]
"""

PASSWORD = f"{MARKER}/word @of: mine"

TAKEN = "another process runs the streams of this lake"

RUNS = """
{ runsOrError(filter: {pipelineName: "streams"}) { ... on Runs { results { runId status } } } }
"""

CHECKS = """
{ assetNodes(assetKeys: [{path: "silver_events"}]) {
  assetChecksOrError { ... on AssetChecks { checks {
    partitionStatuses { ... on AssetCheckDefaultPartitionStatuses { succeededPartitions } }
  } } }
} }
"""

GOLD = """
{ assetOrError(assetKey: {path: "gold_best"}) {
  ... on Asset { assetMaterializations(limit: 9) { partition } } } }
"""


class World:
    """A lake in a bucket, a server of databases, and topics; deployments come and go."""

    def __init__(self, settings, server, bucket, services, folder, port):
        self.folder, self.feeds, self.port = folder, folder / "feeds", port
        self.feeds.mkdir()
        self.services, self.s3 = services, server
        self.bucket = bucket
        self.topics, self.produced = {}, Counter()
        self.settings = settings.model_copy(
            update={
                "lake": Path(f"s3://{bucket}/lake"),
                "storage": StorageSettings(options=server.options),
            }
        )

    def declare(self, name, key):
        """A feed of one key."""
        topic = self.topics[key] = Topic(self.services)
        topic.create()
        (self.feeds / f"{name}.yaml").write_text(FEED.format(name=name, topic=topic.name, key=key))

    def deployment(self, name, master):
        """A Dagster of its own, with a database and a state folder of its own."""
        names = {
            "kafka:9092": self.services.kafka,
            "http://registry:8080/apis/ccompat/v7": self.services.registry,
            "s3://lake/lake": str(self.settings.lake_root),
            "spark://spark-master:7077": master,
            '"code"': '"127.0.0.1"',
            "port: 5432": f"port: {self.port}",
        }
        marked = {**self.s3.options, "aws_secret_access_key": MARKER}
        secrets = {
            "postgres_password": PASSWORD + "\n",
            "storage_options": json.dumps(marked, indent=1) + "\n",
        }
        given = {
            "DAGSTER_POSTGRES_HOST": "127.0.0.1",
            "DAGSTER_POSTGRES_DB": name,
            "LAKE_ASSETS_RUNTIME_CACHE": str(self.settings.runtime.cache or ""),
        }
        return Deployment(self.folder / name, secrets, names, self.feeds, given)

    def produce(self, key, many):
        topic = self.topics[key]
        places = topic.produce(*(b'{"game": "%s", "score": 1}' % key.encode() for _ in range(many)))
        self.produced += Counter((key, *place) for place in places)

    @property
    def placed(self):
        """By key and place, how often it is in silver."""
        found = Counter()
        for key in self.topics:
            handle = open_table(lake_of(self.settings), silver_of(key))
            if handle is not None:
                rows = handle.to_pyarrow_table(columns=["_partition", "_offset"])
                pairs = zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True)
                found.update((key, *place) for place in pairs)
        return found

    def wait_for_rows(self):
        """Silver has what was produced, and nothing twice."""

        def has_all():
            return self.placed.total() >= self.produced.total()

        wait_for(has_all, lambda: f"{self.placed.total()} of {self.produced.total()}", within_s=240)
        assert self.placed == self.produced


@pytest.fixture(scope="module")
def postgres() -> Iterator[tuple[Postgres, int]]:
    """A server with two databases of the user `dagster`, who has a password, and its port."""
    # A short path: that of a socket has 107 characters.
    with tempfile.TemporaryDirectory(prefix="pg") as place:
        Path(place).chmod(0o755)
        port = free_port(0)
        with Postgres(Path(place) / "s", port) as server:
            for name in ("one", "two"):
                server.create(name)
            with psycopg.connect(
                f"host={place}/s port={port} user=postgres dbname=one", autocommit=True
            ) as connection:
                connection.execute(
                    sql.SQL("create role dagster login password {}").format(PASSWORD)
                )
                for name in ("one", "two"):
                    own = sql.SQL("alter database {} owner to dagster")
                    connection.execute(own.format(sql.Identifier(name)))
            yield server, port


@pytest.fixture
def world(connected, services, s3, bucket, tmp_path, postgres):
    return World(connected, s3, bucket, services, tmp_path, postgres[1])


@contextmanager
def running(deployment: Deployment, *services: str, **changed: str):
    """Its code server, with some variables otherwise, and what is started after it."""
    try:
        deployment.start("code", **changed)
        deployment.wait_for_code()
        for service in services:
            deployment.start(service)
        yield deployment
    finally:
        deployment.end()


def runs(deployment):
    """By id, how the runs of the streams fare, the newest first."""
    return {run["runId"]: run["status"] for run in deployment.ask(RUNS)["runsOrError"]["results"]}


def statuses(deployment):
    return list(runs(deployment).values())


def told_of_checks(deployment):
    """Keys whose check succeeded."""
    (node,) = deployment.ask(CHECKS)["assetNodes"]
    (check,) = node["assetChecksOrError"]["checks"]
    return check["partitionStatuses"]["succeededPartitions"]


def told_of_gold(deployment):
    found = deployment.ask(GOLD)["assetOrError"]
    return [each["partition"] for each in found.get("assetMaterializations", [])]


def said_by_supervisor(deployment, monkeypatch):
    """What the newest look of a Dagster's supervisor came to."""
    for name, value in deployment.environment("daemon").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DAGSTER_POSTGRES_PASSWORD", PASSWORD)
    with dg.DagsterInstance.from_config(str(deployment.home)) as instance:
        states = instance.all_instigator_state(instigator_type=InstigatorType.SENSOR)
        ids = [
            (state.instigator_origin_id, state.selector_id)
            for state in states
            if state.instigator_name == "supervisor"
        ]
        ticks = [tick for each in ids for tick in instance.get_ticks(*each, limit=1)]
        assert instance.get_runs() == []
        return str(ticks[0].skip_reason) if ticks else ""


@pytest.fixture(params=["local[2]", "cluster"])
def master(request, spark_settings, tmp_path_factory):
    """Where Spark's work is done."""
    if request.param != "cluster":
        yield request.param
        return
    java = ensure_runtime(spark_settings).java
    with run_cluster(java, tmp_path_factory.mktemp("cluster"), workers=1, cores=2) as found:
        yield found.master


@pytest.mark.timeout(1200)
def test_a_deploy_restarts_streams_once_and_a_second_dagster_starts_none(
    world, master, monkeypatch
):
    world.declare("games", "uno")
    world.produce("uno", 1_000)
    with running(world.deployment("one", master), "daemon", "webserver") as first:
        world.wait_for_rows()
        wait_for(first.is_served, "the page", within_s=120)
        wait_for(lambda: statuses(first) == ["STARTED"], "a run", within_s=120)
        (before,) = runs(first)
        wait_for(lambda: "uno" in told_of_gold(first), "gold", within_s=180)
        assert _plays(world) == 1_000
        wait_for(lambda: told_of_checks(first) == ["uno"], "checks", within_s=120)

        _ensure_second_starts_none(world, master, first, monkeypatch)
        assert statuses(first) == ["STARTED"]

        world.declare("chess", "chess")
        world.produce("uno", 5_000)
        first.stop("code")
        assert statuses(first) == ["CANCELED"]
        world.produce("chess", 500)
        first.start("code")
        world.wait_for_rows()
        found = runs(first)
        assert sorted(found.values()) == ["CANCELED", "STARTED"]
        assert found[before] == "CANCELED"
        assert MARKER not in first.command_lines()
    _ensure_no_secret(world, first)


@pytest.mark.timeout(1200)
def test_whatever_dies_of_a_deployment_streams_come_back_once(world, postgres):
    world.declare("games", "uno")
    with running(world.deployment("one", "local[2]"), "daemon", "webserver") as found:
        world.produce("uno", 1_000)
        world.wait_for_rows()
        wait_for(found.is_served, "the page", within_s=120)
        for act in (
            _new_code_after_the_server_alone_died,
            _server_and_runs_die,
            _second_daemon_comes,
            _daemon_dies,
            partial(_postgres_restarts, postgres[0]),
        ):
            world.produce("uno", 5_000)
            act(world, found)
            world.produce("uno", 500)
            world.wait_for_rows()
            wait_for(lambda: _has_one_run(found), "one run", within_s=120)


def _has_one_run(found):
    # Each of the webserver's connections fails once after PostgreSQL was restarted.
    with suppress(httpx.HTTPStatusError):
        return statuses(found).count("STARTED") == 1
    return False


def _new_code_after_the_server_alone_died(world, found):
    """Its runs go on without it: the new one asks them to end, once."""
    (before,) = runs(found)
    found.kill_server()
    world.declare("chess", "chess")
    world.produce("chess", 500)
    found.start("code")
    found.wait_for_code()
    wait_for(lambda: runs(found).get(before) == "CANCELED", lambda: str(runs(found)), within_s=120)
    world.wait_for_rows()
    assert sorted(statuses(found)) == ["CANCELED", "STARTED"]


def _server_and_runs_die(world, found):
    known = runs(found)
    found.kill("code")
    found.start("code")
    wait_for(lambda: len(runs(found)) > len(known), "a run", within_s=180)
    world.wait_for_rows()
    assert len(runs(found)) == len(known) + 1


def _second_daemon_comes(world, found):
    known = runs(found)
    found.start("daemon", as_="daemon-2")
    found.kill("code")
    found.start("code")
    world.wait_for_rows()
    assert len(runs(found)) == len(known) + 1
    found.kill("daemon-2")


def _daemon_dies(world, found):
    known = runs(found)
    found.kill("daemon")
    found.start("daemon")
    world.wait_for_rows()
    assert runs(found) == known


def _postgres_restarts(server, world, _):
    server.stop()
    time.sleep(15)  # longer than the fence of a run waits between two looks at its record
    server.start()
    world.wait_for_rows()


def _plays(world):
    (row,) = (
        open_table(lake_of(world.settings), gold_of("uno", "best")).to_pyarrow_table().to_pylist()
    )
    return row["plays"]


def _ensure_second_starts_none(world, master, first, monkeypatch):
    """Another Dagster, with another database, by a state folder of its own and by the first's."""
    state = first.environment("code")["LAKE_ASSETS_STATE"]
    second = world.deployment("two", master)
    second.start("code")
    second.wait_for_refusal(f"this lake's state is {state}")
    with running(second, "daemon", LAKE_ASSETS_STATE=state):
        (run,) = runs(first)
        said = partial(said_by_supervisor, second, monkeypatch)
        wait_for(lambda: TAKEN in said() and run in said(), said, within_s=120)


def _ensure_no_secret(world, deployment):
    """Neither in Dagster's database nor in what is on the disk."""
    told = {"host": "127.0.0.1", "port": world.port, "user": "dagster", "dbname": "one"}
    with psycopg.connect(**told, password=PASSWORD) as connection:
        asked = connection.execute("select tablename from pg_tables where schemaname = 'public'")
        tables = [name for (name,) in asked]
        assert "event_logs" in tables
        for name in tables:
            query = sql.SQL("select count(*) from {} as t where t::text like %s")
            found = connection.execute(query.format(sql.Identifier(name)), [f"%{MARKER}%"])
            assert (name, found.fetchall()) == (name, [(0,)])
    files = [path for path in deployment.folder.rglob("*") if path.is_file()]
    marked = [path for path in files if MARKER.encode() in path.read_bytes()]
    assert {path.parent for path in marked} == {deployment.folder / "secrets"}
