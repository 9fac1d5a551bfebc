"""Several processes that fit one feed's tables to what each of them knows of its schemas."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum
from lake_assets.errors import LakeError, OutgrownFilesError
from lake_assets.formats.avro.payload_format import AvroFormat
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import AvroPayload
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.parquet.data_file import write_file
from lake_assets.silver.demux_position import POSITION, batch_of
from lake_assets.silver.fit_tables import TableFitting
from lake_assets.silver.recovery import Recovery
from lake_assets.silver.rows import silver_schema
from lake_assets.silver.schema_history import SchemaHistory
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets_tests.formats.avro.given import record, subject

FEED = Feed.model_validate(
    {
        "feed": "pay",
        "source": {"kafka": {"topic": "t"}},
        "payload": {"avro": {"subject": "s"}},
    }
)
(KEY,) = FEED.keys
TABLE = FEED.silver_table(KEY)

V1 = record(("id", "int"), ("n", "long"), ("m", "long"))
V2 = record(("id", "int"), ("n", "double"), ("m", "long"))
V3 = record(("id", "int"), ("n", "long"), ("m", "double"))


@dataclass
class Known:
    """A registry that always says the same."""

    schemas: SchemaSet

    def newest(self, _: str) -> SchemaSet:
        return self.schemas


class Stubborn(AvroFormat):
    """A format that takes no notice of what is to be kept."""

    def resolve(self, schemas: SchemaSet, _: Any) -> SchemaSet:
        return schemas


@dataclass
class Process:
    """One that knows some versions."""

    context: LakeContext
    fitting: TableFitting
    decoder: Any = None

    def start(self) -> Any:
        _, self.decoder = self.fitting.fit(self.fitting.format.newest(), None, [KEY], [KEY])
        return self.decoder.plan

    def files(self, **row: int) -> list[DataFile]:
        store = self.context.committer.store
        schema = silver_schema(self.decoder.columns, FEED.source.origin)
        rows = pa.Table.from_pylist([row], schema=schema)
        return [DataFile(**write_file(store, rows, log_of(store, TABLE).folder))]

    def append(self, number: int, **row: int) -> None:
        commit = Commit(table=TABLE, files=self.files(**row))
        self.context.committer.append([commit], Batch("streams", number))


@pytest.fixture
def process(settings):
    with ExitStack() as stack:

        def begin(*versions, rounds=True, kind=AvroFormat):
            context = stack.enter_context(open_lake(settings))
            made = kind(AvroPayload(subject="s"), Known(subject(*versions)))
            own = {"feed": FEED, "format": made, "context": context}
            fitting = TableFitting(**own, history=SchemaHistory(**own), rounds=rounds)
            return Process(context, fitting)

        yield begin


@pytest.fixture
def types(settings):
    def read():
        fields = DeltaTable(settings.lake_dir / TABLE.relative).schema().fields
        return {field.name: field.type.type for field in fields if field.name in "nm"}

    return read


def test_a_requeue_beside_streams_makes_no_doubles_of_what_they_write(process, types):
    streams = process(V1)
    streams.start()
    streams.append(0, id=1, n=10)
    plan = process(V1, V2, V3, rounds=False).start()
    assert types() == {"n": "long", "m": "long"}
    # Rows of both stay in quarantine.
    assert {schema_id: said.partition(":")[0] for schema_id, said in plan.unusable.items()} == {
        2: "field n is double in version 2, and the column stays bigint",
        3: "field m is double in version 3, and the column stays bigint",
    }
    assert plan.readers.keys() == {1}
    streams.append(1, id=2, n=20)


def test_a_value_that_a_double_would_round_keeps_its_column(process, types):
    streams = process(V1)
    streams.start()
    streams.append(0, id=1, n=2**53 + 1, m=1)
    plan = process(V1, V3, V2).start()
    assert types() == {"n": "long", "m": "double"}
    assert plan.unusable.keys() == {3}


def test_a_format_that_rounds_all_the_same_changes_nothing(process, types):
    process(V1).start()
    with pytest.raises(LakeError, match="column n has integers, which doubles would round"):
        process(V1, V2, rounds=False, kind=Stubborn).start()
    assert types() == {"n": "long", "m": "long"}


def test_files_of_integers_are_refused_once_another_process_made_doubles(process, types, settings):
    streams = process(V1)
    streams.start()
    streams.append(0, id=1, n=10)
    process(V1, V2).start()
    assert types()["n"] == "double"
    with pytest.raises(OutgrownFilesError, match="another process made n double"):
        streams.append(1, id=2, n=20)
    streams.start()  # as their next try does
    streams.append(1, id=2, n=20)
    rows = DeltaTable(settings.lake_dir / TABLE.relative).to_pyarrow_table()
    assert sorted(rows["n"].to_pylist()) == [10.0, 20.0]


@pytest.mark.parametrize("is_wider", [False, True])
def test_a_batch_that_was_cut_off_before_a_column_became_double_is_taken_back(
    process, settings, is_wider
):
    streams = process(V1)
    streams.start()
    committer, bronze = streams.context.committer, bronze_of(FEED.feed)
    committer.create({bronze: pa.schema([("value", pa.binary())])})
    journal = Journal(settings.state_dir / "demux.json")
    recovery = Recovery(
        feed=FEED.feed,
        origin=FEED.source.origin,
        context=streams.context,
        journal=journal,
        report=lambda _: None,
    )
    begun = recovery.run([TABLE], committer.fresh(bronze)).position
    after = replace(begun, number=begun.number + 1, tables=checksum({TABLE: begun.number + 1}))
    last = Commit(table=quarantine_of(FEED.feed), files=(), info={POSITION: after.to_json()})
    cut_off = Commit(table=TABLE, files=streams.files(id=1, n=10))
    journal.write(batch_of(FEED.feed, after.number), [cut_off, last])
    if is_wider:
        process(V1, V2).start()
    found = recovery.run([TABLE], committer.fresh(bronze)).position
    assert found.number == (begun if is_wider else after).number
    rows = committer.fresh(TABLE).to_pyarrow_table().num_rows
    assert rows == (0 if is_wider else 1)


def test_types_of_unions_keep_their_members_where_the_registry_has_deleted_a_version(process):
    card, iban = (record(("no", "string"), name=name) for name in ("Card", "Iban"))
    cash = record(("till", "string"), name="Cash")
    first, second = (record(("by", ["null", *some])) for some in ((card, iban), (iban, cash)))
    streams = process(first, second)
    before = streams.start()
    other = process(first, second)  # of another machine, without what is kept of the registry
    all_of = other.fitting.format.registry.schemas
    left = replace(all_of, versions={2: all_of.versions[2]})
    other.fitting.format.registry.schemas = left
    after = other.start()
    assert after.columns == before.columns
    assert after.readers[2] == before.readers[2]
    assert after.readers.keys() | after.open_ids == {1, 2}
