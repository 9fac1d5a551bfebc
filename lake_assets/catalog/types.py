"""Types of Delta's columns in the words of Spark, and so of Hive and of catalogues. Pure."""

from typing import Any

_WORDS = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
"""Where Delta's word for a plain type is another."""


def type_in_words(delta: Any) -> str:  # noqa: ANN401 - JSON
    """A type as Delta's log has it: `array<string>`, `struct<at:timestamp,n:bigint>`.

    Args:
        delta: a plain type's name, or the object of a nested one.
    """
    if isinstance(delta, str):
        return _WORDS.get(delta, delta)
    match delta["type"]:
        case "array":
            return f"array<{type_in_words(delta['elementType'])}>"
        case "map":
            key, value = type_in_words(delta["keyType"]), type_in_words(delta["valueType"])
            return f"map<{key},{value}>"
        case _:
            fields = (f"{one['name']}:{type_in_words(one['type'])}" for one in delta["fields"])
            return f"struct<{','.join(fields)}>"
