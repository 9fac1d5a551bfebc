from uuid import uuid4

import pytest

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.kafka.cluster_limits import group_refusal, topic_limits
from lake_assets.sources.kafka.topics import ensure_topic
from lake_assets_tests.services.secured import READER, STRANGER, Listener, Secured

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def topic(secured: Secured) -> str:
    name = f"topic-{uuid4().hex[:8]}"
    ensure_topic(Endpoints(kafka=secured.plain, registry=""), name, partitions=1)
    return name


def by(secured: Secured, listener: Listener, **login: str) -> Endpoints:
    options = secured.options(listener, **login)
    return Endpoints(kafka=secured.address(listener), registry="", kafka_options=options)


def test_brokers_that_answer_everything_have_no_limits(secured, topic):
    mine = by(secured, Listener.SCRAM)
    assert topic_limits(mine, topic) == ()
    assert group_refusal(mine, "lake_assets-mine") is None


def test_who_may_only_read_is_told_what_is_refused(secured, topic):
    reader = by(secured, Listener.SCRAM, user=READER)
    (settings,) = topic_limits(reader, topic)
    assert settings.startswith("its settings cannot be read (DescribeConfigs): it is refused (")
    assert "authorization failed" in settings
    assert "Group authorization failed" in (group_refusal(reader, "lake_assets-mine") or "")


def test_of_brokers_of_an_older_protocol_it_is_told_what_they_do_not_know(secured, topic):
    no_id, no_settings = topic_limits(by(secured, Listener.HOSTED), topic)
    assert no_id.startswith("brokers give it no id")
    assert "not supported by broker" in no_settings
    # Which rights there are they do not tell.
    assert group_refusal(by(secured, Listener.HOSTED), "lake_assets-mine") is None


def test_a_topic_that_cannot_be_read_is_no_limit(secured, topic):
    with pytest.raises(SourceError, match=f"topic '{topic}' at .* is refused"):
        topic_limits(by(secured, Listener.SCRAM, user=STRANGER), topic)
