import pyarrow as pa
import pytest

from lake_assets.errors import LakeError
from lake_assets.formats.declared_columns import with_declared

HAVE = pa.schema([("a", pa.int64()), ("old", pa.string())])


def test_what_is_there_stays_and_gets_wider():
    declared = pa.schema([("a", pa.int32()), ("new", pa.string())])
    assert with_declared("f", HAVE, declared).names == ["a", "old", "new"]
    assert with_declared("f", HAVE, declared).field("a").type == pa.int64()


def test_what_does_not_go_together_is_told_with_what_to_do():
    with pytest.raises(LakeError, match=r"is bigint, and declared as timestamp\. .*rebuild"):
        with_declared("f", HAVE, pa.schema([("a", pa.timestamp("us", "UTC"))]))
