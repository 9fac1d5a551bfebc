import pytest

from lake_assets.sources.kinesis.aggregated import UserRecord, user_records
from lake_assets_tests.sources.kinesis.aggregate import aggregated

ROWS = [UserRecord("ann", b"1"), UserRecord("bob", b""), UserRecord("ann", b"\x00\xff")]

# As Amazon's own module (aws-kinesis-agg 1.2.3) makes it of ("ann", "hi") and ("bob", "ho").
AMAZONS = bytes.fromhex(
    "f3899ac20a03616e6e0a03626f621a0608001a0268691a0608011a02686fec3f99e9535a9bc7a138156fb46caffd"
)


def test_rows_come_as_they_were_put_together():
    assert user_records(aggregated(ROWS)) == ROWS


def test_a_record_of_amazons_own_module_is_taken_apart():
    assert user_records(AMAZONS) == [UserRecord("ann", b"hi"), UserRecord("bob", b"ho")]


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"\xf3\x89\x9a\xc2", aggregated(ROWS)[:-1], aggregated(ROWS) + b"x"],
)
def test_what_is_not_whole_is_a_plain_record(data):
    assert user_records(data) is None
