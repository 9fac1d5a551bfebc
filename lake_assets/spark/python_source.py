"""Streaming from a source that Spark reads by Python: its data source is made for one query."""

from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource


def read_stream(
    session: SparkSession, kind: str, source: type[DataSource], reading: object
) -> DataFrame:
    """Stream what a source has.

    Args:
        session: runs the query.
        kind: of the source, in a word.
        source: Spark's view of it, which finds `reading` as a member of its own.
        reading: what is read.
    """
    # A name serves one session, and no other of the process takes it again.
    name = f"{kind}_{uuid4().hex}"
    members = {"reading": reading, "name": classmethod(lambda _: name)}
    session.dataSource.register(type(name, (source,), members))
    return session.readStream.format(name).load()
