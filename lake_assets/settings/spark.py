"""Settings of the Spark application. Those of the streams that it runs are `schema`'s."""

from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from lake_assets.settings.checks import memory_complaint
from lake_assets.settings.group import Group, refuse


class SparkSettings(Group):
    """The Spark application that runs streams and refreshes."""

    master: str = "local[*]"
    """A Spark master URL (`spark://host:7077`, …). A lake whose executors are elsewhere is in a
    bucket."""

    package: Path | None = None
    """Archive that `lake-assets package` made. Spark sends it to executors elsewhere, as their
    Python; unset, they have one with lake_assets installed, `python`."""

    python: str | None = None
    """The Python that executors elsewhere have, if they are sent none; unset, the path of the one
    that runs here."""

    driver_memory: str = "1g"
    """Heap of the driver's JVM. Below 700m a batch of 1,000,000 rows spills; above 2g the demo no
    longer keeps its 6 GB."""

    @field_validator("driver_memory")
    @classmethod
    def _is_enough(cls, value: str) -> str:
        refuse(memory_complaint(value))
        return value

    conf: dict[str, SecretStr] = Field(default_factory=dict)
    """Further Spark properties, as JSON; they win over ours. Masked as Kafka's options are, but
    Spark itself puts properties on its JVM's command line: give it secrets in a file."""
