import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "lake_assets"

MODULES = {path.relative_to(PACKAGE): path.read_text() for path in PACKAGE.rglob("*.py")}

OF_NO_ROOM = {
    Path("test_house.py"),
    Path("test_conftest.py"),
    Path("test_definitions.py"),
    Path("formats/protobuf/test_property.py"),
    Path("formats/json/test_property.py"),
    Path("gold/test_property.py"),
}


def test_each_test_module_mirrors_a_module_or_goes_from_end_to_end():
    tests = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - OF_NO_ROOM
    rooms = {path for path in tests if path.parts[0] != "e2e"}
    assert rooms
    lost = [p for p in rooms if p.with_name(p.name.removeprefix("test_")) not in MODULES]
    assert lost == []


def test_each_module_opens_with_a_sign_on_the_door():
    assert [path for path, text in MODULES.items() if not ast.get_docstring(ast.parse(text))] == []


def test_each_module_stays_under_300_lines():
    assert {path for path, text in MODULES.items() if len(text.splitlines()) >= 300} == set()


def test_a_rooms_init_holds_its_sign_and_nothing_more():
    signs = {path: text for path, text in MODULES.items() if path.name == "__init__.py"}
    assert [path for path, text in signs.items() if len(ast.parse(text).body) != 1] == []


def test_what_pyspark_keeps_to_itself_is_asked_for_in_one_place():
    """The benchmark's peers are as their users would write them; ours must outlive a release."""
    private = re.compile(r"\._(jvm|jsc|jdf|jc|jsq|jsparkSession|gateway)\b|pyspark\.sql\.pandas")
    rooms = {path: text for path, text in MODULES.items() if path.parts[0] != "bench"}
    assert [str(path) for path, text in rooms.items() if private.search(text)] == ["spark/jvm.py"]


def test_tests_are_no_package():
    assert list(TESTS.rglob("__init__.py")) == []
