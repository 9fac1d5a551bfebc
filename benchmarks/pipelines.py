"""A peer: Spark Declarative Pipelines with a streaming table and a materialized view a game.

`spark-pipelines run` in a process of its own, with a session of its own, as its guide has it: it
talks Spark Connect and cannot use the session of the others. Spark, Delta and their properties are
the same but for the heap.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import pyspark
import yaml

from benchmarks.ground import Ground
from benchmarks.landed import check_tables, tables_of
from benchmarks.pipeline import Plan
from benchmarks.shape import shape_of
from benchmarks.watchdog import Watchdog
from lake_assets.errors import StreamError
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets.spark.session import properties

PIPELINES = "declarative-pipelines"
PIPELINES_START = "declarative-pipelines-start"
"""The same with the start of its session, which the others' seconds do not have."""

_NEEDED = ("grpc_status", "zstandard")
"""What Spark Connect's Python client imports and the product does not need."""

_DEFINITIONS = """\
from pathlib import Path
from benchmarks.pipeline import Plan, declare
declare(spark, Plan.read(Path("plan.json")))
"""

_HEAP = "4g"
"""Of its JVM, which plans and runs all tables at once; with the others' 1 GB it was nearly full at
100 of them."""

_SILENT_S = 300.0
"""Seconds without a word after which it hangs: each table is told of, and takes seconds."""

_READY = "Creating dataflow graph"
"""The line that `spark-pipelines` prints once its session is there."""


def missing_packages() -> list[str]:
    """What must be installed before it can run; the dependency group `bench` names it."""
    return [name for name in _NEEDED if find_spec(name) is None]


def run_pipelines(ground: Ground) -> dict[str, float]:
    """Run the pipeline once; its streaming tables take all that is in the topic, then it ends.

    Raises:
        StreamError: it failed.
    """
    folder = ground.settings.lake_dir / "pipeline"
    folder.mkdir(parents=True)
    _write_plan(ground).write(folder / "plan.json")
    (folder / "definitions.py").write_text(_DEFINITIONS)
    spec = {
        "name": "bench",
        "storage": (folder / "storage").as_uri(),
        "libraries": [{"glob": {"include": "definitions.py"}}],
    }
    (folder / "spark-pipeline.yml").write_text(yaml.safe_dump(spec))
    warehouse = folder / "warehouse"
    write_defaults(ground.settings, folder, warehouse)
    whole, start = run_once(folder, ground.settings)
    if ground.stop():
        raise KeyboardInterrupt
    check_tables(PIPELINES, ground, tables_of(ground.feed.keys, warehouse))
    return {PIPELINES: whole - start, PIPELINES_START: whole}


def _write_plan(ground: Ground) -> Plan:
    view = ground.feed.gold[0]
    return Plan(
        kafka=ground.endpoints.kafka,
        topic=ground.feed.source.topics.names[0],
        route=ground.feed.route_column or "",
        games=ground.feed.keys,
        keys=tuple(view.keys),
        measures=dict(view.measures),
        shape=shape_of(ground),
    )


def write_defaults(
    settings: Settings, folder: Path, warehouse: Path, more: Mapping[str, str] | None = None
) -> None:
    """The others' Spark properties, where a Spark Connect server finds them when it starts."""
    own = properties(settings, ensure_runtime(settings)) | {
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.sources.default": "delta",
        "spark.driver.memory": _HEAP,
        **(more or {}),
    }
    # `--remote local[*]` starts the server in the process; a master may not stand beside it.
    lines = [f"{name} {value}" for name, value in own.items() if name != "spark.master"]
    (folder / "spark-defaults.conf").write_text("\n".join(lines))


def environment(settings: Settings, folder: Path, jars: Sequence[Path] = ()) -> Mapping[str, str]:
    """Of a process that is a driver itself, with further jars."""
    runtime = ensure_runtime(settings)
    paths = [path for path in sys.path if path and Path(path).is_dir()]
    return {
        **child_environment(settings),
        "JAVA_HOME": str(runtime.java.home),
        "PYSPARK_PYTHON": sys.executable,
        # The process of `spark-pipelines` is the driver itself: `spark.jars` come too late for it.
        "SPARK_DIST_CLASSPATH": ":".join(str(jar) for jar in (*runtime.spark_jars, *jars)),
        "SPARK_CONF_DIR": str(folder),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYTHONPATH": ":".join(paths),
    }


def run_once(folder: Path, settings: Settings, jars: Sequence[Path] = ()) -> tuple[float, float]:
    """Run the pipeline of a folder: seconds of the process, and of its start until Spark is there.

    It has a session of its own, so that Ctrl-C lets it finish as the others' queries.

    Raises:
        StreamError: it failed.
    """
    started, ready = perf_counter(), None
    lines: list[str] = []
    script = Path(pyspark.__file__).parent / "bin" / "spark-pipelines"
    with subprocess.Popen(  # noqa: S603 - our own command line
        [str(script), "run", "--spec", "spark-pipeline.yml", "--remote", settings.spark.master],
        cwd=folder,
        env=environment(settings, folder, jars),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        watchdog = Watchdog(_SILENT_S, lambda: os.killpg(process.pid, signal.SIGKILL))
        try:
            for line in process.stdout:
                watchdog.heard()
                lines.append(line.strip())
                if _READY in line:
                    ready = perf_counter() - started
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
        finally:
            watchdog.rest()
    if watchdog.has_bitten:
        fact = (
            f"said nothing for {_SILENT_S:.0f} s, last: {lines[-1][:200] if lines else 'nothing'}"
        )
        raise StreamError(f"bench: {PIPELINES}", fact, "Leave it out with --only")
    if process.returncode or ready is None:
        causes = [line for line in lines if "Exception" in line or "Error" in line] or lines[-1:]
        fact = causes[0][:300] if causes else "ended without a word"
        raise StreamError(f"bench: {PIPELINES}", fact, "Leave it out with --only")
    return perf_counter() - started, ready
