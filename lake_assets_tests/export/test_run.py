"""Exports of topics of a real broker."""

import json
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from lake_assets.errors import ExportError, SourceError
from lake_assets.export.run import Request, export_topic
from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.kafka.topics import client_config, end_offsets
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic
from lake_assets_tests.export.topics import (
    counted,
    export,
    fill,
    lines,
    numbers,
    range_of,
    transaction,
    visible,
    wait_until_readable,
)
from lake_assets_tests.services.secured import READER, STRANGER, Listener
from lake_assets_tests.sources.kafka.damage import damage

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(services):
    made = Topic(services)
    made.create(1)
    return made


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "out"


def test_a_topic_becomes_files_and_the_next_export_goes_on_after_them(topic, folder):
    fill(topic, *numbers(0, 25))
    (first,) = export(topic, folder, rows_per_file=10).partitions
    assert (first.first, first.after, first.rows, len(first.files)) == (0, 25, 25, 3)
    assert [path.name for path in visible(folder)] == first.files
    assert first.files[2] == f"{topic.name}-000000002-p0-20-25.jsonl"
    assert lines(folder) == numbers(0, 25)
    assert export(topic, folder).partitions[0].files == []
    fill(topic, *numbers(25, 30))
    (second,) = export(topic, folder).partitions
    assert (second.first, second.rows, second.files) == (
        25,
        5,
        [f"{topic.name}-000000003-p0-25-30.jsonl"],
    )
    assert lines(folder) == numbers(0, 30)


def test_records_that_were_aborted_and_markers_are_no_rows_and_no_loss(topic, folder):
    fill(topic, *numbers(0, 3))
    transaction(topic, *numbers(3, 6), commits=True)
    transaction(topic, *numbers(100, 160), commits=False)
    (first,) = export(topic, folder).partitions
    assert (first.rows, first.after) == (6, 3 + 4 + 61)
    transaction(topic, *numbers(100, 160), commits=False)
    (second,) = export(topic, folder).partitions
    assert (second.rows, second.files, second.after) == (0, [], 68 + 61)
    fill(topic, *numbers(6, 8))
    export(topic, folder)
    assert counted(folder) == range_of(0, 8)


def test_what_was_deleted_before_its_export_is_refused_unless_gaps_are_allowed(topic, folder):
    fill(topic, *numbers(0, 10))
    topic.delete_rows(0, before=4)
    export(topic, folder)
    assert counted(folder) == range_of(4, 10)  # before the first export nothing was promised
    fill(topic, *numbers(10, 20))
    topic.delete_rows(0, before=13)
    with pytest.raises(ExportError, match=r"offsets 10 to 12 of partition 0 were deleted.*--allow"):
        export(topic, folder)
    (done,) = export(topic, folder, allow_gaps=True).partitions
    assert [(gap.first, gap.after) for gap in done.gaps] == [(10, 13)]
    assert (done.first, done.after, done.rows) == (10, 20, 7)
    assert counted(folder) == range_of(4, 10) + range_of(13, 20)
    assert export(topic, folder).partitions[0].gaps == []


def test_a_topic_that_was_made_again_is_refused(topic, folder):
    fill(topic, *numbers(0, 5))
    export(topic, folder)
    topic.delete()
    topic.create(1)
    fill(topic, *numbers(5, 20))
    with pytest.raises(ExportError, match=r"made again since .*\. Export it into another"):
        export(topic, folder)
    assert counted(folder) == range_of(0, 5)


def test_values_that_are_no_json_are_lines_as_well(topic, folder):
    fill(topic, None, b"", b"a\nb", b"no json", b'{\n"n": 1}')
    export(topic, folder)
    assert lines(folder) == [b"null", b'""', b'"a\\nb"', b"no json", b'{ "n": 1}']


def test_a_file_is_full_by_its_bytes_as_well(topic, folder):
    fill(topic, *numbers(10, 20))
    (done,) = export(topic, folder, bytes_per_file=30).partitions
    assert [path.stat().st_size for path in visible(folder)] == [30, 30, 30, 10]
    assert done.size == 100


def test_new_partitions_are_taken_from_their_first_record(topic, folder):
    fill(topic, *numbers(0, 3))
    export(topic, folder)
    admin = AdminClient(client_config(topic.endpoints))
    (answer,) = admin.create_partitions([NewPartitions(topic.name, 2)]).values()
    answer.result()
    wait_for(lambda: len(end_offsets(topic.endpoints, topic.name)) == 2, "it", within_s=120)
    fill(topic, *numbers(3, 6), partition=1)
    assert [one.rows for one in export(topic, folder).partitions] == [0, 3]
    assert counted(folder) == range_of(0, 6)


def test_an_open_transaction_waits_for_the_next_export(topic, folder):
    fill(topic, *numbers(0, 3))
    producer = Producer({**client_config(topic.endpoints), "transactional.id": topic.name})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic.name, numbers(3, 4)[0], partition=0)
    producer.flush(60)
    fill(topic, *numbers(4, 6))
    assert export(topic, folder).partitions[0].after == 3
    producer.commit_transaction(60)
    wait_until_readable(topic, 7)
    assert export(topic, folder).partitions[0].after == 7
    assert counted(folder) == range_of(0, 6)


def test_a_compacted_topic_has_what_it_still_has(services, folder):
    topic = Topic(services)
    topic.create(
        **{
            "cleanup.policy": "compact",
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.001",
            "max.compaction.lag.ms": "100",
        }
    )
    producer = Producer(client_config(services))

    def is_compacted():
        """Looks after another record, with which a new segment begins."""
        producer.produce(topic.name, b'{"n": 1}', b"key")
        assert producer.flush(30) == 0
        return export(topic, folder.with_name(uuid4().hex)).partitions[0].rows < 5

    for _ in range(20):
        producer.produce(topic.name, b'{"n": 1}', b"key")
        assert producer.flush(30) == 0
    wait_for(is_compacted, "the topic to be compacted", within_s=120)
    (done,) = export(topic, folder).partitions
    assert done.after == end_offsets(services, topic.name)[0] > 20 > done.rows > 0


@pytest.fixture
def two(services):
    """A topic of two partitions, which have something."""
    made = Topic(services)
    made.create(2)
    fill(made, *numbers(0, 10))
    fill(made, *numbers(10, 20), partition=1)
    return made


def during(topic, folder, act, **options):
    """An export; `act` comes once a partition was read, and before its file is counted."""
    acts = [act]

    def on_progress(_done, _due):
        if acts:
            acts.pop()()

    request = Request(topic=topic.name, folder=folder, **options)
    return export_topic(topic.endpoints, request, on_progress=on_progress)


def test_what_is_deleted_during_an_export_is_a_gap(two, folder):
    def delete():
        two.delete_rows(1, before=4)

    with pytest.raises(ExportError, match="offsets 0 to 3 of partition 1 were deleted"):
        during(two, folder, delete)
    assert counted(folder) == range_of(0, 10)
    (_, one) = export(two, folder, allow_gaps=True).partitions
    assert [(gap.first, gap.after) for gap in one.gaps] == [(0, 4)]
    assert counted(folder) == range_of(0, 10) + range_of(14, 20)


def test_all_that_was_due_may_be_deleted_during_an_export(two, folder):
    def delete():
        two.delete_rows(1, before=10)

    (_, one) = during(two, folder, delete, allow_gaps=True).partitions
    assert [(gap.first, gap.after) for gap in one.gaps] == [(0, 10)]
    assert (one.after, one.rows) == (10, 0)


def test_a_topic_that_is_made_again_during_an_export_gets_nothing_into_the_folder(two, folder):
    def make_again():
        two.delete()
        two.create(2)

    with pytest.raises(ExportError, match="was deleted and made again"):
        during(two, folder, make_again)
    assert not visible(folder)


def test_records_that_brokers_lost_and_replaced_are_refused(topic, folder):
    """As brokers do that tell no identity of topics, or elect a leader that lacks records."""
    fill(topic, *numbers(0, 3))
    export(topic, folder)
    path = folder / f".{topic.name}.export.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "identity": None}))
    fill(topic, *numbers(3, 5))
    export(topic, folder)
    topic.delete()
    topic.create(1)
    fill(topic, *numbers(0, 9))
    with pytest.raises(ExportError, match="another record at offset 4 of partition 0 than was exp"):
        export(topic, folder)


def test_an_export_that_is_told_to_stop_ends_and_the_next_goes_on(two, folder):
    told = []
    request = Request(topic=two.name, folder=folder)
    report = export_topic(
        two.endpoints,
        request,
        stop=lambda: bool(told),
        on_progress=lambda done, due: told.append((done, due)),
    )
    assert (report.is_whole, told) == (False, [(10, 20)])
    assert [one.rows for one in report.partitions] == [10, 0]
    assert export(two, folder).is_whole
    assert counted(folder) == range_of(0, 20)


def test_a_topic_that_was_empty_is_known_by_its_first_export(topic, folder):
    assert export(topic, folder).partitions[0].after == 0
    topic.delete()
    topic.create(1)
    with pytest.raises(ExportError, match="was deleted and made again"):
        export(topic, folder)


def test_another_format_is_refused(topic, folder):
    export(topic, folder)
    with pytest.raises(ExportError, match=r"of topic '.*' as jsonl, not protobuf\. Go on"):
        export(topic, folder, format="protobuf")


def test_framed_values_are_refused_as_json_lines_and_nothing_is_left(topic, folder):
    fill(topic, b"\0\0\0\0\1\0x", b"\0\0\0\0\1\0y")
    with pytest.raises(ExportError, match=r"its first values are framed .* --format framed"):
        export(topic, folder)
    assert [path.name for path in folder.iterdir()] == [f".{topic.name}.export.lock"]
    export(topic, folder, format="framed")
    (file,) = visible(folder)
    assert file.suffix == ".framed"
    assert file.read_bytes() == b"\7\0\0\0\0\1\0x\7\0\0\0\0\1\0y"


def test_json_is_refused_as_framed_values(topic, folder):
    fill(topic, None, b'{"n": 1}')
    with pytest.raises(ExportError, match=r"its first values are not framed .* --format jsonl"):
        export(topic, folder, format="framed")


def test_a_damaged_batch_is_named_and_what_is_before_it_counts(topic, folder, pytestconfig):
    fill(topic, *numbers(0, 3))
    fill(topic, b"DAMAGED")
    damage(pytestconfig, topic.name, b"DAMAGED")
    for _ in range(2):
        with pytest.raises(SourceError, match="batch at offset 3 of partition 0 is damaged"):
            export(topic, folder)
    assert lines(folder) == numbers(0, 3)


def test_who_may_only_read_topics_exports_them(secured, folder):
    topic = Topic(Endpoints(kafka=secured.plain, registry=""))
    topic.create(1)
    fill(topic, *numbers(0, 3))

    def of(user):
        options = secured.options(Listener.PASSWORD, user=user)
        address = secured.address(Listener.PASSWORD)
        own = Endpoints(kafka=address, registry="", kafka_options=options)
        return Topic(own, name=topic.name)

    with pytest.raises(SourceError, match="Grant the user Describe and Read on the topic"):
        export(of(STRANGER), folder)
    export(of(READER), folder)
    assert counted(folder) == range_of(0, 3)


def test_a_topic_that_is_not_there_is_refused_and_not_made(services, folder):
    topic = Topic(services)
    with pytest.raises(ExportError, match=r"does not exist at .*\. Create it, or correct --topic"):
        export(topic, folder)
    assert topic.name not in AdminClient(client_config(services)).list_topics().topics
