"""One run of an AUTO CDC pipeline against a Spark Connect server, in a process of its own.

`python -m benchmarks.auto_cdc_run` in the pipeline's folder, with the server in `SPARK_REMOTE`. It
leaves what the tables hold in `rows`, and the run's seconds, without the start of its session, in
`seconds`. What the CLI `spark-pipelines` does is done here, since a catalog of tables in memory has
a session's schemas, and the CLI has no place to make one.
"""

import json
from pathlib import Path
from time import perf_counter

import yaml
from pyspark.pipelines.cli import run
from pyspark.sql import SparkSession

_SPEC = Path("spark-pipeline.yml")


def main() -> None:
    """Run the pipeline once, and read its tables."""
    declared = yaml.safe_load(_SPEC.read_text())
    schema = f"{declared['catalog']}.{declared['database']}"
    _session(schema)
    began = perf_counter()
    run(_SPEC, [], False, [], False)  # noqa: FBT003 - refresh what is new
    Path("seconds").write_text(str(perf_counter() - began))
    session = _session(schema)
    for name in json.loads(Path("tables.json").read_text()):
        rows = session.table(f"{schema}.{name}").drop("__spark_autocdc_metadata")
        rows.write.mode("overwrite").parquet(str(Path("rows", name).absolute()))
    session.stop()


def _session(schema: str) -> SparkSession:
    session: SparkSession = SparkSession.builder.getOrCreate()
    session.sql(f"create namespace if not exists {schema}")
    return session


if __name__ == "__main__":
    main()
