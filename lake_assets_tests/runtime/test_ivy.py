import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime import ivy
from lake_assets.runtime.jars import ensure_groups
from lake_assets.runtime.java import find_java
from lake_assets.runtime.setup import spark_jars
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import RuntimeSettings

pytestmark = pytest.mark.java

_SETTINGS = """<ivysettings>
  <settings defaultResolver="mine"/>
  <resolvers><ibiblio name="mine" m2compatible="true" usepoms="false" root="{root}"/></resolvers>
</ivysettings>"""


def _settings(folder: Path, root: str) -> Path:
    path = folder / "ivysettings.xml"
    path.write_text(_SETTINGS.format(root=root))
    return path


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """Spark's jars as a repository in a folder, made from the cache."""
    jars = {jar.name: jar for jar in spark_jars(load_settings())}
    root = ET.parse(ivy.ARTIFACTS / "ivy.xml").getroot()  # noqa: S314 our own file
    for dependency in root.iter("dependency"):
        org, name, rev = (dependency.attrib[key] for key in ("org", "name", "rev"))
        if (jar := jars.get(f"{name}-{rev}.jar")) and dependency.attrib["conf"].startswith("spark"):
            folder = tmp_path / "mirror" / org.replace(".", "/") / name / rev
            folder.mkdir(parents=True)
            shutil.copy(jar, folder)
    return tmp_path / "mirror"


def test_ivy_fetches_from_the_users_own_mirror(tmp_path, mirror):
    own = _settings(tmp_path, mirror.as_uri())
    runtime = RuntimeSettings(cache=tmp_path / "cache", ivy_settings=own)
    seen = []
    jars = ensure_groups(
        ("spark",), find_java(tmp_path), runtime, on_progress=lambda *bytes_: seen.append(bytes_)
    )["spark"]
    assert len(jars) == 6
    assert all(jar.is_file() for jar in jars)
    assert all(0 <= landed <= total for landed, total in seen)


def test_no_network_is_an_error_that_says_why_and_names_the_log(tmp_path):
    own = _settings(tmp_path, "http://127.0.0.1:1/")
    runtime = RuntimeSettings(cache=tmp_path / "cache", ivy_settings=own)
    with pytest.raises(RuntimeSetupError, match=r"Connection refused.*ivy\.log.*IVY_SETTINGS"):
        ensure_groups(("spark",), find_java(tmp_path), runtime)
