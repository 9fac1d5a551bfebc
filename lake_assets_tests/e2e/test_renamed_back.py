"""A field that gets a name it has had before."""

from collections import Counter

import pytest
from deltalake import DeltaTable

from lake_assets.model.routes import Route
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

TEXT = (
    "message event {{ string game_name = 1; string gamer_id = 2; string device_id = 3; "
    "string {} = 4; {}}}"
)


@pytest.mark.parametrize("names", ["ab", "aba", "abab"])
def test_a_field_that_is_renamed_back_has_all_its_values(spark, services, settings, names):
    lake = StreamedLake(spark, settings, Topic(services))
    feed = lake.topic.feed(route=Route(column="game_name", keys=("uno",)))
    for number, name in enumerate(names):
        # Each version adds a field, too, so that the registry takes it as a new one.
        text = TEXT.format(name, "".join(f"string n{i} = {5 + i}; " for i in range(number)))
        known = lake.topic.register_text(text)
        own = {"game_name": "uno", "gamer_id": "ann", "device_id": "d", name: f"value {number}"}
        lake.topic.produce(framed(known, message_of(text, **own)))
        lake.stream(feed)  # a process that has just started
        rows = DeltaTable(lake.folder(silver_of("uno"))).to_pyarrow_table()
        assert Counter(rows[name].to_pylist()) == Counter(f"value {i}" for i in range(number + 1))
