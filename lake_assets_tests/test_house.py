import ast
import re
import subprocess
import sys
import zipfile
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PACKAGE = ROOT / "lake_assets"

MODULES = {path.relative_to(PACKAGE): path.read_text() for path in PACKAGE.rglob("*.py")}

BESIDE = {
    path.relative_to(ROOT): path.read_text()
    for package in ("benchmarks", "docs_pages")
    for path in (ROOT / package).rglob("*.py")
}
"""What is developed here and is not in the wheel."""

ALL_MODULES = MODULES | BESIDE

OF_NO_ROOM = {
    Path("test_house.py"),
    Path("test_conftest.py"),
    Path("test_docs.py"),
    Path("test_definitions.py"),
    Path("decode/test_property.py"),
    Path("gold/test_property.py"),
}


def test_each_test_module_mirrors_a_module_or_goes_from_end_to_end():
    tests = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - OF_NO_ROOM
    rooms = {path for path in tests if path.parts[0] != "e2e"}
    assert rooms
    lost = [p for p in rooms if p.with_name(p.name.removeprefix("test_")) not in ALL_MODULES]
    assert lost == []


def test_each_module_opens_with_a_sign_on_the_door():
    unsigned = [
        path for path, text in ALL_MODULES.items() if not ast.get_docstring(ast.parse(text))
    ]
    assert unsigned == []


def test_each_module_stays_under_300_lines():
    assert {path for path, text in ALL_MODULES.items() if len(text.splitlines()) >= 300} == set()


def test_a_rooms_init_holds_its_sign_and_nothing_more():
    signs = {path: text for path, text in ALL_MODULES.items() if path.name == "__init__.py"}
    assert [path for path, text in signs.items() if len(ast.parse(text).body) != 1] == []


def test_each_room_says_what_is_in_it_and_what_is_not():
    """In more than a line: the first says what is there, the rest what is elsewhere."""
    signs = {path: text for path, text in ALL_MODULES.items() if path.name == "__init__.py"}
    short = [path for path, text in signs.items() if len(text.splitlines()) < 4]
    assert short == []


def test_what_pyspark_keeps_to_itself_is_asked_for_in_one_place():
    private = re.compile(r"\._(jvm|jsc|jdf|jc|jsq|jsparkSession|gateway)\b|pyspark\.sql\.pandas")
    assert [str(path) for path, text in MODULES.items() if private.search(text)] == ["spark/jvm.py"]


def test_tests_are_no_package():
    assert list(TESTS.rglob("__init__.py")) == []


def test_the_wheel_has_the_product_and_nothing_beside_it(tmp_path):
    subprocess.run(  # noqa: S603 - our own build backend
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0].split("-")[0] for name in archive.namelist()}
    assert tops == {"lake_assets"}
