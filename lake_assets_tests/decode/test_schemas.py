import pickle
from dataclasses import replace

from lake_assets.decode.schemas import SchemaSet

SCHEMAS = SchemaSet(
    subject="s", version=1, message="event", descriptor_set=b"x", known_ids=frozenset({1})
)


def test_schemas_travel_to_workers():
    assert pickle.loads(pickle.dumps(SCHEMAS)) == SCHEMAS  # noqa: S301 - what Spark does


def test_ids_do_not_change_the_fingerprint():
    assert replace(SCHEMAS, known_ids=frozenset({1, 2})).fingerprint == SCHEMAS.fingerprint


def test_another_message_changes_the_fingerprint():
    assert replace(SCHEMAS, message="other").fingerprint != SCHEMAS.fingerprint
