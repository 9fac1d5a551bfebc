from pathlib import Path

import pytest

from lake_assets.composition.arguments import Asked, ensure_known, open_lake, settings_by
from lake_assets.errors import FeedError, SettingsError


def test_arguments_go_before_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("LAKE_ASSETS_LAKE", str(tmp_path / "other"))
    monkeypatch.setenv("LAKE_ASSETS_STREAM_TRIGGER_S", "7")
    monkeypatch.setenv("LAKE_ASSETS_STREAM_STALL_AFTER_S", "90")
    asked = Asked(lake=tmp_path / "lake", key_prefix="prod", owners=["team:data"])
    found = settings_by(asked, {"stream": {"trigger_s": 5}})
    assert found.lake_dir == tmp_path / "lake"
    assert (found.dagster.key_prefix, found.dagster.owners) == (["prod"], ["team:data"])
    assert (found.stream.trigger_s, found.stream.stall_after_s) == (5, 90)


def test_what_is_not_given_is_the_environments(monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_DAGSTER_KEY_PREFIX", "prod,eu")
    assert settings_by(Asked(), {}).dagster.key_prefix == ["prod", "eu"]
    assert settings_by(Asked(key_prefix=[]), {}).dagster.key_prefix == []


def test_a_lake_may_be_in_a_bucket():
    found = settings_by(Asked(lake="s3://bucket/lake"), {})
    assert str(found.lake_root) == "s3://bucket/lake"


@pytest.mark.parametrize(
    ("asked", "overrides", "told"),
    [
        (Asked(key_prefix="a/b"), {}, "^key_prefix: has 'a/b', and takes letters"),
        (Asked(owners=["data"]), {}, "^owners: has 'data', which is neither team:name nor"),
        (Asked(lake="hdfs://x/y"), {}, "^lake: is an address"),
        (Asked(lake=""), {}, "^lake: is empty"),
        (Asked(feeds=" "), {}, "^feeds: is empty"),
        (Asked(home=3), {}, "^home: is a int, and no path"),
        (Asked(), {"stream": {"trigger_s": -1}}, r"^stream=\{'trigger_s': …\}: must be 0 or more"),
        (Asked(), {"streams": {}}, "^settings: has 'streams'.*Did you mean 'stream'"),
        (Asked(), {"stream": {"triger_s": 1}}, "^settings 'stream': .*Did you mean 'trigger_s'"),
        (Asked(), {"dagster": {"lake_resource": "a-b"}}, "^lake_resource: "),
    ],
)
def test_what_does_not_fit_is_told_by_the_name_of_the_argument(asked, overrides, told):
    with pytest.raises(SettingsError, match=told):
        settings_by(asked, overrides)


def test_feeds_are_those_of_the_folder(tmp_path):
    assert {feed.feed for feed in open_lake(Asked(), {}).feeds} == {"games", "fitness"}
    with pytest.raises(FeedError, match=r"cannot be read"):
        open_lake(Asked(feeds=tmp_path / "none"), {})


def test_words_that_mean_nothing_are_told_with_what_there_is():
    with pytest.raises(SettingsError, match=r"include: has 'x', .* Use some of: assets, streams"):
        ensure_known("include", ["x"], ["assets", "streams"])


def test_folders_are_whole(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert settings_by(Asked(lake="lake"), {}).lake == Path(tmp_path, "lake")
