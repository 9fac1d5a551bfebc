"""Random input at each door that takes what others wrote: refused in words, or taken; never more.

Some seconds in a usual run; `--fuzz-seconds 600` goes on for as long, with another seed each time.
"""

import base64
import json
import random
import time

import duckdb
import pyarrow as pa
import pytest

from lake_assets.errors import LakeAssetsError
from lake_assets.feeds.load import load_feeds
from lake_assets.formats.avro.compile import compile_schema
from lake_assets.formats.avro.schema import parse
from lake_assets.formats.json_schema.language import JSON_SCHEMA
from lake_assets.formats.protobuf.decoders import handler_of
from lake_assets.formats.protobuf.isolate_errors import isolate
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.query.statement import read_statement
from lake_assets_tests.formats.protobuf.given import descriptor_set_of

FEED = b"""feed: games
source: {kafka: {topic: t}}
payload: {json: {schema: "game string, score int, tags array<struct<a: int>>"}}
route: {column: game, keys: &k [uno, chess], unknown: quarantine}
expectations: [{name: known, sql: "score > 0 and game <> ''", action: drop}]
gold:
  - {name: best, sql: "select max(score) as s from silver where score in (select 1)"}
  - {name: agg, keys: [game], measures: {n: count(*)}, schedule: "*/5 * * * *"}
"""

SQL = b"""with w as (select a, b from silver.x join gold."y" using (k) where a > 1.5)
select *, unnest([1, 2]), count(*) over (order by b) from w, range(3) t(i) union all
(select 'x' || chr(1), {'a': 1}.a from '/etc/passwd') order by 1 limit 3"""

PROTO = b"""syntax = "proto3"; import "google/protobuf/timestamp.proto";
message event { int32 a = 1; repeated N n = 2; map<string, N> m = 3; oneof o { string s = 4; }
google.protobuf.Timestamp t = 5; enum E { X = 0; } E e = 6; }
message N { event v = 1; bytes b = 2; }"""

AVRO = json.dumps(
    {
        "type": "record",
        "name": "e",
        "fields": [
            {"name": "a", "type": ["null", "int", {"type": "map", "values": "string"}]},
            {"name": "b", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9}},
            {"name": "c", "type": {"type": "array", "items": "long"}, "default": []},
        ],
    }
).encode()

JSON_TEXT = b"""{"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"anyOf":
[{"type": "null"}, {"type": "array", "items": {"type": "number"}}]}}, "$defs": {"n": {"type":
"object", "properties": {"again": {"$ref": "#/$defs/n"}}}}}"""

MESSAGE = (
    b"\0\0\0\0\7\0\x08\x96\1\x12\x06\x12\x04abcd\x1a\x05\n\1k\x12\0\x22\3xyz\x2a\4\x08\1\x10\2"
)

EVENTS = "message event { int32 a = 1; repeated N n = 2; map<string, N> m = 3; string s = 4; } "
EVENTS += "message N { bytes b = 2; }"


def mutated(chance, content):
    """Some bytes changed, cut, repeated or moved, often where words of it begin."""
    found = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at, to = sorted(chance.randrange(len(found) + 1) for _ in range(2))
        match chance.randrange(6):
            case 0:
                found[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del found[at : min(to, at + 12)]
            case 2:
                found[at:at] = found[at : min(to, at + 40)] * chance.choice((1, 2, 50))
            case 3:
                found[at:at] = chance.choice(WORDS)
            case 4:
                found[at:at] = chance.choice((b"(", b"[", b"{", b"<")) * chance.choice((1, 200))
            case 5:
                other = chance.randrange(len(found) + 1)
                found[other:other] = found[at : min(to, at + 30)]
    return bytes(found)


WORDS = [
    *b"null true -1 1e999 .nan *k &k <<: !!python/name:os '' \" \\ ; ,, :: -- /* */ ~ ${x}".split(),
    *b"select from reflect( array< struct< decimal(99,9) \xff\xfe \0 \n\n \t".split(b" "),
    "\u202e\U0001f600".encode(),
    b"9" * 400,
]


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    """What takes what, by name: a sample that is right, and a function."""
    folder = tmp_path_factory.mktemp("fuzzed")
    handler = handler_of("event", descriptor_set_of(EVENTS))

    def feed(content):
        (folder / "games.yaml").write_bytes(content)
        load_feeds(folder)

    def messages(content):
        good = b"\0\0\0\0\7\0\x08\1"
        found = isolate(handler, pa.array([good, content[:5] + b"\0" + content[6:]], pa.binary()))
        assert 0 not in found.refused

    def text(take):
        return lambda content: take(content.decode(errors="replace"))

    with duckdb.connect(":memory:") as parser:
        yield {
            "feed": (FEED, feed),
            "sql": (SQL, text(lambda sql: read_statement(parser, sql))),
            "protobuf": (PROTO, text(lambda schema: PROTOBUF.compile("it", schema, {}))),
            "descriptor": (
                base64.b64decode(base64.b64encode(b'\n\x01x"\x0b\n\x05event\x12\x02\n\0')),
                lambda raw: PROTOBUF.compile("it", base64.b64encode(raw).decode(), {}),
            ),
            "avro": (AVRO, text(lambda schema: parse(compile_schema("it", schema, {})))),
            "json schema": (JSON_TEXT, text(lambda schema: JSON_SCHEMA.compile("it", schema, {}))),
            "message": (MESSAGE, messages),
        }


@pytest.mark.timeout(3_600)
def test_what_others_wrote_is_taken_or_refused_in_words(doors, pytestconfig):
    seconds = pytestconfig.getoption("fuzz_seconds")
    # The same examples in each usual run.
    seed = 1 if seconds is None else time.time_ns()
    chance = random.Random(seed)  # noqa: S311 - no secret
    left = 300 if seconds is None else None
    end = time.monotonic() + (seconds or 0)
    # A compiler is a process, of which one costs as much as a hundred of the others.
    often = sorted(doors) + 9 * sorted(doors.keys() - {"protobuf", "descriptor"})
    taken = refused = 0
    while left != 0 if left is not None else time.monotonic() < end:
        left = left - 1 if left is not None else None
        name = chance.choice(often)
        sample, take = doors[name]
        content = mutated(chance, sample)
        begin = time.monotonic()
        try:
            take(content)
            taken += 1
        except LakeAssetsError:
            refused += 1
        except BaseException as problem:  # noqa: BLE001 - a panic of Rust's is one, too
            pytest.fail(f"seed {seed}, {name}: {type(problem).__name__} {problem} of {content!r}")
        if seconds is not None and time.monotonic() - begin > 20:
            pytest.fail(
                f"seed {seed}, {name}: took {time.monotonic() - begin:.0f} s of {content!r}"
            )
    assert taken
    assert refused
