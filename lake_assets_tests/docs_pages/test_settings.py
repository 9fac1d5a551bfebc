from docs_pages.fields import described, models_in
from docs_pages.settings import page
from lake_assets.settings.load import child_environment, load_settings
from lake_assets.settings.schema import Settings

FIELDS = Settings.model_fields
GROUPS = {name: model for name, it in FIELDS.items() for model in models_in(it.annotation)}


def test_every_setting_is_named_by_its_variable():
    variables = [f"LAKE_ASSETS_{name}" for name in FIELDS if name not in GROUPS]
    variables += [
        f"LAKE_ASSETS_{group}_{it}" for group in GROUPS for it in GROUPS[group].model_fields
    ]
    assert len(variables) > 40
    assert [name for name in map(str.upper, variables) if f"| `{name}` |" not in page()] == []


def test_a_variable_that_the_page_names_is_read(monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_ALERTS_SMTP_PORT", "2525")
    assert "| `LAKE_ASSETS_ALERTS_SMTP_PORT` |" in page()
    assert load_settings().alerts.smtp_port == 2525


def test_variables_that_children_get_are_on_the_page(settings):
    given = [name for name in child_environment(settings) if name.startswith("LAKE_ASSETS_")]
    assert given
    assert [name for name in given if f"`{name}`" not in page()] == []


def test_every_setting_says_what_it_is_for():
    silent = [
        it for model in GROUPS.values() for it in model.model_fields if not described(model, it)
    ]
    assert silent == []
    assert [name for name in FIELDS if name not in GROUPS and not described(Settings, name)] == []
