import pyarrow as pa

from benchmarks.decoding import Shape
from benchmarks.pipeline import Plan


def test_a_plan_is_the_same_on_the_other_side_of_a_file(tmp_path):
    plan = Plan(
        kafka="localhost:9092",
        topic="events",
        route="game_name",
        games=["uno"],
        keys=["gamer_id"],
        measures={"n": "count(*)"},
        shape=Shape("event", b"\x00\xff", pa.schema([("at", pa.timestamp("us", tz="UTC"))])),
    )
    plan.write(tmp_path / "plan.json")
    assert Plan.read(tmp_path / "plan.json") == plan
