from pathlib import Path

import pytest

from lake_assets.errors import LakeError
from lake_assets.state.disk_errors import disk_trouble


def full():
    """What the system says of a disk that is full."""
    with pytest.raises(OSError, match="No space") as caught:
        Path("/dev/full").write_text("x")
    return caught.value


def test_a_full_disk_is_known_by_its_number_however_deep_it_lies():
    outer = LakeError("lake", "cannot be written", "Check it")
    outer.__cause__ = full()
    assert disk_trouble(outer) == "the disk takes no data (no space left on device)"


@pytest.mark.parametrize(
    "text",
    [
        "java.io.IOException: No space left on device",
        "PYTHON_EXCEPTION ... OSError: [Errno 30] Read-only file system: '/lake/x'",
    ],
)
def test_it_is_known_by_its_words_where_spark_passes_it_on_as_text(text):
    assert disk_trouble(RuntimeError(text)) is not None


def test_other_errors_are_no_trouble_of_the_disk():
    assert disk_trouble(PermissionError(13, "Permission denied")) is None
    assert disk_trouble(RuntimeError("row 7 is bad")) is None
