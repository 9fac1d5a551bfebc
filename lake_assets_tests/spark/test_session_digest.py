import pytest

from lake_assets.settings.schema import Settings
from lake_assets.settings.spark import SparkSettings
from lake_assets.spark.session import properties
from lake_assets.spark.session_digest import RESULT_PROPERTIES, session_digest


@pytest.mark.parametrize(
    "conf",
    [
        {"spark.sql.session.timeZone": "Asia/Tokyo"},
        {"spark.sql.ansi.enabled": "false"},
        {"spark.sql.caseSensitive": "true"},
        {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
        {"spark.sql.legacy.timeParserPolicy": "LEGACY"},
        {"spark.sql.not.there.yet": "1"},
        {"spark.driver.extraJavaOptions": "-Duser.language=tr"},
    ],
)
def test_what_may_change_a_result_changes_the_digest(conf):
    assert session_digest(Settings(spark=SparkSettings(conf=conf))) != session_digest(Settings())


@pytest.mark.parametrize(
    "conf",
    [
        {"spark.sql.shuffle.partitions": "7"},
        {"spark.sql.adaptive.enabled": "false"},
        {"spark.ui.enabled": "true"},
        {"spark.sql.session.timeZone": "UTC"},
    ],
)
def test_what_only_changes_how_spark_works_does_not(conf):
    assert session_digest(Settings(spark=SparkSettings(conf=conf))) == session_digest(Settings())


def test_memory_and_cores_do_not_change_a_result():
    other = Settings(spark=SparkSettings(master="local[7]", driver_memory="2g"))
    assert session_digest(other) == session_digest(Settings())


def test_each_session_is_started_with_what_the_digest_counts_on(spark_settings, runtime):
    found = properties(spark_settings, runtime)
    assert {name: found[name] for name in RESULT_PROPERTIES} == RESULT_PROPERTIES


@pytest.mark.spark
def test_a_session_has_what_the_digest_counts_on(spark):
    assert {name: spark.conf.get(name) for name in RESULT_PROPERTIES} == RESULT_PROPERTIES
