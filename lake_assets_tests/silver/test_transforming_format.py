"""A feed's `transform`: called in Spark's workers between decode and `select`."""

import itertools
import json
import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from lake_assets.delta.change_journal import ChangeJournal
from lake_assets.delta.commit import Batch
from lake_assets.errors import FeedError, LakeError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.schema_history import Why
from lake_assets.model.tables import quarantine_of
from lake_assets.silver.reprocess import Redo
from lake_assets.silver.transforming_format import with_transform
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.local import LocalStore
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.silver.selecting import Silver, beat, without_origin

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "python-transforms.md"

FEED = """\
feed: tracker
source: {kafka: {topic: tracker}}
payload: {json: {schema: "model string, heart_bpm int, owner struct<mail: string>", %s}}
route: {column: model, keys: [pulse, vita]}
transform: %s:change
"""

_NUMBERS = itertools.count()


class Transformed(Silver):
    """Demuxes with functions of modules beside a feed's file."""

    def __init__(self, spark, context, settings, folder):
        super().__init__(spark, context, settings)
        self.folder = folder

    def declared(self, code, more="", payload="on_unknown: rescue"):
        """A feed whose `change` is this code, in a module that no process has yet."""
        module = f"changing_{next(_NUMBERS)}"
        head = "import pyarrow as pa\nimport pyarrow.compute as pc\n\n\n"
        (self.folder / f"{module}.py").write_text(head + code)
        (self.folder / "tracker.yaml").write_text(FEED % (payload, module) + more)
        (feed,) = load_feeds(self.folder)
        return feed

    def decoding(self, declared):
        return with_transform(declared, super().decoding(declared))


@pytest.fixture
def silver(spark, settings, tmp_path):
    folder = tmp_path / "feeds"
    folder.mkdir()
    with ExitStack() as stack:
        context = stack.enter_context(open_lake(settings))
        yield Transformed(spark, context, settings, folder)


COUNTRY = """
def country(mail):
    if mail is None:
        return None
    name, at, host = mail.partition("@")
    if not at:
        raise ValueError(f"{mail!r} is no address")
    return host.rpartition(".")[2]


def change(rows):
    mails = pc.struct_field(rows["owner"], "mail").to_pylist()
    rows = rows.append_column("country", pa.array(map(country, mails), pa.string()))
    return rows.set_column(1, "heart_bpm", pc.divide(rows["heart_bpm"].cast(pa.float64()), 2.0))
"""


def mail(text, **more):
    return beat(owner={"mail": text}, **more)


def test_silver_has_what_the_function_gives_and_quarantine_the_rows_for_which_it_raises(silver):
    declared = silver.declared(COUNTRY)
    silver.take(
        declared,
        mail("ann@a.no"),
        mail("nobody"),
        b"no json",
        mail("bo@b.se", model="vita"),
        mail(None, heart_bpm=None),
    )
    rows = [(row["country"], row["heart_bpm"]) for row in silver.rows(declared)]
    assert rows == [("no", 45.0), (None, None)]
    assert [row["country"] for row in silver.rows(declared, "vita")] == ["se"]
    refused = silver.read(quarantine_of("tracker"))
    assert [(row["reason"], row["detail"]) for row in refused] == [
        ("transform_failed", "ValueError: 'nobody' is no address"),
        ("undecodable", "at character 0: Expecting value"),
    ]
    assert json.loads(refused[0]["value"])["owner"] == {"mail": "nobody"}


MORE = """\
select: ["* except (owner)", "concat(country, '!') as land", "date_format(now_at, 'E') as day"]
mask: {country: redact}
expectations:
  - {name: is_near, sql: "land in ('no!', 'se!')", action: quarantine}
"""

TIMED = COUNTRY.replace(
    "    return rows.set",
    "    at = pa.repeat(pa.scalar(0, pa.timestamp('us', 'UTC')), rows.num_rows)\n"
    "    rows = rows.append_column('now_at', at)\n    return rows.set",
)


@pytest.mark.parametrize("by_spark", [False, True])
def test_select_mask_and_expectations_see_what_it_gives(silver, by_spark):
    more = MORE if by_spark else MORE.replace(", \"date_format(now_at, 'E') as day\"", "")
    declared = silver.declared(TIMED, more)
    silver.take(declared, mail("ann@a.no"), mail("joe@a.us"), mail("nobody"))
    (row,) = silver.rows(declared)
    assert (row["country"], row["land"], row.get("day")) == (
        "***",
        "no!",
        "Thu" if by_spark else None,
    )
    refused = silver.read(quarantine_of("tracker"))
    assert [row["detail"] for row in refused] == ["is_near", "ValueError: 'nobody' is no address"]
    assert silver.by_spark == by_spark


def test_a_route_may_be_by_a_column_that_it_gives(silver):
    code = COUNTRY.replace('"country", ', '"kind", ')
    declared = silver.declared(code)
    route = declared.route.model_copy(update={"column": "kind", "keys": ("no",)})
    declared = declared.model_copy(update={"route": route})
    silver.take(declared, mail("ann@a.no"), mail("ann@a.se"))
    assert len(silver.rows(declared, "no")) == 1
    (refused,) = silver.read(quarantine_of("tracker"))
    assert (refused["reason"], refused["detail"]) == ("unknown_key", "kind = se")


DROPPING = "def change(rows):\n    return rows.drop_columns(['model'])\n"


NUMBERED = """
def change(rows):
    return rows.set_column(0, "model", pa.nulls(rows.num_rows, pa.float64()))
"""


@pytest.mark.parametrize(
    ("code", "fact"),
    [
        (DROPPING, "leaves out model, which says where a row goes"),
        (NUMBERED, r"(gives model as|makes model) double, which holds no keys"),
        ("def change(rows):\n    return rows['modle']\n", "raises for no rows"),
    ],
)
@pytest.mark.parametrize("more", ["", "select: ['*', 'heart_bpm + 1 as next']\n"])
def test_what_cannot_be_is_told_before_the_first_row(silver, spark, code, fact, more):
    with pytest.raises(FeedError, match=fact):
        silver.demux(silver.declared(code, more)).prepare(spark)


def test_new_columns_of_the_payload_reach_it_and_stay_after_a_restart(silver):
    code = "def change(rows):\n"
    code += "    names = [n for n in rows.schema.names if n != 'owner']\n"
    code += "    return rows.select(names)\n"
    payload = "on_unknown: add_columns"
    silver.take(silver.declared(code, payload=payload), beat(steps=5))
    declared = silver.declared(code, payload=payload)
    silver.take(declared, beat(steps=6, watts=1.5), batch=Batch("query", 1))
    rows = silver.rows(declared)
    assert {(row["steps"], row["watts"]) for row in rows} == {(5, None), (6, 1.5)}
    assert "owner" not in rows[0]


def test_another_code_gives_other_columns_and_older_ones_stay(silver):
    silver.take(silver.declared(COUNTRY), mail("ann@a.no"))
    code = (
        "def change(rows):\n    return rows.append_column('next', pc.add(rows['heart_bpm'], 1))\n"
    )
    declared = silver.declared(code.replace("['heart_bpm']", "['heart_bpm'].cast(pa.int64())"))
    with pytest.raises(LakeError, match="column heart_bpm is double"):
        silver.take(declared, mail("ann@a.no"), batch=Batch("query", 1))
    declared = silver.declared(
        code.replace("    return rows", "    return as_before(rows)") + AS_BEFORE
    )
    silver.take(declared, mail("ann@a.no"), batch=Batch("query", 1))
    rows = silver.rows(declared)
    assert {(row["country"], row["heart_bpm"], row["next"]) for row in rows} == {
        ("no", 45.0, None),
        (None, 90.0, 91),
    }


AS_BEFORE = """

def as_before(rows):
    return rows.set_column(1, "heart_bpm", rows["heart_bpm"].cast(pa.float64()))
"""


def test_a_type_that_changes_is_refused_before_anything_is_written(silver):
    silver.take(silver.declared(COUNTRY), mail("ann@a.no"))
    numbers = "[1] * rows.num_rows, pa.int64()"
    declared = silver.declared(COUNTRY.replace("map(country, mails), pa.string()", numbers))
    with pytest.raises(LakeError, match=r"column country is string, and .*:change gives bigint"):
        silver.take(declared, mail("ann@a.no"), batch=Batch("query", 1))
    assert len(silver.rows(declared)) == 1


def test_why_a_column_is_there_is_told(silver):
    declared = silver.declared(COUNTRY, "select: ['*', 'heart_bpm * 2 as twice']\n")
    demux = silver.take(declared, mail("ann@a.no"))
    history = demux._fitting.history  # noqa: SLF001 - what notes it
    _, _, others = history._decoded(demux._schemas)  # noqa: SLF001
    assert others == {
        "country": Why.TRANSFORMED,
        "heart_bpm": Why.TRANSFORMED,
        "twice": Why.SELECTED,
    }


def test_rows_that_failed_move_to_silver_once_the_code_is_mended(silver):
    silver.take(silver.declared(COUNTRY), mail("ann@a.no"), mail("nobody"), mail(""), b"no json")
    mended = COUNTRY.replace("    if not at:\n", "    if not mail:\n")
    redo = Redo(
        session=silver.spark,
        demux=silver.demux(silver.declared(mended)),
        journal=ChangeJournal(
            LocalStore.at(silver.settings.state_dir),
            LakeUri.local(silver.settings.state_dir / "tracker-redo.json"),
            KAFKA,
        ),
    )
    assert redo.requeue().rows["silver_pulse_events"] == 1
    assert [row["country"] for row in silver.rows(redo.demux.feed)] == ["no", ""]
    refused = silver.read(quarantine_of("tracker"))
    assert [row["detail"] for row in refused] == [
        "ValueError: '' is no address",
        "at character 0: Expecting value",
    ]


def block(language, number=0):
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return found[number]


def test_the_example_of_the_documentation_is_true(silver):
    (silver.folder / "callers.yaml").write_text(block("yaml"))
    (silver.folder / "enrich.py").write_text(block("python"))
    (declared,) = load_feeds(silver.folder)
    silver.take(declared, *json.loads(block("json")))
    (row,) = silver.rows(declared, "no")
    told = {"_rescued": row["_rescued"], **without_origin(row)}
    told["time"] = told["time"].strftime("%Y-%m-%dT%H:%M:%SZ")
    assert told == json.loads(block("json", 1))
    (refused,) = silver.read(quarantine_of("callers"))
    assert (refused["reason"], refused["detail"]) == ("transform_failed", "KeyError: '+99'")


def test_the_feeds_that_the_documentation_makes_in_python_are_feeds(silver):
    (silver.folder / "shop_feeds.py").write_text(block("python", 1))
    feeds = load_feeds(silver.folder)
    assert [feed.feed for feed in feeds] == ["shop_de", "shop_no", "shop_se"]
    silver.take(feeds[0], {"order_id": "a", "price": 1.25}, {"order_id": "b", "price": -1})
    (row,) = silver.rows(feeds[0], "shop_de")
    assert (row["order_id"], row["cents"]) == ("a", 125)
