import pytest

from lake_assets.services.finding import Health
from lake_assets.services.sink_findings import look_at_sinks
from lake_assets.settings.schema import KafkaSettings, RegistrySettings
from lake_assets_tests.events import Topic
from lake_assets_tests.sinks.rest.api import running_api

FEED = """
feed: plays
source: {{kafka: {{topic: plays}}}}
payload: {{json: {{schema: "player string"}}}}
sinks:
  - {{name: api, from: silver, rest: {{url: "{url}", {more}}}}}
"""


def _look(settings, folder, url, more):
    feeds = folder / "feeds"
    feeds.mkdir()
    (feeds / "plays.yaml").write_text(FEED.format(url=url, more=more))
    (finding,) = look_at_sinks(settings.model_copy(update={"feeds": feeds}))
    return finding


def test_an_api_that_can_be_connected_to_is_well_and_gets_nothing(settings, tmp_path):
    with running_api(tmp_path) as api:
        finding = _look(settings, tmp_path, f"{api.url}/sessions", "allow_private: true")
        assert finding.health is Health.OK
        assert finding.thing == "sink 'api' of feed 'plays'"
        assert api.calls() == []


@pytest.mark.parametrize(
    ("url", "more", "told"),
    [
        ("http://127.0.0.1:9/", "allow_private: true", "cannot be connected to"),
        ("http://no-such-host.invalid/", "allow_private: true", "cannot be connected to"),
        ("http://127.0.0.1:9/", "allow_private: false", "no public address"),
        ("http://a/", "allow_private: true, auth: {bearer: {env: NO_SUCH_TOKEN}}", "is not set"),
    ],
)
def test_one_that_cannot_be_called_is_told(settings, tmp_path, url, more, told):
    finding = _look(settings, tmp_path, url, more)
    assert finding.health is Health.BROKEN
    assert told in finding.fact
    assert finding.fix


def test_no_certificate_is_no_tls(settings, tmp_path):
    with running_api(tmp_path) as api:
        url = api.url.replace("http:", "https:")
        finding = _look(settings, tmp_path, url, "allow_private: true")
    assert finding.health is Health.BROKEN
    assert "SSL" in finding.fact


@pytest.mark.kafka
def test_a_schema_that_a_topic_does_not_have_is_told(settings, services, tmp_path):
    topic, feeds = Topic(services), tmp_path / "feeds"
    topic.create()
    topic.register_text("package acme; message Found { string player = 1; }")
    feeds.mkdir()
    own = {
        "feeds": feeds,
        "kafka": KafkaSettings(bootstrap_servers=services.kafka),
        "registry": RegistrySettings(url=services.registry),
    }
    found = []
    for name in ("Found", "Lost"):
        kafka = f"{{topic: {topic.name}, value: protobuf, message: acme.{name}}}"
        text = FEED.replace('rest: {{url: "{url}", {more}}}', f"kafka: {kafka}")
        (feeds / "plays.yaml").write_text(text.replace("{{", "{").replace("}}", "}"))
        found += look_at_sinks(settings.model_copy(update=own))
    assert [one.health for one in found] == [Health.OK, Health.BROKEN]
    assert "has no message acme.Lost: acme.Found" in found[1].fact
