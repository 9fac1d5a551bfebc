import pyarrow as pa
import pytest

from benchmarks.decoding import decode
from benchmarks.ground import Ground
from benchmarks.shape import shape_of
from lake_assets_tests.events import AT, Topic, framed


@pytest.fixture
def topic(services):
    return Topic(services)


@pytest.mark.kafka
def test_the_newest_message_reads_the_older_ones_too(topic, settings):
    old, new = topic.register(0), topic.register(1)
    ground = Ground(
        start_session=lambda: pytest.fail("needs no Spark"),
        endpoints=topic.endpoints,
        settings=settings,
        feed=topic.feed(),
        by_game={"uno": 2},
        stop=lambda: False,
    )
    values = pa.array([framed(old), framed(new, "poker", version=1)])
    common = {"gamer_id": "ann", "event_timestamp": AT, "device_id": "d1"}
    assert decode(values, shape_of(ground)).to_pylist() == [
        {"game_name": "uno", **common, "col_custom_1": None},
        {"game_name": "poker", **common, "col_custom_1": "custom 1"},
    ]
