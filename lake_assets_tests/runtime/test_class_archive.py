from dataclasses import replace
from pathlib import Path

import pytest

from lake_assets.runtime.class_archive import (
    archive_path,
    is_left_to_us,
    recording_options,
    using_options,
)
from lake_assets.runtime.java import Java

JAVA_17 = Java(
    home=Path("/java"),
    executable=Path("/java/bin/java"),
    major=17,
    version="17.0.15+6",
    origin="PATH",
)
JAVA_25 = replace(JAVA_17, major=25, version="25.0.2+10")


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "delta.jar"
    path.write_bytes(b"jar")
    return path


def test_the_same_java_and_jars_have_the_same_archive(jar, tmp_path):
    assert archive_path(JAVA_17, [jar], tmp_path) == archive_path(JAVA_17, [jar], tmp_path)


def test_another_java_has_another_archive(jar, tmp_path):
    newer = replace(JAVA_17, version="17.0.16+8")
    assert archive_path(JAVA_17, [jar], tmp_path) != archive_path(newer, [jar], tmp_path)


def test_a_jar_that_was_installed_again_has_another_archive(jar, tmp_path):
    before = archive_path(JAVA_17, [jar], tmp_path)
    jar.write_bytes(b"another")
    assert archive_path(JAVA_17, [jar], tmp_path) != before


@pytest.mark.parametrize(
    ("java", "recording", "using"),
    [
        (JAVA_17, "-XX:ArchiveClassesAtExit=/c/a.jsa", "-XX:SharedArchiveFile=/c/a.jsa"),
        (JAVA_25, "-XX:AOTCacheOutput=/c/a.jsa", "-XX:AOTCache=/c/a.jsa"),
    ],
)
def test_each_java_has_its_own_options(java, recording, using):
    archive = Path("/c/a.jsa")
    assert recording_options(java, archive).split()[0] == recording
    assert using_options(java, archive).split()[0] == using


def test_a_path_with_blanks_stays_one_option():
    assert using_options(JAVA_25, Path("/my cache/a.jsa")).startswith(
        "'-XX:AOTCache=/my cache/a.jsa' "
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], True),
        (["-Xmx2g -XX:TieredStopAtLevel=1"], True),
        (["-Xmx2g", "-Xshare:off"], False),
        (["-XX:SharedArchiveFile=/mine.jsa"], False),
        (["-XX:AOTCacheOutput=/mine.aot"], False),
    ],
)
def test_options_of_the_users_own_about_archives_are_not_mixed_with_ours(options, expected):
    """Java 25 refuses to start with both."""
    assert is_left_to_us(options) is expected
