import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from lake_assets.runtime.protoc import compile_files
from lake_assets.sinks.kafka.message_text import text_of
from lake_assets.sinks.kafka.message_types import (
    MisfitError,
    extend,
    joined,
    new_file,
)

STAMP = pa.timestamp("us", tz="UTC")


def _file(*columns, topic="cheaters-found"):
    file = new_file(topic)
    extend(file.message_type[0], [pa.field(*one) for one in columns])
    return file


def _compiled(file):
    made = compile_files("subject", {"feed.proto": text_of(file)})
    return FileDescriptorSet.FromString(made).file[-1]


def _numbers(message):
    return {field.name: field.number for field in message.field}


def test_each_column_becomes_a_field_of_its_type():
    place = pa.struct([("x", pa.float64()), ("tags", pa.list_(pa.string()))])
    file = _file(
        ("player", pa.string()),
        ("coins", pa.int64()),
        ("level", pa.int16()),
        ("at", STAMP),
        ("place", place),
        ("hits", pa.list_(place)),
        ("scores", pa.map_(pa.string(), pa.int32())),
        ("stays", pa.map_(pa.int64(), place)),
        ("price", pa.decimal128(10, 2)),
    )
    assert text_of(file) == (
        'syntax = "proto3";\n'
        "package lake_assets;\n"
        "\n"
        'import "google/protobuf/timestamp.proto";\n'
        "\n"
        "message CheatersFound {\n"
        "  message Place {\n"
        "    optional double x = 1;\n"
        "    repeated string tags = 2;\n"
        "  }\n"
        "  message Hits {\n"
        "    optional double x = 1;\n"
        "    repeated string tags = 2;\n"
        "  }\n"
        "  message Stays {\n"
        "    optional double x = 1;\n"
        "    repeated string tags = 2;\n"
        "  }\n"
        "  optional string player = 1;\n"
        "  optional int64 coins = 2;\n"
        "  optional int32 level = 3;\n"
        "  optional google.protobuf.Timestamp at = 4;\n"
        "  optional Place place = 5;\n"
        "  repeated Hits hits = 6;\n"
        "  map<string, int32> scores = 7;\n"
        "  map<int64, Stays> stays = 8;\n"
        "  optional string price = 9;\n"
        "}\n"
    )
    assert text_of(_compiled(file)) == text_of(file)


def test_a_struct_has_no_type_that_is_called_as_a_maps():
    place, scores = pa.struct([("x", pa.int32())]), pa.map_(pa.string(), pa.int64())
    text = text_of(_file(("scores_entry", place), ("scores", scores)))
    assert "optional ScoresEntry_ scores_entry = 1;" in text
    assert "map<string, int64> scores = 2;" in text


def test_a_field_keeps_its_number_and_a_new_one_gets_a_new_one():
    first = _compiled(_file(("a", pa.string()), ("s", pa.struct([("x", pa.int32())]))))
    later = joined([first])
    inner = pa.struct([("y", pa.int32()), ("x", pa.int32())])
    extend(later.message_type[0], [pa.field("b", pa.string()), pa.field("s", inner)])
    made = _compiled(later).message_type[0]
    assert _numbers(made) == {"a": 1, "s": 2, "b": 3}
    assert _numbers(made.nested_type[0]) == {"x": 1, "y": 2}
    again = joined([first, _compiled(later)])
    extend(again.message_type[0], [pa.field("a", pa.string())])
    assert text_of(again) == text_of(later)


def test_numbers_that_mean_two_things_are_told():
    one, other = _file(("a", pa.string())), _file(("b", pa.string()))
    with pytest.raises(MisfitError, match="field b = 1 of CheatersFound was a = 1 in an older"):
        joined([one, other])
    with pytest.raises(MisfitError, match="or had another type"):
        joined([one, _file(("a", pa.int64()))])


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (("a-b", pa.string()), "no name of a field in protobuf"),
        (("a", pa.list_(pa.list_(pa.string()))), r"a is list<.*which no field of a message holds"),
        (("a", pa.struct([("b", pa.null())])), "a.b is null, which no field"),
        (("a", pa.map_(pa.float64(), pa.string())), "a map's keys are texts, integers or booleans"),
        (("play_time", pa.string()), "play_time and playTime are the same name"),
    ],
)
def test_a_column_that_no_field_holds_is_told(column, why):
    with pytest.raises(MisfitError, match=why):
        _file(("playTime", pa.string()), column)


def test_a_topics_name_is_the_messages():
    assert [new_file(name).message_type[0].name for name in ("a.b_c-d", "7up", "__")] == [
        "ABCD",
        "Topic7up",
        "Row",
    ]


def test_what_is_not_made_here_is_not_written():
    file = compile_files(
        "subject",
        {
            "feed.proto": 'syntax = "proto3"; package lake_assets; message A {'
            "oneof one { string a = 1; string b = 2; } }"
        },
    )
    with pytest.raises(MisfitError, match=r"A\.a is of a oneof"):
        text_of(FileDescriptorSet.FromString(file).file[-1])


SCORES, PLACE = pa.map_(pa.string(), pa.int32()), pa.struct([("x", pa.int32())])


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ([("play_er", PLACE), ("PlayEr", pa.string())], "PlayEr clashes with the type PlayEr"),
        ([("play_er", SCORES), ("PlayErEntry", pa.string())], "clashes with the type PlayErEntry"),
        ([("PlayErEntry", pa.string()), ("play_er", SCORES)], "clashes with the type PlayErEntry"),
        ([("x", SCORES), ("X", SCORES)], "X clashes with the type XEntry"),
    ],
)
def test_names_that_types_of_other_columns_have_are_told(columns, told):
    with pytest.raises(MisfitError, match=told):
        _file(*columns)
