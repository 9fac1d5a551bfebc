import pickle

import pytest

from lake_assets.formats.confluent.schemas import SchemaSet, Version

SCHEMAS = SchemaSet(subject="s", versions={1: Version(number=1), 5: Version(number=3)})


def test_schemas_travel_to_workers(compiled):
    for noun in (SCHEMAS, compiled("message event { bool a = 1; }")):
        assert pickle.loads(pickle.dumps(noun)) == noun  # noqa: S301 - what Spark does


def test_the_version_is_the_newest():
    assert (SCHEMAS.version, SCHEMAS.known_ids) == (3, {1, 5})


def test_ids_with_an_answer_need_no_other():
    found = SCHEMAS.with_others([7], [8], now=0)
    assert found.unanswered([1, 5, 7, 8, 9]) == {9}


def test_answers_that_may_have_changed_are_forgotten():
    found = SCHEMAS.with_others([7], [8], now=1000).with_others([9], [], now=1500)
    assert found.for_next_batch(1599) is found
    assert found.for_next_batch(1600) == SCHEMAS.with_others([], [], now=1000)


def test_a_flood_holds_for_one_batch():
    flooded = SchemaSet(subject="s", versions={}, is_flooded=True)
    assert not flooded.for_next_batch(0).is_flooded


@pytest.mark.parametrize(("most", "kept"), [(3, {1, 2, 3}), (2, {3})])
def test_only_so_many_bad_ids_are_remembered(most, kept):
    found = SCHEMAS.with_others([1, 2], [], now=0).with_others([3], [], now=1, most=most)
    assert found.unknown_ids == kept
