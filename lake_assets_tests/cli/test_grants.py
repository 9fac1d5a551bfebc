import pytest

from lake_assets_tests.catalog.conftest import of_unity, unity, unity_server
from lake_assets_tests.catalog.lakes import fill
from lake_assets_tests.commandline import result_of, sparkless_here

__all__ = ["of_unity", "unity", "unity_server"]

YAML = """
feed: play
source: {kafka: {topic: plays}}
payload: {json: {schema: "kind string, ante int"}}
route: {column: kind, keys: [uno, poker]}
grants:
  - {principal: analysts, layers: [silver], keys: [uno]}
"""


@pytest.fixture
def lake(of_unity, tmp_path):
    fill(of_unity)
    feeds = tmp_path / "play"
    feeds.mkdir()
    (feeds / "play.yaml").write_text(YAML)
    return of_unity.model_copy(update={"feeds": feeds})


def test_what_is_declared_is_shown_without_asking_anybody(lake, unity):
    shown = result_of(sparkless_here(lake, "grants", "show", "--json"))
    assert shown == {"analysts": ["lake_silver.silver_uno_events"]}
    assert "analysts" in sparkless_here(lake, "grants", "show").stdout
    assert unity.asked() == []


def test_policies_are_for_lakes_in_s3(lake):
    done = sparkless_here(lake, "grants", "show", "--s3-policies")
    assert done.returncode == 1
    assert "policies of S3 are for buckets of S3" in done.stderr


def test_a_feed_that_grants_nothing_is_said(settings):
    assert "no feed grants anything" in sparkless_here(settings, "grants", "show").stdout


def test_a_feed_whose_tables_are_to_come_is_said(settings, tmp_path):
    (tmp_path / "play.yaml").write_text(YAML.replace("analysts", "'role[/x]'"))
    to_come = settings.model_copy(update={"feeds": tmp_path})
    assert "no table is there yet" in sparkless_here(to_come, "grants", "show").stdout
    fill(to_come)
    assert "role[/x]" in sparkless_here(to_come, "grants", "show").stdout


def test_verify_ends_with_one_until_the_catalogue_is_as_declared(lake):
    done = sparkless_here(lake, "grants", "verify")
    assert done.returncode == 1
    assert "lake_silver.silver_uno_events: analysts may not read it yet" in done.stdout
    synced = sparkless_here(lake, "catalog", "sync")
    assert "grant lake_silver.silver_uno_events: analysts" in synced.stdout
    done = sparkless_here(lake, "grants", "verify", "--json")
    assert (done.returncode, result_of(done)) == (
        0,
        [
            {
                "name": "lake_silver.silver_uno_events",
                "granted": ["analysts"],
                "missing": [],
                "surplus": [],
                "others": [],
            }
        ],
    )
