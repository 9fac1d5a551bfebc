import sys
from pathlib import Path

import pytest

from lake_assets.errors import RuntimeSetupError, SettingsError
from lake_assets.runtime import python_package
from lake_assets.settings.spark import SparkSettings
from lake_assets.spark import cluster
from lake_assets.spark.cluster import (
    archives,
    cluster_properties,
    ensure_reachable,
    is_cluster,
    master_of,
    python_variables,
)

ELSEWHERE = "spark://elsewhere:7077"


def _with(settings, **spark):
    return settings.model_copy(
        update={"lake": Path("s3://lakes/one"), "spark": SparkSettings(master=ELSEWHERE, **spark)}
    )


def test_a_property_of_the_user_s_names_the_master_as_well(settings):
    own = _with(settings, conf={"spark.master": "local[3]"})
    assert master_of(own) == "local[3]"
    assert not is_cluster(own)
    assert is_cluster(_with(settings))


def test_a_lake_in_a_folder_is_refused_where_executors_are_elsewhere(settings):
    local = _with(settings).model_copy(update={"lake": None})
    with pytest.raises(SettingsError, match="executors of spark://elsewhere:7077 do not share"):
        ensure_reachable(local)
    ensure_reachable(_with(settings))
    here = {"spark.master": "local-cluster[1,1,1024]"}
    ensure_reachable(local.model_copy(update={"spark": SparkSettings(conf=here)}))
    ensure_reachable(settings)


def test_a_package_of_other_versions_is_refused(settings, tmp_path):
    own = _with(settings, package=tmp_path / "package.tar.gz")
    with pytest.raises(RuntimeSetupError, match="cannot be read"):
        ensure_reachable(own)
    here = python_package.label(settings.feeds, ["flask"])
    python_package.build(own.spark.package, here, [])
    ensure_reachable(own)
    python_package.build(own.spark.package, {**here, "pyarrow": "1.0"}, [])
    with pytest.raises(SettingsError, match="was made of another pyarrow than is here"):
        ensure_reachable(own)


def test_nothing_of_a_cluster_s_names_a_place_of_this_machine(settings):
    found = {**cluster_properties(_with(settings, package=Path("/p.tar.gz")))}
    assert not any("127.0.0.1" in value or "host" in name for name, value in found.items())
    assert "spark.python.unix.domain.socket.dir" not in found
    assert found["spark.executorEnv.PATH"].startswith("./lake_assets_package/bin:")


def test_a_package_goes_before_archives_of_the_user_s(settings):
    conf = {"spark.archives": "s3a://mine.zip#mine"}
    own = _with(settings, package=Path("/p.tar.gz"), conf=conf)
    assert archives(own) == {"spark.archives": "/p.tar.gz#lake_assets_package,s3a://mine.zip#mine"}
    assert archives(_with(settings, conf=conf)) == {}


def test_workers_have_the_package_s_python_or_the_one_that_is_named(settings):
    assert python_variables(settings) == {"PYSPARK_PYTHON": sys.executable}
    assert python_variables(_with(settings)) == {"PYSPARK_PYTHON": sys.executable}
    named = _with(settings, python="/opt/python")
    assert python_variables(named) == {"PYSPARK_PYTHON": "/opt/python"}
    sent = python_variables(_with(settings, package=Path("/p.tar.gz")))
    # The driver's helpers start it, too, by its name.
    here = Path(sent["PATH"].split(":")[0], sent["PYSPARK_PYTHON"])
    assert here == Path(cluster.__file__).with_name("worker_python.sh")
    assert sent["PYSPARK_WORKER_PYTHON"] == sys.executable
