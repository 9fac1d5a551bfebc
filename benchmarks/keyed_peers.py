"""What keeps a keyed table beside ours: Spark's AUTO CDC, and `MERGE` as anybody would write it.

Both read the changes from the same Delta tables, as streams that end when they have all.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from benchmarks.pipelines import environment, run_once, write_defaults
from lake_assets.settings.schema import Settings

ROW = ("id", "version", "value")
"""Columns of the rows that are compared."""

_DEFINITIONS = """\
from pathlib import Path
from benchmarks.auto_cdc import declare
declare(spark, Path("tables.json"))
"""

_EXPORT = """\
import json
from pathlib import Path
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[2]").getOrCreate()
for name in json.loads(Path("tables.json").read_text()):
    rows = session.table(f"ice.keyed.{name}").select("id", "version", "value")
    rows.write.mode("overwrite").parquet(f"rows/{name}")
session.stop()
"""

_EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension,"
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
)

_MERGED = pa.schema(
    [
        ("id", pa.int64()),
        ("version", pa.int64()),
        ("value", pa.string()),
        ("deleted", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class AutoCdc:
    """`create_auto_cdc_flow` of Spark Declarative Pipelines, a flow a table.

    Its tables are Iceberg's: it refuses Delta's, which have no row-level operations of Spark's own.
    """

    settings: Settings
    changes: Mapping[str, Path]
    """By name of a keyed table, the Delta table of its changes."""

    jar: Path
    """Iceberg's runtime."""

    @property
    def _folder(self) -> Path:
        return self.settings.lake_dir / "auto_cdc"

    def refresh(self) -> float:
        """Seconds of a pipeline's run, without the start of its session.

        Raises:
            StreamError: it failed.
        """
        folder = self._folder
        if not folder.exists():
            self._prepare(folder)
        whole, start = run_once(folder, self.settings, (self.jar,))
        self._export(folder)
        return whole - start

    def rows(self, name: str) -> pa.Table:
        """A table's rows."""
        return pq.read_table(self._folder / "rows" / name)

    def _prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        places = {name: str(place) for name, place in self.changes.items()}
        (folder / "tables.json").write_text(json.dumps(places))
        (folder / "definitions.py").write_text(_DEFINITIONS)
        (folder / "export.py").write_text(_EXPORT)
        spec = {
            "name": "keyed",
            "storage": (folder / "storage").as_uri(),
            "catalog": "ice",
            "database": "keyed",
            "libraries": [{"glob": {"include": "definitions.py"}}],
        }
        (folder / "spark-pipeline.yml").write_text(yaml.safe_dump(spec))
        iceberg = {
            "spark.sql.sources.default": "iceberg",
            "spark.sql.extensions": _EXTENSIONS,
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hadoop",
            "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
        }
        write_defaults(self.settings, folder, folder / "warehouse", iceberg)

    def _export(self, folder: Path) -> None:
        """Read the tables in a process of its own, since only that has Iceberg's jar."""
        subprocess.run(
            [sys.executable, "export.py"],
            cwd=folder,
            env=environment(self.settings, folder, (self.jar,)),
            check=True,
            capture_output=True,
        )


def iceberg_jar() -> Path | None:
    """Where `mvn dependency:get` puts Iceberg's runtime; the newest, None if none is there."""
    place = Path.home() / ".m2" / "repository" / "org" / "apache" / "iceberg"
    return max(place.glob("iceberg-spark-runtime-4.*_2.13/*/*.jar"), default=None)


@dataclass(frozen=True, slots=True)
class Merge:
    """`MERGE INTO` in `foreachBatch`, a query a table; deleted rows stay, marked."""

    session: SparkSession
    settings: Settings
    changes: Mapping[str, Path]

    @property
    def _folder(self) -> Path:
        return self.settings.lake_dir / "merge"

    def refresh(self) -> float:
        """Seconds until all queries have taken what is new, one after the other."""
        began = perf_counter()
        for name, place in self.changes.items():
            target = self._folder / name
            if not target.exists():
                write_deltalake(target, pa.Table.from_pylist([], schema=_MERGED))
            writer = self.session.readStream.format("delta").load(str(place)).writeStream
            query = (
                writer.foreachBatch(partial(_merge, target=target))
                .option("checkpointLocation", str(self._folder / "checkpoints" / name))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
        return perf_counter() - began

    def rows(self, name: str) -> pa.Table:
        """A table's rows."""
        found = DeltaTable(self._folder / name).to_pyarrow_table()
        return found.filter(pc.invert(found["deleted"])).select(list(ROW))


def _merge(batch: DataFrame, _number: int, target: Path) -> None:
    batch.createOrReplaceTempView("changes")
    batch.sparkSession.sql(
        f"""
        merge into delta.`{target}` t using (
            select id, max(version) version, max_by(value, version) value,
                max_by(op = 'D', version) deleted
            from changes group by id
        ) c on t.id = c.id
        when matched and c.version > t.version then update set *
        when not matched then insert *
        """  # noqa: S608 - our own path
    )


def differing(tables: Sequence[pa.Table]) -> bool:
    """Whether tables have other rows than the first."""
    keys = [(name, "ascending") for name in ROW]
    first, *others = [table.select(list(ROW)).sort_by(keys).combine_chunks() for table in tables]
    return any(other.cast(first.schema) != first for other in others)
