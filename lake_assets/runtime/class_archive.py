"""An archive of the classes that Spark loads, with which a JVM starts in half the processor time.

Holds where an archive lies and the Java options that use or record one. Recording, which takes a
run of the product, is `demo.record_classes`'. No archive is ever needed: a JVM that cannot use one,
because Java or a jar was replaced since, goes without.

Java 25 calls it an AOT cache and keeps more in it (JEP 483, 514, 515), older ones a dynamic CDS
archive (JEP 350).
"""

import hashlib
import re
import shlex
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from lake_assets.runtime.cache import cache_dir
from lake_assets.runtime.java import Java

_AOT = 25
"""The first Java that records an AOT cache in one run (JEP 514)."""

_ARCHIVE_OPTIONS = re.compile(r"-Xshare|SharedArchive|ArchiveClasses|AOT[CM]")
"""Java options about archives; a JVM that gets its user's and ours besides may not start."""


def archive_path(java: Java, jars: Sequence[Path], cache: Path | None = None) -> Path:
    """Where the archive of a Java and Spark's jars lies, recorded or not.

    Another version of either has another name, and so has a jar that was installed again: a JVM
    compares the jars' sizes and times, and would pass over an archive of others for ever.

    Args:
        java: that starts Spark.
        jars: on its class path beside pyspark's own.
        cache: folder of downloads; the user's cache folder by default.

    Raises:
        RuntimeSetupError: the cache folder cannot be made.
    """
    folder = _pyspark_jars()
    files = [(str(jar), jar.stat()) for jar in (*sorted(folder.glob("*.jar")), *jars)]
    parts = [str(java.executable), java.version]
    parts += [f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in files]
    # What was recorded below one path serves no other: each installation has its own.
    installation = _digest([str(folder)])
    return cache_dir(cache) / "classes" / installation / f"{_digest(parts)}.jsa"


def using_options(java: Java, archive: Path) -> str:
    """Java options that start from an archive, as `spark.driver.extraJavaOptions` has them."""
    option = "-XX:AOTCache" if java.major >= _AOT else "-XX:SharedArchiveFile"
    return f"{_option(option, archive)} {_quiet(java)}"


def recording_options(java: Java, archive: Path) -> str:
    """Java options that write an archive when the JVM ends, as `SPARK_SUBMIT_OPTS` has them."""
    option = "-XX:AOTCacheOutput" if java.major >= _AOT else "-XX:ArchiveClassesAtExit"
    return f"{_option(option, archive)} {_quiet(java)}"


def is_left_to_us(options: Iterable[str]) -> bool:
    """Whether none of the options that a JVM gets besides is about archives."""
    return not any(map(_ARCHIVE_OPTIONS.search, options))


def _quiet(java: Java) -> str:
    # A JVM that cannot use its archive says so on standard output, where commands print JSON.
    tags = ("aot", "cds") if java.major >= _AOT else ("cds",)
    return " ".join(f"-Xlog:{tag}*=off" for tag in tags)


def _option(name: str, value: Path) -> str:
    return shlex.quote(f"{name}={value}")


def _pyspark_jars() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None  # noqa: S101 - we depend on it
    assert spec.origin is not None  # noqa: S101 - a package with an __init__
    return Path(spec.origin).parent / "jars"


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
