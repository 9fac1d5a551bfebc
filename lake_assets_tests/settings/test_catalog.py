import pytest

from lake_assets.errors import SettingsError
from lake_assets.settings.catalog import CatalogKind
from lake_assets.settings.load import child_environment, load_settings

UNITY = {"KIND": "unity", "URL": "https://unity.example.com"}


def load(monkeypatch, **given):
    for name, value in given.items():
        monkeypatch.setenv(f"LAKE_ASSETS_CATALOG_{name}", value)
    return load_settings().catalog


def test_without_any_there_is_none(monkeypatch):
    assert load(monkeypatch).kind is None


def test_each_kind_is_told_by_variables_that_a_child_gets_too(monkeypatch):
    unity = load(monkeypatch, **UNITY, TOKEN="sesame", NAME="main", DATABASES="play_{layer}")  # noqa: S106 - of the test
    assert (unity.kind, unity.name, unity.databases) == (CatalogKind.UNITY, "main", "play_{layer}")
    assert "sesame" not in repr(unity)
    environment = child_environment(load_settings())
    assert environment["LAKE_ASSETS_CATALOG_TOKEN"] == "sesame"  # noqa: S105 - of the test
    assert environment["LAKE_ASSETS_CATALOG_KIND"] == "unity"


def test_options_are_glues_and_masked(monkeypatch):
    given = '{"aws_region": "eu-central-1", "aws_secret_access_key": "hush"}'
    glue = load(monkeypatch, KIND="glue", OPTIONS=given)
    assert glue.secrets == {"aws_region": "eu-central-1", "aws_secret_access_key": "hush"}
    assert "hush" not in repr(glue)
    environment = child_environment(load_settings())
    assert "hush" in environment["LAKE_ASSETS_CATALOG_OPTIONS"]


@pytest.mark.parametrize(
    ("given", "variable", "fact"),
    [
        ({"KIND": "nessie"}, "KIND", "'unity', 'glue' or 'hive'"),
        ({"KIND": "hive", "URL": "http://metastore"}, "URL", "is no thrift://host:port"),
        ({"KIND": "unity"}, "URL", "is not set, and a catalogue of this kind"),
        ({"KIND": "unity", "URL": "ftp://x"}, "URL", "is no web address"),
        ({"KIND": "unity", "URL": "https://anna:hush@x"}, "URL", "has an @ in it"),
        ({"KIND": "glue", "TOKEN": "hush"}, "TOKEN", "is Unity's"),
        ({**UNITY, "TOKEN": "hush\n"}, "TOKEN", "has a character that no token has"),
        ({**UNITY, "NAME": "a.b"}, "NAME", "takes letters, digits, _ and -"),
        ({**UNITY, "DATABASES": "{layer}{layer}"}, "DATABASES", "takes a-z, 0-9, _"),
        ({**UNITY, "DATABASES": "Lake"}, "DATABASES", "takes a-z, 0-9, _"),
        ({"KIND": "glue", "OPTIONS": '{"hush": "x"}'}, "OPTIONS", "take aws_region,"),
        ({**UNITY, "OPTIONS": '{"aws_region": "x"}'}, "OPTIONS", "are Glue's"),
        ({"KIND": "glue", "OPTIONS": "hush"}, "OPTIONS", "is no JSON, and an object is needed"),
    ],
)
def test_what_does_not_fit_is_refused_and_no_secret_repeated(monkeypatch, given, variable, fact):
    with pytest.raises(SettingsError, match=f"LAKE_ASSETS_CATALOG_{variable}: .*{fact}") as caught:
        load(monkeypatch, **given)
    assert "hush" not in str(caught.value)
