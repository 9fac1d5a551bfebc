import pyarrow as pa
import pytest

from lake_assets.formats.avro.single_object import fingerprints

VALUES = [
    (b"\xc3\x01\x05\0\0\0\0\0\0\0rest", 5),
    (b"\xc3\x01" + b"\xff" * 8, -1),
    (b"\xc3\x01" + b"\xff" * 7, None),
    (b"\xc3\x02" + b"\xff" * 9, None),
    (None, None),
    (b"", None),
]


@pytest.mark.parametrize("part", [slice(None), slice(1, 4), slice(4, 6), slice(0, 0)])
def test_fingerprints_are_read_where_there_is_a_marker(part):
    values = pa.array([value for value, _ in VALUES], pa.binary())[part]
    found = fingerprints(values)
    assert found.type == pa.int64()
    assert found.to_pylist() == [number for _, number in VALUES][part]
