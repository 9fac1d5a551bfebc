import json

import pytest

from lake_assets_tests.catalog.conftest import of_unity, unity, unity_server
from lake_assets_tests.catalog.lakes import UNO, add_tags, fill
from lake_assets_tests.commandline import sparkless_here

__all__ = ["of_unity", "unity", "unity_server"]

YAML = """
feed: play
source: {kafka: {topic: plays}}
payload: {json: {schema: "kind string, ante int"}}
route: {column: kind, keys: [uno, poker]}
gold:
  - {name: best, description: Most that was staked., keys: [kind], measures: {total: sum(ante)}}
  - name: all_of_it
    sql: select kind, sum(total) as total from gold_all.best group by kind
"""


@pytest.fixture
def lake(of_unity, tmp_path):
    fill(of_unity)
    feeds = tmp_path / "play"
    feeds.mkdir()
    (feeds / "play.yaml").write_text(YAML)
    return of_unity.model_copy(update={"feeds": feeds})


def said(settings, *arguments, code=0):
    done = sparkless_here(settings, "catalog", *arguments)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_a_dry_run_tells_what_a_run_then_does(lake):
    assert "no table of this lake is registered" in said(lake, "show")
    planned = said(lake, "sync", "--dry-run")
    assert "create lake_silver.silver_uno_events: is new" in planned
    assert "10 to do, 0 as they should be, 0 left alone" in planned
    assert "10 done, 0 as they should be" in said(lake, "sync")
    add_tags(lake, UNO)
    told = json.loads(said(lake, "sync", "--json"))["result"]
    assert told["actions"] == [
        {
            "do": "update",
            "name": "lake_silver.silver_uno_events",
            "why": "has a new column tags",
        }
    ]
    assert (told["unchanged"], told["conflicts"], told["is_dry_run"]) == (5, [], False)


def test_what_is_registered_is_shown(lake):
    said(lake, "sync")
    shown = " ".join(said(lake, "show").split())
    assert "lake_bronze.bronze" in shown
    (view, *_) = [
        one for one in json.loads(said(lake, "show", "--json"))["result"] if "best" in one["name"]
    ]
    assert view["comes_from"] == "lake_silver.silver_uno_events"
    assert view["comment"] == "Most that was staked."
    assert view["columns"][1] == {"name": "total", "type": "bigint", "comment": "from silver.ante"}


def test_a_source_is_shown_whatever_it_is_called(lake):
    (lake.feeds / "play.yaml").write_text(YAML.replace("topic: plays", "topics: 'plays-[a-z]+'"))
    said(lake, "sync")
    assert "plays-[a-z]+" in "".join(said(lake, "show").replace("│", "").split())


def test_a_name_that_is_somebody_elses_ends_with_four(lake, tmp_path):
    said(lake, "sync")
    other = lake.model_copy(update={"home": tmp_path / "other"})
    fill(other)
    done = sparkless_here(other, "catalog", "sync")
    assert (done.returncode, done.stderr.count("left alone: ")) == (4, 6)
    assert "6 left alone" in done.stdout
    assert "6 done" in said(other, "sync", "--take-over")


def test_without_a_catalogue_it_is_one_line(settings):
    done = sparkless_here(settings, "catalog", "show")
    assert done.returncode == 1
    assert done.stderr.startswith("error: LAKE_ASSETS_CATALOG_KIND: is not set. Set it to unity")


@pytest.mark.java
def test_the_doctor_asks_the_catalogue(of_unity):
    done = sparkless_here(of_unity, "doctor")
    assert "databases" in done.stdout
    assert done.returncode == 0, done.stdout
    nobody = of_unity.catalog.model_copy(update={"url": "http://127.0.0.1:1"})
    done = sparkless_here(of_unity.model_copy(update={"catalog": nobody}), "doctor")
    assert done.returncode == 1
    assert "catalogue" in done.stdout
