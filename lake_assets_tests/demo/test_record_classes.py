import pytest

from lake_assets.demo.record_classes import record_classes
from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.class_archive import archive_path
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import RuntimeSettings

pytestmark = pytest.mark.java


def test_a_demo_that_fails_leaves_no_archive(settings, tmp_path):
    (tmp_path / "file").touch()
    runtime = RuntimeSettings(cache=tmp_path / "file" / "cache")
    archive = tmp_path / "classes" / "new.jsa"
    java = ensure_runtime(settings).java
    with pytest.raises(RuntimeSetupError, match="the demo ended with 1: error: cache folder"):
        record_classes(settings.model_copy(update={"runtime": runtime}), java, archive)
    assert list(archive.parent.iterdir()) == []


def test_a_folder_that_refuses_is_told(settings, tmp_path):
    (tmp_path / "file").touch()
    java = ensure_runtime(settings).java
    with pytest.raises(RuntimeSetupError, match="cannot be written"):
        record_classes(settings, java, tmp_path / "file" / "new.jsa")


@pytest.mark.spark
def test_a_session_starts_from_the_archive_that_was_recorded(spark, runtime, spark_settings):
    recorded = archive_path(runtime.java, runtime.spark_jars, spark_settings.runtime.cache)
    if not recorded.is_file():
        pytest.skip("none was recorded for this Java: `lake-assets setup`")
    jvm = spark.sparkContext._jvm.ProcessHandle.current().pid()  # noqa: SLF001 - no public way
    with open(f"/proc/{jvm}/maps") as maps:  # noqa: PTH123 - Path.read_text stats it as empty
        assert str(recorded) in maps.read()
