import pytest
from pydantic import ValidationError

from lake_assets.model.table_names import TableNames
from lake_assets.model.tables import Layer

OTHERS = TableNames(silver="{key}_in_silver", gold="{view}_of_{key}_v2")


def test_tables_have_the_layer_in_their_names_by_default():
    names = TableNames()
    silver, gold = names.silver_of("uno"), names.gold_of("uno", "agg")
    assert (silver.layer, silver.name) == (Layer.SILVER, "silver_uno_events")
    assert (gold.layer, gold.name) == (Layer.GOLD, "gold_uno_agg")


def test_a_template_names_the_tables_of_its_layer():
    assert OTHERS.silver_of("uno").name == "uno_in_silver"
    assert OTHERS.gold_of("go_fish", "agg").name == "agg_of_go_fish_v2"


def test_a_pattern_is_named_by_what_stands_for_the_key():
    assert OTHERS.silver_of("{key}").name == "{key}_in_silver"
    assert OTHERS.gold_of("{key}", "agg").name == "agg_of_{key}_v2"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("uno_in_silver", "uno"),
        ("in_silver_in_silver", "in_silver"),
        ("_in_silver", None),
        ("silver_uno_events", None),
        ("Uno_in_silver", None),
        (f"{'x' * 65}_in_silver", None),
    ],
)
def test_a_name_tells_the_key_it_was_made_for(name, key):
    assert OTHERS.key_of_silver(name) == key


@pytest.mark.parametrize("names", [TableNames(), OTHERS, TableNames(gold="{key}_{view}")])
def test_what_is_around_the_key_leaves_the_key(names):
    before, after = names.around_key("agg")
    assert f"{before}chess{after}" == names.gold_of("chess", "agg").name


@pytest.mark.parametrize(
    ("field", "template", "problem"),
    [
        ("silver", "events", "'events' has {key} nowhere\nwrite it once"),
        ("silver", "{key}_{key}", "has {key} 2 times\nwrite it once"),
        ("silver", "{key}_{view}", "cannot name tables\nuse lower-case letters, digits and _ aro"),
        ("silver", "", "'' has {key} nowhere"),
        ("silver", "{keys}", "has {key} nowhere"),
        ("silver", "{key", "has {key} nowhere"),
        ("silver", "Silver_{key}", "use lower-case letters, digits and _ around {key}"),
        ("silver", "silver-{key}", "use lower-case letters"),
        ("silver", "../{key}", "use lower-case letters"),
        ("silver", "{{key}}", "use lower-case letters"),
        ("silver", "{key}\n", "use lower-case letters"),
        ("silver", "_{key}", "begin with a letter or a placeholder"),
        ("silver", "1_{key}", "begin with a letter or a placeholder"),
        ("silver", "x" * 65 + "{key}", "is too long: at most 64 characters beside"),
        ("gold", "gold_{key}", "has {view} nowhere\nwrite it once"),
        ("gold", "gold_{view}", "has {key} nowhere\nwrite it once"),
        ("gold", "gold_{key}{view}", "does not tell where the key ends\nwrite _ between"),
        ("gold", "{key}_{view}_{feed}", "use lower-case letters"),
    ],
)
def test_a_template_that_cannot_name_tables_is_refused(field, template, problem):
    with pytest.raises(ValidationError) as caught:
        TableNames(**{field: template})
    (found,) = caught.value.errors()
    assert found["loc"] == (field,)
    assert problem in found["msg"]


def test_the_longest_names_are_names_of_files():
    names = TableNames(silver="x" * 64 + "{key}", gold="x" * 63 + "{key}_{view}")
    assert len(names.silver_of("k" * 64).name) <= 255
    assert len(names.gold_of("k" * 64, "v" * 63).name) <= 255
