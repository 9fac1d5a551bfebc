import threading
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from lake_assets.errors import RegistryError, StreamError
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.formats.questions import SchemaIdQuestion
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Stage, Waiting
from lake_assets.model.selected_names import with_masked_as_text
from lake_assets.streams.schemas import Schemas, format_with
from lake_assets_tests.sample import GAMES
from lake_assets_tests.silver.given import schemas_of

DOWN = RegistryError("schema registry http://r", "cannot be reached", "Start it")


class Stop:
    """An event that notes pauses instead of making them; set once they are used up."""

    def __init__(self, pauses):
        self.left = pauses

    def wait(self, _):
        self.left -= 1
        return self.left < 0


@dataclass
class Registry:
    """Answers with each of `answers` in turn; errors are raised."""

    answers: list
    asked: list = field(default_factory=list)

    def newest(self, subject, message):
        return self._answer((subject, message))

    def resolve(self, schemas, ids):
        return self._answer((schemas, ids))

    def check(self, subject):
        self._answer(subject)

    def _answer(self, question):
        self.asked.append(question)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def said():
    return []


@pytest.fixture
def ask(said):
    def build(*answers, pauses=0):
        registry = Registry(list(answers))
        return registry, Schemas(
            feed=GAMES,
            format=ProtobufFormat(GAMES.payload.protobuf, registry),
            stop=Stop(pauses),
            announce=said.append,
        )

    return build


def asked(schema_id):
    return frozenset({SchemaIdQuestion(schema_id)})


def test_the_feeds_subject_is_asked_for(ask):
    registry, schemas = ask(schemas_of(0))
    assert schemas.newest() == schemas_of(0)
    assert registry.asked == [("game-stream-value", None)]


def test_ids_are_asked_about_with_what_is_known(ask):
    registry, schemas = ask(schemas_of(1))
    assert schemas.resolve(schemas_of(0), asked(10)) == schemas_of(1)
    assert registry.asked == [(schemas_of(0), frozenset({10}))]


def test_a_registry_that_is_down_is_waited_for(ask):
    _, schemas = ask(DOWN, DOWN, schemas_of(0), pauses=2)
    assert schemas.newest() == schemas_of(0)


def test_rows_of_new_ids_wait_where_others_may_go_on(ask, said):
    registry, schemas = ask(DOWN, None, schemas_of(1))
    waiting = schemas.resolve(schemas_of(0), asked(17))
    assert waiting.waiting_ids == {17}
    assert waiting.for_next_batch(0.0).waiting_ids == frozenset()
    assert "Rows of new schemas wait" in said[0].reason
    # The next batches do not ask again before somebody has seen that it answers.
    assert schemas.resolve(schemas_of(0), asked(18)).waiting_ids == {18}
    assert len(registry.asked) == 1
    schemas.check()
    assert schemas.resolve(schemas_of(0), asked(18)) == schemas_of(1)


def test_all_rows_wait_where_somebody_wants_them_all(ask):
    _, schemas = ask(DOWN, schemas_of(1), pauses=1)
    schemas.may_wait = False
    assert schemas.resolve(schemas_of(0), asked(17)) == schemas_of(1)


def test_whether_the_registry_answers_is_asked_without_waiting(ask):
    _, schemas = ask(DOWN, None)
    schemas.is_silent = True
    with pytest.raises(RegistryError):
        schemas.check()
    assert schemas.is_silent
    schemas.check()
    assert not schemas.is_silent


def test_it_says_what_it_waits_for_until_it_has_it(ask, said):
    _, schemas = ask(DOWN, schemas_of(0), pauses=1)
    schemas.newest()
    assert said == [Waiting(feed="games", stage=Stage.DEMUX, reason=str(DOWN)), None]


def test_it_stops_waiting_when_it_is_told_to(ask):
    _, schemas = ask(DOWN, schemas_of(0), pauses=0)
    with pytest.raises(StreamError, match="was stopped while it waited"):
        schemas.newest()


def test_other_errors_are_not_waited_for(ask):
    _, schemas = ask(ValueError("a bug"), pauses=9)
    with pytest.raises(ValueError, match="a bug"):
        schemas.newest()


def test_a_real_event_ends_the_wait_at_once(said):
    stop = threading.Event()
    stop.set()
    payload_format = ProtobufFormat(GAMES.payload.protobuf, Registry([DOWN]))
    schemas = Schemas(feed=GAMES, format=payload_format, stop=stop, announce=said.append)
    with pytest.raises(StreamError):
        schemas.newest()


@pytest.mark.parametrize(
    "json",
    [
        {"infer": True, "hints": "id bigint"},
        {"schema": "id bigint", "on_unknown": "add_columns"},
    ],
)
def test_a_value_brings_no_column_that_the_feeds_function_gives(settings, json):
    feed = Feed.model_validate(
        {
            "feed": "m",
            "source": {"kafka": {"topic": "m"}},
            "payload": {"json": json},
            "transform": f"{__name__}:with_country",
            "mask": {"country": "redact"},
        }
    )
    # The mask alone asks Spark; it is of the same columns.
    found = format_with(settings, ENDPOINTS, feed.model_copy(update={"mask": {}}), None)
    masked = with_masked_as_text(feed, {"country"})
    assert masked.payload == feed.payload
    schemas, have = found.newest(), pa.schema([])
    values = [b'{"id": 3}', b'{"id": 4, "country": "se", "new": 1}']
    rows = pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary())})
    decoded = found.plan(schemas, have, ()).decode(rows)
    schemas = found.resolve(schemas, frozenset(decoded.questions))
    decoder = found.plan(schemas, have, ())
    assert not decoder.decode(rows).questions
    read = decoder.decode(rows).columns.to_pylist()
    assert [(row["country"], row["_rescued"]) for row in read] == [
        ("no", None),
        ("no", '{"country":"se"}'),
    ]
    assert [row["new"] for row in read] == [None, 1]


def with_country(rows):
    return rows.append_column("country", pa.array(["no"] * rows.num_rows, pa.string()))


ENDPOINTS = Endpoints(kafka="k", registry="http://r")
