"""What happened, in OpenLineage's words: runs, jobs, and datasets with their facets.

The only module that knows its classes; imported once there is something to tell.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from importlib.metadata import version
from typing import Any
from uuid import UUID

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    dataset_version_dataset,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    processing_engine_run,
    schema_dataset,
    sql_job,
    storage_dataset,
)

from lake_assets.lineage.datasets import DatasetName

PRODUCER = "pkg:pypi/lake-assets"

_MOST_OUTPUTS = 200
"""Tables that an event tells of; a refresh of more keys is told in several events of its run."""


class Kind(StrEnum):
    """What a job is."""

    STREAM = "STREAMING"
    REFRESH = "BATCH"


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A run, and what is known of it when it is told."""

    run: UUID
    at: datetime
    namespace: str
    job: str
    kind: Kind
    sql: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column of a table that was written, and what it is made from."""

    name: str
    type: str
    comment: str = ""
    made_from: Sequence[tuple[DatasetName, str]] | None = None
    """Tables and columns; None where that is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A table that was written."""

    name: DatasetName
    rows: int
    version: int | None = None
    columns: Sequence[Column] = field(default=())


def event(
    state: str,
    told: Told,
    read: Sequence[DatasetName] = (),
    written: Sequence[Written] = (),
    error: str = "",
) -> Iterator[RunEvent]:
    """A run's event, or several where it wrote very many tables.

    Args:
        state: of the run, one of OpenLineage's: `START`, `RUNNING`, `COMPLETE`, `FAIL`.
        told: which run.
        read: what it reads.
        written: what it wrote since it was last told.
        error: why it failed.
    """
    first = len(written) % _MOST_OUTPUTS if len(written) > _MOST_OUTPUTS else len(written)
    for begin in range(first, len(written), _MOST_OUTPUTS):
        part = written[begin : begin + _MOST_OUTPUTS]
        yield _event(RunState.RUNNING, told, read, part, "")
    yield _event(RunState[state], told, read, written[:first], error)


def _event(
    state: RunState,
    told: Told,
    read: Sequence[DatasetName],
    written: Sequence[Written],
    error: str,
) -> RunEvent:
    job_facets: dict[str, Any] = {
        "jobType": job_type_job.JobTypeJobFacet(
            processingType=told.kind.value, integration="LAKE_ASSETS", jobType=told.kind.name
        )
    }
    if told.sql:
        job_facets["sql"] = sql_job.SQLJobFacet(query=told.sql, dialect="spark")
    run_facets: dict[str, Any] = {
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            version=version("lake-assets"), name="lake_assets"
        )
    }
    if error:
        run_facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
            message=error, programmingLanguage="python"
        )
    return RunEvent(
        eventType=state,
        eventTime=told.at.isoformat(),
        run=Run(runId=str(told.run), facets=run_facets),
        job=Job(namespace=told.namespace, name=told.job, facets=job_facets),
        producer=PRODUCER,
        inputs=[InputDataset(namespace=one.namespace, name=one.name) for one in read],
        outputs=[_output(one) for one in written],
    )


def _output(written: Written) -> OutputDataset:
    facets: dict[str, Any] = {
        "storage": storage_dataset.StorageDatasetFacet(storageLayer="delta", fileFormat="parquet")
    }
    if written.version is not None:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(
            datasetVersion=str(written.version)
        )
    if written.columns:
        facets["schema"] = schema_dataset.SchemaDatasetFacet(
            fields=[
                schema_dataset.SchemaDatasetFacetFields(
                    name=one.name, type=one.type, description=one.comment or None
                )
                for one in written.columns
            ]
        )
    if made := {one.name: one.made_from for one in written.columns if one.made_from is not None}:
        facets["columnLineage"] = _column_lineage(made)
    return OutputDataset(
        namespace=written.name.namespace,
        name=written.name.name,
        facets=facets,
        outputFacets={
            "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                rowCount=written.rows
            )
        },
    )


def _column_lineage(
    made: Mapping[str, Sequence[tuple[DatasetName, str]]],
) -> column_lineage_dataset.ColumnLineageDatasetFacet:
    direct = column_lineage_dataset.Transformation(type="DIRECT")
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            name: column_lineage_dataset.Fields(
                inputFields=[
                    column_lineage_dataset.InputField(
                        namespace=table.namespace,
                        name=table.name,
                        field=column,
                        transformations=[direct],
                    )
                    for table, column in read
                ]
            )
            for name, read in made.items()
        }
    )
