"""The jar with Spark's own in-memory tables, which its tests have and AUTO CDC takes."""

from pathlib import Path

from benchmarks.fetched_jar import fetched_jar
from lake_assets.runtime.jars import Artifact
from lake_assets.settings.schema import Settings

CATALOG = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"
"""Its catalog whose tables take row-level operations, and are one JVM's, whatever its sessions."""

_JAR = Artifact(
    group="spark",
    name="spark-catalyst_2.13-4.2.0-tests.jar",
    sha256="9f46cfb6d4cb5dff696b76f8af3db1ecfc56cbc43ffb0fa785ef947ac4ad2620",
    size=7_973_608,
)


def in_memory_tables(settings: Settings) -> Path:
    """The jar, fetched if it is not there yet; raises as `fetched_jar`."""
    return fetched_jar(settings.runtime, _JAR, "tables")
