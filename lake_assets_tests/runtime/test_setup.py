from pathlib import Path

import pytest

from lake_assets.runtime.setup import ensure_runtime, groups_of
from lake_assets.settings.schema import Settings


@pytest.mark.java
def test_spark_gets_a_java_and_its_jars(settings):
    runtime = ensure_runtime(settings)
    assert runtime.java.executable.is_file()
    assert "delta-spark_4.2_2.13-4.4.0.jar" in {jar.name for jar in runtime.spark_jars}
    assert runtime.store_jars == ()


def test_a_store_s_jars_are_for_lakes_in_it_alone(tmp_path):
    on_a_disk = ("spark", "kafka", "registry")
    assert groups_of(Settings(home=tmp_path)) == on_a_disk
    assert groups_of(Settings(home=tmp_path, lake=Path("s3://b/lake"))) == (
        "spark",
        "s3",
        "kafka",
        "registry",
    )
    azure = Path("abfss://c@a.dfs.core.windows.net/lake")
    assert groups_of(Settings(home=tmp_path, lake=azure)) == ("spark", "azure", "kafka", "registry")
    google = Settings(home=tmp_path, lake=Path("gs://a.bucket/lake"))
    assert groups_of(google) == ("spark", "google", "kafka", "registry")


@pytest.mark.java
def test_the_jars_of_a_lake_in_s3_leave_the_archive_of_classes_as_it_is(settings):
    in_s3 = ensure_runtime(settings.model_copy(update={"lake": Path("s3://b/lake")}))
    on_a_disk = ensure_runtime(settings)
    assert "hadoop-aws-3.5.0.jar" in {jar.name for jar in in_s3.store_jars}
    assert in_s3.spark_jars == on_a_disk.spark_jars
    assert in_s3.class_archive == on_a_disk.class_archive
