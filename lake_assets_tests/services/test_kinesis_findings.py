import pytest
import yaml

from lake_assets.services.finding import Health
from lake_assets.services.kinesis_findings import look_at_kinesis_sources
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.sources.kinesis.streams import KEYS, land, running_kinesis


@pytest.fixture(scope="module")
def streams():
    with running_kinesis() as made:
        yield made


def test_a_stream_is_told_by_what_was_read_or_what_it_lacks(
    streams, settings, tmp_path, monkeypatch
):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value.get_secret_value())
    stream = streams()

    def look():
        source = stream.source().model_dump(mode="json", exclude_none=True)
        feed = {
            "feed": "play",
            "source": {"kinesis": source},
            "payload": {"json": {"schema": "n bigint"}},
        }
        (tmp_path / "play.yaml").write_text(yaml.safe_dump(feed))
        (found,) = look_at_kinesis_sources(settings.model_copy(update={"feeds": tmp_path}))
        return found

    assert look().health is Health.LATER
    stream.create(2)
    found = look()
    assert (found.health, found.thing) == (Health.OK, "Kinesis stream of feed 'play'")
    told = f"{stream.name} has 2 open shards and keeps records for 24 h; "
    assert found.fact == told + "nothing of it was read yet"
    land(stream.source(), lake_of(settings))
    stream.forward(hours=3)
    assert look().fact == told + "it was read up to 3.0 h ago"
    stream.refuse("AccessDeniedException", action="DescribeStreamSummary")
    found = look()
    assert (found.health, "kms:Decrypt" in found.fix) == (Health.BROKEN, True)
