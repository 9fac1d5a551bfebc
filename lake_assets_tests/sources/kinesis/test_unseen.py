import pytest

from lake_assets.errors import SettingsError, SourceError
from lake_assets.sources.kinesis.landed import position_at
from lake_assets.sources.kinesis.unseen import ensure_readable, has_new_records
from lake_assets_tests.sources.kinesis.streams import KEYS, land


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value.get_secret_value())


def has_new(stream, lake, **declared):
    return has_new_records(stream.source(**declared), position_at(lake, "play"))


def test_records_and_new_shards_are_seen_before_they_land(stream, lake):
    stream.create()
    assert has_new(stream, lake)
    land(stream.source(), lake)
    assert not has_new(stream, lake)
    stream.put(1)
    assert has_new(stream, lake)
    land(stream.source(), lake)
    stream.split(0)
    assert has_new(stream, lake)
    land(stream.source(), lake)
    assert not has_new(stream, lake)


def test_a_quiet_stream_is_looked_at_before_it_is_unknown_whether_it_was(stream, lake):
    stream.create()
    land(stream.source(), lake)
    stream.forward(hours=5)
    assert not has_new(stream, lake)
    stream.forward(hours=2)
    assert has_new(stream, lake)
    land(stream.source(), lake)
    assert not has_new(stream, lake)


def test_another_stream_is_refused_unless_that_is_recorded(stream, lake):
    stream.create()
    land(stream.source(), lake)
    stream.forward(hours=0.1)
    stream.again()
    with pytest.raises(SourceError, match="is another stream"):
        ensure_readable(stream.source(), position_at(lake, "play"))
    ensure_readable(stream.source(on_gap="record"), position_at(lake, "play"))
    assert has_new(stream, lake)


def test_a_stream_of_another_name_is_refused_always(stream, streams, lake):
    stream.create()
    land(stream.source(), lake)
    other = streams().create()
    with pytest.raises(SourceError, match="is another stream") as raised:
        ensure_readable(other.source(on_gap="record"), position_at(lake, "play"))
    assert f"Put back `stream: {stream.name}`" in raised.value.next_step


def test_a_region_may_be_told_by_the_environment(stream, monkeypatch, tmp_path):
    stream.create()
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_REGION", stream.source().region)
    ensure_readable(stream.source(region=None), None)


def test_what_is_to_be_corrected_is_told(stream, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(SettingsError, match="is in no region"):
        ensure_readable(stream.source(region=None), None)
    with pytest.raises(SettingsError, match="profile"):
        ensure_readable(stream.source(access_key=None, profile="nobody"), None)
    with pytest.raises(SourceError, match="has no credentials"):
        ensure_readable(stream.source(access_key=None), None)
    with pytest.raises(SourceError, match="does not answer"):
        ensure_readable(stream.source(endpoint_url="http://127.0.0.1:1"), None, within_s=1)
