"""What a server is told of refreshes, over tables that were made without Spark."""

import pytest

from lake_assets.lineage.refreshes import told_of_refreshes
from lake_assets.model.reports import RefreshReport, ViewRefresh
from lake_assets.model.tables import EVERY_KEY
from lake_assets_tests.catalog.lakes import ALL, BEST, FEED, OF_ALL, POKER, UNO, UNO_BEST, fill


@pytest.fixture
def lake(settings):
    fill(settings)
    return settings


def report(*keys, view=BEST):
    done = [
        ViewRefresh(key=key, view=view.name, rows=1, rows_written=1, silver_version=1)
        for key in keys
    ]
    return RefreshReport(refreshed=tuple(done), up_to_date=())


def dataset(settings, table):
    return {"namespace": "file", "name": str(settings.lake_dir / table.relative)}


def told(events):
    return [(one["eventType"], one["job"]["name"]) for one in events]


def test_a_view_that_is_computed_begins_and_ends_with_its_tables(lake, keeper):
    with told_of_refreshes(lake, FEED, is_last=True) as lineage:
        lineage.began(BEST)
        lineage.ended(BEST, report("uno"))
        lineage.ended(ALL, report(view=ALL))  # nothing was to be done
    start, complete = keeper.events(2)
    job = "play.refresh.best"
    assert told([start, complete]) == [("START", job), ("COMPLETE", job)]
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert start["job"]["namespace"] == "lake_assets"
    assert [(one["namespace"], one["name"]) for one in start["inputs"]] == [
        tuple(dataset(lake, table).values()) for table in (POKER, UNO)
    ]
    assert [(one["namespace"], one["name"]) for one in complete["inputs"]] == [
        tuple(dataset(lake, UNO).values())
    ]
    (output,) = complete["outputs"]
    assert output["name"] == str(lake.lake_dir / UNO_BEST.relative)
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 1
    facets = output["facets"]
    assert [(one["name"], one["type"]) for one in facets["schema"]["fields"]] == [
        ("kind", "string"),
        ("total", "long"),
    ]
    (read,) = facets["columnLineage"]["fields"]["total"]["inputFields"]
    assert {name: read[name] for name in ("namespace", "name", "field")} == {
        **dataset(lake, UNO),
        "field": "ante",
    }
    assert facets["version"]["datasetVersion"] == "1"
    assert {one["path"] for one in keeper.told()} == {"/api/v1/lineage"}
    assert {one["login"] for one in keeper.told()} == {"Bearer sesame"}


def test_a_view_over_all_keys_is_of_each_keys_tables(lake, keeper):
    with told_of_refreshes(lake, FEED, is_last=True) as lineage:
        lineage.ended(ALL, report(EVERY_KEY, view=ALL))  # it was not known to be behind
    start, complete = keeper.events(2)
    assert told([start, complete]) == [
        ("START", "play.refresh.all_of_it"),
        ("COMPLETE", "play.refresh.all_of_it"),
    ]
    names = {one["name"] for one in complete["inputs"]}
    tables = [FEED.gold_table(BEST, key) for key in ("uno", "poker")]
    assert names == {str(lake.lake_dir / table.relative) for table in tables}
    (output,) = complete["outputs"]
    assert output["name"] == str(lake.lake_dir / OF_ALL.relative)
    fields = output["facets"]["columnLineage"]["fields"]["total"]["inputFields"]
    assert {one["name"] for one in fields} == names
    assert complete["job"]["facets"]["sql"]["query"] == ALL.sql


def test_a_failure_is_told_of_the_view_that_had_begun(lake, keeper):
    def refresh():
        with told_of_refreshes(lake, FEED, is_last=True) as lineage:
            lineage.began(BEST)
            lineage.ended(BEST, report("uno"))
            lineage.began(ALL)
            raise ValueError("no such column\n at line 1")

    with pytest.raises(ValueError, match="no such column"):
        refresh()
    events = keeper.events(4)
    assert told(events)[2:] == [
        ("START", "play.refresh.all_of_it"),
        ("FAIL", "play.refresh.all_of_it"),
    ]
    assert events[-1]["run"]["facets"]["errorMessage"]["message"] == "no such column"


def test_a_refresh_of_very_many_keys_is_told_in_several_events(lake, keeper):
    keys = [f"k{number}" for number in range(450)]
    with told_of_refreshes(lake, FEED, is_last=True) as lineage:
        lineage.began(BEST)
        lineage.ended(BEST, report(*keys))
    events = keeper.events(4)
    assert [(one["eventType"], len(one["outputs"])) for one in events] == [
        ("START", 0),
        ("RUNNING", 200),
        ("RUNNING", 200),
        ("COMPLETE", 50),
    ]


def test_without_openlineages_variables_nothing_is_told_or_imported(lake):
    with told_of_refreshes(lake, FEED, is_last=True) as lineage:
        lineage.began(BEST)
        lineage.ended(BEST, report("uno"))
        assert lineage._out is None  # noqa: SLF001 - there is nothing else to see
