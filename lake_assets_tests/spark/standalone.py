"""`benchmarks.standalone` as tests have it: processes and executors that live for a minute."""

from functools import partial

from benchmarks import standalone
from benchmarks.standalone import Cluster
from lake_assets_tests.conftest import QUICK_JAVA

__all__ = ["EXECUTOR", "Cluster", "run_cluster"]

EXECUTOR = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": QUICK_JAVA,
}
"""Of an application: small executors, which compile quickly."""

run_cluster = partial(standalone.run_cluster, jvm=QUICK_JAVA.split())
