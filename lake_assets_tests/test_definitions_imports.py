import subprocess
import sys

from lake_assets.settings.load import child_environment

HEAVY = (
    "boto3",
    "confluent_kafka",
    "duckdb",
    "fastavro",
    "google.protobuf",
    "obstore",
    "pandas",
    "psycopg",
    "rich",
    "sqlalchemy",
    "structlog",
    "pyspark.sql.connect",
)
"""What no load of definitions needs. PySpark itself comes with dagster-pyspark's resource, and
deltalake, pyarrow and sqlglot tell columns and lineage, which are part of the definitions."""

LOAD = """
import sys
from lake_assets.definitions import defs
repository = defs().get_repository_def()
assert repository.get_all_jobs()
print(*sorted(name for name in sys.argv[1:] if name in sys.modules), sep=",")
"""


def test_a_load_of_the_code_location_imports_nothing_that_only_runs_need(settings):
    done = subprocess.run(  # noqa: S603 our own code
        [sys.executable, "-c", LOAD, *HEAVY],
        env=child_environment(settings),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "", done.stdout
