"""What a view's columns are made of, by its SQL alone."""

import pytest

from lake_assets.model.gold_views import GoldView
from lake_assets.model.queries import QuerySource
from lake_assets.model.view_lineage import lineage_of

OF_KEY, OF_ALL = QuerySource(is_of_key=True), QuerySource()

BEST = QuerySource(view="best", is_of_key=True)

SILVER = {OF_KEY: ["kind", "Ante", "owner", "time"]}


def told(columns=SILVER, **declared):
    view = GoldView.model_validate({"name": "view", **declared})
    return {name: [*map(str, read)] for name, read in lineage_of(view, columns).items()}


MEASURED = {
    "keys": {"kind": "kind", "who": "upper(owner.mail)", "day": "to_date(TIME)"},
    "measures": {
        "rows": "count(*)",
        "high": "sum(ante) filter (where kind = 'x')",
        "half": "approx_percentile(Ante, 0.5)",
        "sketch": "kll_sketch_agg_double(ante)",
        "both": "max_by(struct(ante, kind), time)",
        "many": "max(size(filter(array(ante, 1), z -> z > 1)))",
    },
}


def test_keys_and_measures_are_of_silvers_columns():
    assert told(**MEASURED) == {
        "kind": ["silver.kind"],
        "who": ["silver.owner"],
        "day": ["silver.time"],
        "rows": [],
        "high": ["silver.Ante", "silver.kind"],
        "half": ["silver.Ante"],
        "sketch": ["silver.Ante"],
        "both": ["silver.Ante", "silver.kind", "silver.time"],
        "many": ["silver.Ante"],
    }


def test_windows_are_of_their_time():
    windows = {"time": "time", "every": "1m", "watermark": "1s"}
    found = told(measures={"n": "count(*)"}, windows=windows)
    assert found == {"window_start": ["silver.time"], "window_end": ["silver.time"], "n": []}


def test_one_measure_that_is_not_made_out_leaves_the_others():
    found = told(keys=["kind"], measures={"odd": "sum(ante +) of", "n": "max(ante)"})
    assert found == {"kind": ["silver.kind"], "n": ["silver.Ante"]}


def test_before_there_is_silver_nothing_is_told_of_its_columns():
    assert told({}, **MEASURED) == {}


def test_keyed_tables_have_silvers_columns():
    keyed = {"by": "kind", "order": ["time", "_offset"], "history": 2, "except_columns": ["owner"]}
    columns = {OF_KEY: [*SILVER[OF_KEY], "_offset"]}
    assert told(columns, keyed=keyed) == {
        "kind": ["silver.kind"],
        "Ante": ["silver.Ante"],
        "time": ["silver.time"],
        "_offset": ["silver._offset"],
        "__start_at": ["silver._offset", "silver.time"],
        "__end_at": ["silver._offset", "silver.time"],
    }


@pytest.mark.parametrize(
    ("sql", "columns", "expected"),
    [
        (
            "select *, ANTE * 2 as Twice from silver",
            SILVER,
            {
                "kind": ["silver.kind"],
                "Ante": ["silver.Ante"],
                "owner": ["silver.owner"],
                "time": ["silver.time"],
                "twice": ["silver.Ante"],
            },
        ),
        (
            """with x as (select kind, max(ante) as m from silver group by 1)
            select x.m, b.total as Sum from x join gold.best b on b.kind = x.kind""",
            SILVER | {BEST: ["kind", "total"]},
            {"m": ["silver.Ante"], "Sum": ["gold.best.total"]},
        ),
        (
            "select f.total as t, s.kind as k from other.gold.best f, silver_all s",
            {OF_ALL: ["kind"]},
            {"t": ["other.gold.best.total"], "k": ["silver_all.kind"]},
        ),
        (
            "select kind from silver union all select upper(owner.mail) from silver",
            SILVER,
            {"kind": ["silver.kind", "silver.owner"]},
        ),
        (
            """select item, sum(ante) over (partition by kind order by time) as s
            from silver lateral view explode(owner.items) e as item""",
            SILVER,
            {
                "item": ["silver.owner"],
                "s": ["silver.Ante", "silver.kind", "silver.time"],
            },
        ),
        (
            "select `my col`, 1 as one from silver",
            {OF_KEY: ["my col"]},
            {"my col": ["silver.my col"], "one": []},
        ),
        # Whose it is, only Spark can tell.
        ("select total from silver, other.silver", {}, {}),
    ],
)
def test_queries_are_read_as_far_as_they_tell(sql, columns, expected):
    assert told(columns, sql=sql) == expected


def test_what_is_nested_too_deeply_tells_nothing():
    deep = f"sum({'(' * 2000}ante{')' * 2000})"
    assert told(keys={"kind": "kind"}, measures={"deep": deep}) == {"kind": ["silver.kind"]}


def test_hundreds_of_columns_are_each_of_their_own():
    measures = {f"c{number}": f"max(ante + {number})" for number in range(400)}
    items = ["select", ", ".join(f"{sql} as {name}" for name, sql in measures.items()), "from"]
    expected = {name: ["silver.Ante"] for name in measures}
    assert told(sql=" ".join([*items, "silver"])) == expected
    assert told(keys={"kind": "kind"}, measures=measures) == {"kind": ["silver.kind"], **expected}
