"""Spark on a cluster: what a session is told where its executors are processes of other machines.

Executors share nothing with the driver but the lake's bucket and their network: jars and the
package come from the driver's own file server, and nothing names a folder, a socket or an address
of the driver's machine alone. What a laptop has instead is `spark.session`'s; what is in a package,
`runtime.python_package`'s.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from lake_assets.errors import SettingsError
from lake_assets.runtime import python_package
from lake_assets.runtime.python_package import NAME, PYTHON
from lake_assets.settings.load import executable_path
from lake_assets.settings.schema import Settings
from lake_assets.spark.masters import local_cores

_EXECUTOR_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where executors look for programs beside their package: a shell, tar and gzip."""


def master_of(settings: Settings) -> str:
    """Spark's master as it will be."""
    given = settings.spark.conf.get("spark.master")
    return settings.spark.master if given is None else given.get_secret_value()


def cores_of(settings: Settings) -> int | None:
    """How many tasks the driver's own JVM runs at once; None where executors elsewhere do."""
    return local_cores(master_of(settings))


def is_cluster(settings: Settings) -> bool:
    """Whether executors are processes of their own, and not the driver itself."""
    return cores_of(settings) is None


def ensure_reachable(settings: Settings) -> None:
    """Refuse what executors elsewhere could not reach, or would not have.

    Raises:
        SettingsError: the lake is in a folder: what they write would stay on their machines, and
            commits would name files that are not there. Or the package was made of other versions.
        RuntimeSetupError: the package cannot be read.
    """
    if not is_cluster(settings):
        return
    if settings.lake_root.is_local and not master_of(settings).startswith("local-cluster["):
        fact = f"is in a folder, which executors of {master_of(settings)} do not share"
        step = "Keep it in a bucket (docs/lake-in-a-bucket.md), or use the master local[*]"
        raise SettingsError(f"lake {settings.lake_root}", fact, step)
    if settings.spark.package is not None:
        _ensure_made_here(settings.spark.package, settings.feeds)


def _ensure_made_here(package: Path, feeds: Path | None) -> None:
    """Refuse a package of other versions: executors would do what this process does not expect."""
    has = python_package.label_of(package)
    here = python_package.label(feeds)
    other = sorted(name for name in here if has.get(name) != here[name])
    if other:
        fact = f"was made of another {', '.join(other)} than is here"
        raise SettingsError(f"package {package}", fact, "Make it again with `lake-assets package`")


def cluster_properties(settings: Settings) -> dict[str, str]:
    """What the properties of a session on a cluster have for those of a laptop.

    The driver's address is the one that Spark finds, or `spark.driver.host`; parallelism follows
    the cores that executors have.
    """
    found = {
        # In the folder for temporary files of whichever machine.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.daemon.module": "lake_assets.spark.daemon",
        # For the first executor; a cluster that grows may take longer.
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    }
    if settings.spark.package is None:
        return found
    # Workers, and helpers of the driver, start the same Python by its name.
    return {**found, "spark.executorEnv.PATH": f"./{NAME}/bin:{_EXECUTOR_PATH}"}


def archives(settings: Settings) -> dict[str, str]:
    """The property with what Spark unpacks beside each executor: the package before the user's."""
    package, given = settings.spark.package, settings.spark.conf.get("spark.archives")
    if package is None or not is_cluster(settings):
        return {}
    of_user = [given.get_secret_value()] if given else []
    return {"spark.archives": ",".join([f"{package}#{NAME}", *of_user])}


def python_variables(settings: Settings) -> Mapping[str, str]:
    """The environment in which PySpark and the driver's JVM find the executors' Python."""
    if not is_cluster(settings):
        return {"PYSPARK_PYTHON": sys.executable}
    if settings.spark.package is None:
        return {"PYSPARK_PYTHON": settings.spark.python or sys.executable}
    return {
        "PYSPARK_PYTHON": PYTHON,
        "PYSPARK_WORKER_PYTHON": sys.executable,
        "PATH": os.pathsep.join([str(Path(__file__).parent), executable_path()]),
    }
