import sys

import dagster as dg
import pytest

from lake_assets.composition.components import FeedComponent, LakeComponent
from lake_assets.errors import causes_of
from lake_assets_tests.e2e.test_composition_page import PROJECT


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Loads a project's definitions from the YAML of its components, by folder."""
    root = tmp_path / "project"
    monkeypatch.syspath_prepend(str(root / "src"))

    def load(**components: str) -> dg.Definitions:
        defs = root / "src" / "shop" / "defs"
        defs.mkdir(parents=True)
        (root / "pyproject.toml").write_text(PROJECT)
        (defs.parent / "__init__.py").touch()
        (defs / "__init__.py").touch()
        for name, text in components.items():
            (defs / name).mkdir()
            (defs / name / "defs.yaml").write_text(text)
        return dg.load_from_defs_folder(path_within_project=defs)

    yield load
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def lake(name: str, attributes: str = "") -> str:
    place = f"  lake: '{{{{ context.project_root }}}}/{name}'\n"
    return f"type: lake_assets.LakeComponent\nattributes:\n{place}{attributes}"


def feed(name: str, attributes: str = "") -> str:
    return f"type: lake_assets.FeedComponent\nattributes:\n  feed: {name}\n{attributes}"


def names(made: dg.Definitions) -> set[str]:
    return {key.to_user_string() for key in made.resolve_asset_graph().get_all_asset_keys()}


def test_components_together_are_the_whole_lake(project, tmp_path):
    made = project(all=lake("lake"), games=feed("games"), fitness=feed("fitness"))
    dg.Definitions.validate_loadable(made)
    from lake_assets import build_defs

    whole = build_defs(lake=tmp_path / "project" / "lake")
    assert names(made) == names(whole)
    found, expected = made.get_repository_def(), whole.get_repository_def()
    assert set(found.job_names) == set(expected.job_names)
    assert found.asset_graph.asset_check_keys == expected.asset_graph.asset_check_keys
    assert (tmp_path / "project" / "lake" / "_lake.json").exists()


def test_attributes_are_arguments(project):
    more = "  key_prefix: [prod]\n  include: [maintenance]\n  owners: ['team:data']\n"
    more += "  settings: {maintenance: {schedule: '7 * * * *'}}\n"
    made = project(all=lake("lake", more), games=feed("games"))
    schedule = made.resolve_schedule_def("prod_maintain_schedule")
    assert schedule.cron_schedule == "7 * * * *"
    graph = made.resolve_asset_graph()
    assert graph.get(dg.AssetKey(["prod", "silver_events"])).owners == ["team:data"]
    assert "prod_streams" not in made.get_repository_def().job_names


def test_of_two_lakes_a_feed_says_whose_it_is(project):
    second = "  key_prefix: [test]\n  lake_resource: test_lake\n"
    made = project(
        one=lake("one"),
        two=lake("two", second),
        games=feed("games", "  lake: one\n"),
        more=feed("games", "  lake: two\n"),
    )
    dg.Definitions.validate_loadable(made)
    assert {"silver_events", "test/silver_events"} <= names(made)


@pytest.mark.parametrize(
    ("components", "told"),
    [
        ({"games": feed("games")}, "no lake_assets.LakeComponent"),
        ({"a": lake("a"), "b": lake("b"), "g": feed("games")}, "of 2 lakes of the project"),
        ({"a": lake("a"), "g": feed("gamse")}, "feed 'gamse': is not declared"),
        ({"a": lake("a", "  include: [assets]\n")}, "has 'assets', which is not known"),
        ({"a": lake("a", "  laake: x\n")}, "laake"),
    ],
)
def test_what_does_not_fit_is_told(project, components, told):
    with pytest.raises(Exception, match=r"(?s).") as raised:
        project(**components)
    assert told in "\n".join(map(str, causes_of(raised.value)))


def test_components_can_be_made_in_python(tmp_path):
    one = LakeComponent(lake=str(tmp_path / "lake"), include=["alerts"])
    assert one.opened() is one.opened()
    assert FeedComponent(feed="games").lake is None
