import shutil
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime import ivy
from lake_assets.runtime.jars import artifacts, ensure_groups, is_here
from lake_assets.runtime.java import Java
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import RuntimeSettings

pytestmark = pytest.mark.java

JAVA = Java(home=Path("home"), executable=Path("java"), major=17, version="", origin="PATH")


class Copies:
    """Stands in for Ivy: copies Spark's jars from the real cache and counts how often."""

    def __init__(self, source: tuple[Path, ...]) -> None:
        self.source = source
        self.runs = 0

    def __call__(self, groups, _java, staging, *, on_landed=None, **_options) -> Path:
        assert tuple(groups) == ("spark",)
        self.runs += 1
        target: Path = staging / "files" / "spark"
        target.mkdir(parents=True)
        for jar in self.source:
            shutil.copy(jar, target)
        if on_landed is not None:
            on_landed(1)
        return target.parent


@pytest.fixture(scope="session")
def spark_jars() -> tuple[Path, ...]:
    from lake_assets.runtime.setup import spark_jars

    return spark_jars(load_settings())


@pytest.fixture
def copies(spark_jars) -> Copies:
    return Copies(spark_jars)


@pytest.fixture
def runtime_settings(tmp_path) -> RuntimeSettings:
    return RuntimeSettings(cache=tmp_path / "cache")


def test_every_artifact_of_ivy_has_a_checksum_and_no_other_has():
    root = ET.parse(ivy.ARTIFACTS / "ivy.xml").getroot()  # noqa: S314 our own file
    named = set()
    for dependency in root.iter("dependency"):
        group = dependency.attrib["conf"].removesuffix("->default")
        ending = "-all.tar.gz" if group == "registry" else ".jar"
        name = f"{dependency.attrib['name']}-{dependency.attrib['rev']}{ending}"
        assert dependency.attrib["transitive"] == "false"
        named.add((group, name))
    assert named == {(artifact.group, artifact.name) for artifact in artifacts()}


def test_jars_are_fetched_once(runtime_settings, copies):
    first = ensure_groups(("spark",), JAVA, runtime_settings, retrieve=copies)
    second = ensure_groups(("spark",), JAVA, runtime_settings, retrieve=copies)
    assert copies.runs == 1
    assert first == second
    assert len(first["spark"]) == 6


def test_a_complete_cache_needs_no_java(runtime_settings, copies):
    ensure_groups(("spark",), JAVA, runtime_settings, retrieve=copies)
    assert len(ensure_groups(("spark",), JAVA, runtime_settings)["spark"]) == 6


@pytest.mark.parametrize(
    "harm", [Path.unlink, lambda jar: jar.write_bytes(bytes(jar.stat().st_size))]
)
def test_a_missing_or_damaged_jar_is_fetched_again(runtime_settings, copies, harm):
    jar = ensure_groups(("spark",), JAVA, runtime_settings, retrieve=copies)["spark"][0]
    harm(jar)
    assert not is_here("spark", runtime_settings)
    ensure_groups(("spark",), JAVA, runtime_settings, retrieve=copies)
    assert copies.runs == 2
    assert is_here("spark", runtime_settings)


def test_a_wrong_checksum_is_refused_and_nothing_is_installed(runtime_settings, copies, tmp_path):
    forged = tmp_path / copies.source[0].name
    forged.write_text("forged")
    copies.source = (forged, *copies.source[1:])
    with pytest.raises(RuntimeSetupError, match=rf"spark/{forged.name}: its SHA-256"):
        ensure_groups(("spark",), JAVA, runtime_settings, retrieve=copies)
    left = sorted(path.name for path in (tmp_path / "cache").rglob("*"))
    assert left == ["jars.lock"]


def test_a_file_that_did_not_arrive_is_named(runtime_settings, copies):
    copies.source = copies.source[1:]
    with pytest.raises(RuntimeSetupError, match="did not arrive"):
        ensure_groups(("spark",), JAVA, runtime_settings, retrieve=copies)


def test_two_at_once_fetch_once(runtime_settings, copies):
    with ThreadPoolExecutor(2) as pool:
        both = [
            pool.submit(ensure_groups, ("spark",), JAVA, runtime_settings, retrieve=copies)
            for _ in "ab"
        ]
    assert both[0].result() == both[1].result()
    assert copies.runs == 1


def test_what_a_killed_download_left_is_removed(runtime_settings, copies, tmp_path):
    left = tmp_path / "cache" / ".staging-old"
    left.mkdir(parents=True)
    ensure_groups(("spark",), JAVA, runtime_settings, retrieve=copies)
    assert not left.exists()


def test_progress_counts_towards_all_bytes(runtime_settings, copies):
    seen = []
    ensure_groups(
        ("spark",),
        JAVA,
        runtime_settings,
        on_progress=lambda landed, total: seen.append((landed, total)),
        retrieve=copies,
    )
    assert seen == [(1, sum(jar.stat().st_size for jar in copies.source))]


def test_a_full_or_closed_disk_is_an_error_of_ours(runtime_settings):
    def refuses(*_arguments, **_options) -> Path:
        raise OSError(28, "No space left on device")

    with pytest.raises(RuntimeSetupError, match="No space left"):
        ensure_groups(("spark",), JAVA, runtime_settings, retrieve=refuses)
