import pyarrow as pa
import pytest

from lake_assets.erasure.matching import Matching
from lake_assets.erasure.wanted import Wanted
from lake_assets.model.erasures import digest_of
from lake_assets.silver.value_texts import texts_of

WANTED = Wanted(column="who", values=("ann", "42"))
KEY = b"k" * 32


def matching(*, knows):
    digests = frozenset(WANTED.digests(KEY))
    spellings = WANTED.spellings() if knows else ()
    return Matching(column="who", key=KEY, digests=digests, spellings=spellings)


@pytest.mark.parametrize("knows", [True, False])
@pytest.mark.parametrize(
    "found",
    [
        pa.array(["ann", "anna", None, "42", "ann"]),
        pa.array(["ann", "anna", None, "42", "ann"]).dictionary_encode(),
        pa.array([b"ann", b"anna", None, b"42", b"ann"]),
    ],
)
def test_hashes_tell_what_values_tell(knows, found):
    is_wanted = matching(knows=knows).test(found)
    assert _sure(is_wanted) == [True, False, False, True, True]


@pytest.mark.parametrize("knows", [True, False])
def test_whole_numbers_are_told_by_their_digits(knows):
    found = pa.chunked_array([pa.array([42, 43], pa.int32()), pa.array([None], pa.int32())])
    is_wanted = matching(knows=knows).test(found)
    assert _sure(is_wanted) == [True, False, False]


def _sure(values):
    return [bool(value) for value in values.to_pylist()]


@pytest.mark.parametrize("knows", [True, False])
@pytest.mark.parametrize(
    ("value", "others"),
    [
        ("1", pa.array([31, 11])),
        ("1", pa.array(["31", "01", "+1"])),
        ("007", pa.array(["7", "303037"])),
        ("31", pa.array([b"1"])),
    ],
)
def test_nobody_else_is_meant_by_how_a_value_may_be_written(knows, value, others):
    wanted = Wanted(column="who", values=(value,))
    digests = frozenset(wanted.digests(KEY))
    spellings = wanted.spellings() if knows else ()
    own = Matching(column="who", key=KEY, digests=digests, spellings=spellings)
    assert not any(_sure(own.test(others)))


def test_streams_hash_values_as_requests_do():
    digests = Wanted(column="who", values=("42",)).digests(KEY)
    for values in (pa.array(["42"]), pa.array([42], pa.int16()), pa.array([b"42"])):
        (text,) = texts_of(values).to_pylist()
        assert digest_of(KEY, "who", text) in digests


@pytest.mark.parametrize(
    ("text", "is_its"),
    [
        ('{"who": "ann"}', True),
        ('{"a": [{"WHO": ["ann", 1]}]}', True),
        ('{"who": 42}', True),
        ('{"who": "bob", "friend": "ann"}', False),
        ('{"score": 42}', False),
        ('{"who": true, "b": null}', False),
        ("ann", True),
        ("[" * 100_000, True),
    ],
    ids=lambda given: str(given)[:40],
)
def test_what_did_not_fit_is_whose_column_names_the_value(text, is_its):
    assert matching(knows=True).is_in_json(text) is is_its


@pytest.mark.parametrize("knows", [True, False])
@pytest.mark.parametrize(
    ("key", "is_its"),
    [
        (b"ann", True),
        (b'{"Who": "ann", "n": 1}', True),
        (b'{"friend": "ann"}', False),
        (b"joanna", False),
        (b"", False),
        (None, False),
        (b"\xff", False),
    ],
)
def test_a_key_is_whose_it_is_as_a_whole_or_names_in_json(key, is_its, knows):
    assert matching(knows=knows).is_key(key) is is_its


def test_hashes_tell_what_did_not_fit_as_values_do():
    assert matching(knows=False).is_in_json('{"a": [{"WHO": ["ann", 1]}]}')
    assert not matching(knows=False).is_in_json('{"friend": "ann"}')
    assert not matching(knows=False).is_in_json("ann")
