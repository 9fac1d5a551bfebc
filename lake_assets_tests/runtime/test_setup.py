import pytest

from lake_assets.runtime.setup import ensure_runtime

pytestmark = pytest.mark.java


def test_spark_gets_a_java_and_its_jars(settings):
    runtime = ensure_runtime(settings)
    assert runtime.java.executable.is_file()
    assert "delta-spark_4.2_2.13-4.4.0.jar" in {jar.name for jar in runtime.spark_jars}
