from dataclasses import replace

from lake_assets.decode.handlers import handler_of


def test_a_handler_is_made_once_a_schema(compiled):
    schemas = compiled("message event { bool a = 1; }")
    assert handler_of(schemas) is handler_of(replace(schemas, known_ids=frozenset({7, 10})))


def test_the_handler_is_of_the_named_message(compiled):
    schemas = compiled("package p; message event { bool a = 1; } message other { bool b = 1; }")
    assert handler_of(schemas).schema().names == ["a"]
