import pyarrow as pa
import pytest

from lake_assets.erasure.matching import Matching
from lake_assets.erasure.wanted import Wanted

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
