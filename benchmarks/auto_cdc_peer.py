"""A keyed table beside ours: `create_auto_cdc_flow` of Spark Declarative Pipelines.

It refuses Delta's tables, which have no row-level operations of Spark's own. So its tables are
those of Spark's own tests, which are in memory: one server keeps them while pipelines run.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from deltalake import write_deltalake

from benchmarks.connect_server import connect_server
from benchmarks.pipelines import environment, write_defaults
from benchmarks.spark_tests_jar import CATALOG, in_memory_tables
from lake_assets.errors import StreamError
from lake_assets.settings.schema import Settings

_CATALOG, _SCHEMA = "memory", "keyed"

_DEFINITIONS = """\
from pathlib import Path
from benchmarks.auto_cdc import declare
declare(spark, Path("tables.json"))
"""

_WARM = pa.table({"id": [1, 2], "version": [1, 2], "op": ["U", "D"], "value": ["a", "b"]})


@dataclass(frozen=True, slots=True)
class AutoCdc:
    """A pipeline with an AUTO CDC flow a table, on a server that runs."""

    folder: Path
    """Of the pipeline."""

    env: Mapping[str, str]
    """Of processes that talk to the server."""

    def refresh(self) -> float:
        """Seconds of a pipeline's run, without the start of its session.

        Raises:
            StreamError: it failed.
        """
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.auto_cdc_run"],
            cwd=self.folder,
            env=self.env,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if "Exception" in line]
            fact = (said or done.stderr.splitlines() or ["ended without a word"])[-1][:300]
            raise StreamError("AUTO CDC", fact, f"Look into {self.folder.parent}/server.log")
        return float((self.folder / "seconds").read_text())

    def rows(self, name: str) -> pa.Table:
        """A table's rows after the last run."""
        return pq.read_table(self.folder / "rows" / name)


@contextmanager
def auto_cdc(settings: Settings, changes: Mapping[str, Path]) -> Iterator[AutoCdc]:
    """AUTO CDC on a warm server, which ends with it, as its tables do.

    Args:
        settings: of the lake, in whose folder it works.
        changes: by name of a keyed table, the Delta table of its changes.

    Raises:
        RuntimeSetupError: the jar with tables in memory cannot be had.
        StreamError: the server does not start, or runs no pipeline.
    """
    folder = settings.lake_dir / "auto_cdc"
    folder.mkdir(parents=True)
    memory = {f"spark.sql.catalog.{_CATALOG}": CATALOG}
    write_defaults(settings, folder, folder / "warehouse", memory)
    env = environment(settings, folder, (in_memory_tables(settings),))
    with connect_server(folder, env, settings.spark.master) as url:
        # Properties are the server's: a client that has some of a driver is refused.
        client = {**env, "SPARK_REMOTE": url, "SPARK_CONF_DIR": str(folder / "no_conf")}
        warm = folder / "warm_changes"
        write_deltalake(warm, _WARM)
        _pipeline(folder / "warm", {"warm": warm}, client).refresh()
        yield _pipeline(folder / "pipeline", changes, client)


def _pipeline(folder: Path, changes: Mapping[str, Path], env: Mapping[str, str]) -> AutoCdc:
    folder.mkdir()
    places = {name: str(place) for name, place in changes.items()}
    (folder / "tables.json").write_text(json.dumps(places))
    (folder / "definitions.py").write_text(_DEFINITIONS)
    spec = {
        "name": folder.name,
        "storage": (folder / "storage").as_uri(),
        "catalog": _CATALOG,
        "database": _SCHEMA,
        "libraries": [{"glob": {"include": "definitions.py"}}],
    }
    (folder / "spark-pipeline.yml").write_text(yaml.safe_dump(spec))
    return AutoCdc(folder, env)
