from collections.abc import Callable
from uuid import uuid4

import pytest

from lake_assets.model.endpoints import Endpoints
from lake_assets.services.finding import Finding, Health
from lake_assets.services.topic_findings import look_at_topics
from lake_assets.settings.schema import KafkaSettings, Settings
from lake_assets.sources.kafka.topics import ensure_topic
from lake_assets_tests.services.secured import READER, STRANGER, Listener, Secured

pytestmark = pytest.mark.kafka

Look = Callable[..., dict[str, Finding]]


@pytest.fixture
def name() -> str:
    return f"topic-{uuid4().hex[:8]}"


@pytest.fixture
def look(settings: Settings, secured: Secured) -> Look:
    """What is told of a feed's topics, to a user who comes by a way in."""
    feeds = settings.home.parent / "feeds"
    feeds.mkdir()

    def look(
        source: str, listener: Listener = Listener.SCRAM, *, commits: bool = True, **login: str
    ) -> dict[str, Finding]:
        (feeds / "mine.yaml").write_text(
            f"feed: mine\nsource: {{kafka: {{{source}}}}}\npayload: {{json: {{schema: 'a int'}}}}\n"
        )
        kafka = KafkaSettings(commit_offsets=commits)
        mine = settings.model_copy(update={"feeds": feeds, "kafka": kafka})
        options = secured.options(listener, **login)
        endpoints = Endpoints(kafka=secured.address(listener), registry="", kafka_options=options)
        return {found.thing: found for found in look_at_topics(mine, endpoints, timeout_s=30)}

    return look


def make(secured: Secured, name: str) -> None:
    ensure_topic(Endpoints(kafka=secured.plain, registry=""), name, partitions=1)


def test_a_topic_that_may_be_read_is_fine_and_one_that_is_not_there_comes_later(
    look, secured, name
):
    assert look(f"topic: {name}")[f"topic {name}"].health is Health.LATER
    make(secured, name)
    assert look(f"topic: {name}") == {
        f"topic {name}": Finding(
            thing=f"topic {name}", health=Health.OK, fact="readable, 0 rows so far"
        )
    }


def test_a_topic_that_we_have_no_right_to_is_broken(look, secured, name):
    make(secured, name)
    found = look(f"topic: {name}", user=STRANGER)[f"topic {name}"]
    assert found.health is Health.BROKEN
    assert "Grant the user" in found.fix


def test_what_is_refused_and_not_needed_is_told_and_nothing_is_broken(look, secured, name):
    make(secured, name)
    found = look(f"topic: {name}", user=READER)
    assert found[f"topic {name}"].health is Health.OK
    assert "rows so far; but its settings cannot be read (Des" in found[f"topic {name}"].fact
    group = found["consumer group lake_assets-mine"]
    assert (group.health, "takes no offsets (" in group.fact) == (Health.LATER, True)
    assert "LAKE_ASSETS_KAFKA_COMMIT_OFFSETS=false" in group.fix
    assert found.keys() == {f"topic {name}", group.thing}
    assert look(f"topic: {name}", commits=False, user=READER).keys() == {f"topic {name}"}


def test_what_brokers_of_an_older_protocol_do_not_know_is_told(look, secured, name):
    make(secured, name)
    (found,) = look(f"topic: {name}", Listener.HOSTED).values()
    assert found.health is Health.OK
    assert "; but brokers give it no id" in found.fact


def test_a_pattern_is_told_with_the_topics_that_it_finds_or_that_it_finds_none(look, secured, name):
    thing = f"topics that match '{name}-.*'"
    nothing = look(f'topics: "{name}-.*"')[thing]
    assert (nothing.health, "do not exist" in nothing.fact) == (Health.LATER, True)
    for number in range(6):
        make(secured, f"{name}-{number}")
    finding = look(f'topics: "{name}-.*"')[thing]
    shown = ", ".join(f"{name}-{number}" for number in range(5))
    assert (finding.health, finding.fact) == (Health.OK, f"6 ({shown} …), 0 rows so far")


def test_a_key_that_spark_could_not_be_told_is_broken(settings, secured, tmp_path):
    # librdkafka has no use for it without TLS, and does not look.
    options = {"ssl.ca.location": str(tmp_path / "none.pem")}
    plain = Endpoints(kafka=secured.plain, registry="", kafka_options=options)
    (found,) = look_at_topics(settings, plain, timeout_s=30)
    assert (found.thing, found.health) == ("LAKE_ASSETS_KAFKA_OPTIONS", Health.BROKEN)
