import ast
import re
import tomllib
import zipfile
from pathlib import Path

import dagster as dg
from dagster._annotations import is_public

from lake_assets_tests.wheels import build_wheel

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PACKAGE = ROOT / "lake_assets"

MODULES = {path.relative_to(PACKAGE): path.read_text() for path in PACKAGE.rglob("*.py")}

BESIDE = {
    path.relative_to(ROOT): path.read_text()
    for package in ("benchmarks", "docs_pages", "faults")
    for path in (ROOT / package).rglob("*.py")
}
"""What is developed here and is not in the wheel."""

ALL_MODULES = MODULES | BESIDE

OF_NO_ROOM = {
    Path("test_audit.py"),
    Path("test_definitions_imports.py"),
    Path("test_install.py"),
    Path("test_commands.py"),
    Path("test_house.py"),
    Path("test_conftest.py"),
    Path("test_docs.py"),
    Path("test_definitions.py"),
    Path("test_exports.py"),
    Path("backup/test_with_kept_state.py"),
    Path("formats/protobuf/test_property.py"),
    Path("formats/avro/test_property.py"),
    Path("formats/avro/test_random_versions.py"),
    Path("formats/json/test_property.py"),
    Path("formats/json/test_inferring.py"),
    Path("formats/json_schema/test_property.py"),
    Path("formats/csv/test_property.py"),
    Path("gold/test_property.py"),
    Path("gold/test_gold_on_gold.py"),
    Path("delta/test_lake_in_a_store.py"),
    Path("delta/test_partition_columns.py"),
    Path("delta/test_shallow_clones.py"),
    Path("delta/test_store_faults.py"),
}


def test_each_test_module_mirrors_a_module_or_goes_from_end_to_end():
    tests = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - OF_NO_ROOM
    # `docker` is of the files beside the package, which have no modules.
    rooms = {path for path in tests if path.parts[0] not in {"e2e", "docker"}}
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
    """But the package's own, which says what projects of others may import."""
    signs = {path: text for path, text in ALL_MODULES.items() if path.name == "__init__.py"}
    more = [path for path, text in signs.items() if len(ast.parse(text).body) != 1]
    assert more == [Path("__init__.py")]


def test_each_room_says_what_is_in_it_and_what_is_not():
    """In more than a line: the first says what is there, the rest what is elsewhere."""
    signs = {path: text for path, text in ALL_MODULES.items() if path.name == "__init__.py"}
    short = [path for path, text in signs.items() if len(text.splitlines()) < 4]
    assert short == []


def test_what_pyspark_keeps_to_itself_is_asked_for_in_one_place():
    private = re.compile(r"\._(jvm|jsc|jdf|jc|jsq|jsparkSession|gateway)\b|pyspark\.sql\.pandas")
    assert [str(path) for path, text in MODULES.items() if private.search(text)] == ["spark/jvm.py"]


def test_locks_are_taken_in_one_way():
    modules = re.compile(r"^(?:import|from) (?:fcntl|filelock)\b", re.MULTILINE)
    takers = [str(path) for path, text in MODULES.items() if modules.search(text)]
    assert takers == ["runtime/file_lock.py"]


INTERNALS = Path("defs/internals")

DAGSTERS = {
    path: text
    for path, text in MODULES.items()
    if re.search(r"^import dagster", text, re.MULTILINE)
}

CONTEXTS = (
    dg.SensorEvaluationContext,
    dg.ScheduleEvaluationContext,
    dg.OpExecutionContext,
    dg.AssetExecutionContext,
    dg.AssetCheckExecutionContext,
    dg.ComponentLoadContext,
)

PROMISED = {"log"}
"""Of a sensor's context: in Dagster's guide, and not marked."""


def asked_of(text: str) -> set[tuple[str, str]]:
    """What a module asks of an instance and of a context, each as whose attribute and its name."""
    asked = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            whose = ast.unparse(node.value).rpartition(".")[2].lstrip("_")
            if whose in {"instance", "context"}:
                asked.add((whose, node.attr))
    return asked


def is_promised(whose: str, name: str) -> bool:
    owners = (dg.DagsterInstance,) if whose == "instance" else CONTEXTS
    return any(is_public(getattr(owner, name, None)) for owner in owners)


def test_what_dagster_keeps_to_itself_is_asked_for_in_one_place():
    private = re.compile(r"dagster\._|^from dagster|\b(?!self\b|cls\b)\w+\._[a-z]", re.MULTILINE)
    inside = {path for path, text in DAGSTERS.items() if private.search(text)}
    unmarked = {
        path: {
            (whose, name)
            for whose, name in asked_of(text)
            if name not in PROMISED and not is_promised(whose, name)
        }
        for path, text in DAGSTERS.items()
    }
    inside |= {path for path, names in unmarked.items() if names}
    assert inside
    assert [path for path in inside if not path.is_relative_to(INTERNALS)] == []


def test_each_internal_of_dagster_has_a_test_that_names_it():
    for path in PACKAGE.joinpath(INTERNALS).glob("[!_]*.py"):
        tests = (TESTS / INTERNALS / f"test_{path.name}").read_text()
        names = [n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)]
        assert [n for n in names if not n.startswith("_") and n not in tests] == []


def test_what_says_that_it_is_pure_is_held_to_it():
    """The contracts are import-linter's (`make check`); here, that no module escapes them."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    held = [
        Path(*module.split(".")[1:])
        for contract in contracts
        if contract["name"].startswith("Pure")
        for module in contract["source_modules"]
    ]
    claims = {
        path.with_suffix("")
        for path, text in MODULES.items()
        if path.name != "__init__.py"
        and re.search(r"\b[Pp]ure\b", ast.get_docstring(ast.parse(text)) or "")
    }
    assert claims
    assert [path for path in claims if not any(path.is_relative_to(room) for room in held)] == []


def test_tests_are_no_package():
    assert list(TESTS.rglob("__init__.py")) == []


def test_the_wheel_has_the_product_and_nothing_beside_it(tmp_path):
    with zipfile.ZipFile(build_wheel(tmp_path)) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"lake_assets"}
    templates = {f.name for f in (PACKAGE / "scaffold" / "files").iterdir()}
    assert {Path(name).name for name in names if "scaffold/files/" in name} == templates
