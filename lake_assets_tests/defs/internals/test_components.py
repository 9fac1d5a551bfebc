import sys

import dagster as dg
import pytest

ASKS = """
import dagster as dg
from typing import Annotated
from lake_assets.defs.internals.components import beside_yaml, component_at, components_of

class Told(dg.Component, dg.Model, dg.Resolvable):
    place: Annotated[str, dg.Resolver(beside_yaml, model_field_type=str)]
    def build_defs(self, context):
        return dg.Definitions()

class Asks(dg.Component):
    def build_defs(self, context):
        (found,) = components_of(context, Told)
        assert component_at(context, "told", Told) is found
        return dg.Definitions(assets=[dg.AssetSpec("it", metadata={"place": found.place})])
"""


@pytest.mark.filterwarnings("ignore:Parameter `execution_type`")
def test_a_component_finds_others_and_what_their_yaml_means(tmp_path, monkeypatch):
    """Asks `components_of` and `component_at`; `beside_yaml` is the other's."""
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    defs = tmp_path / "src" / "asking" / "defs"
    for name in ("told", "asks"):
        (defs / name).mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "asking"\n'
    )
    (defs.parent / "__init__.py").touch()
    (defs / "__init__.py").touch()
    (defs.parent / "parts.py").write_text(ASKS)
    (defs / "told" / "defs.yaml").write_text(
        "type: asking.parts.Told\nattributes:\n  place: ../x\n"
    )
    (defs / "asks" / "defs.yaml").write_text("type: asking.parts.Asks\n")
    made = dg.load_from_defs_folder(path_within_project=defs)
    metadata = made.resolve_asset_graph().get(dg.AssetKey("it")).metadata
    assert metadata["place"] == str(defs / "x")
    for name in [name for name in sys.modules if name.partition(".")[0] == "asking"]:
        del sys.modules[name]
