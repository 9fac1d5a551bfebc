"""The jar with Spark's own in-memory tables, which its tests have and AUTO CDC takes.

It is no part of the product, so it is fetched when the benchmark needs it, as the product's jars
are: into the user's cache, by Ivy, checked by its SHA-256.
"""

import tempfile
from pathlib import Path

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime import ivy
from lake_assets.runtime.cache import cache_dir
from lake_assets.runtime.file_lock import lock
from lake_assets.runtime.jars import Artifact
from lake_assets.runtime.java import find_java
from lake_assets.settings.schema import Settings

CATALOG = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"
"""Its catalog whose tables take row-level operations, and are one JVM's, whatever its sessions."""

_GROUP = "bench"
_IVY = Path(__file__).with_name("ivy.xml")
_JAR = Artifact(
    group="spark",
    name="spark-catalyst_2.13-4.2.0-tests.jar",
    sha256="9f46cfb6d4cb5dff696b76f8af3db1ecfc56cbc43ffb0fa785ef947ac4ad2620",
    size=7_973_608,
)


def in_memory_tables(settings: Settings) -> Path:
    """The jar, fetched if it is not there yet.

    Raises:
        RuntimeSetupError: it cannot be had, or is not what it should be.
    """
    folder = cache_dir(settings.runtime.cache) / _GROUP
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _JAR.name
    with lock(folder / "jar.lock"):
        if _JAR.fits(path):
            return path
        java = find_java(settings.runtime.cache)
        with tempfile.TemporaryDirectory(dir=folder) as staging:
            found = ivy.retrieve(
                (_GROUP,),
                java,
                Path(staging),
                settings=settings.runtime.ivy_settings,
                log=folder / "ivy.log",
                ivy_file=_IVY,
            )
            fetched = found / _GROUP / _JAR.name
            if not _JAR.fits(fetched):
                fact = "is not the file it should be"
                raise RuntimeSetupError(_JAR.name, fact, "Ask whose mirror it came from")
            fetched.replace(path)
    return path
