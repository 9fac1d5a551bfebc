"""Values of a column as text, by which an erasure knows them.

A whole number is its digits, bytes are hexadecimal; lists, maps and structs are no value of a
person.
"""

import pyarrow as pa
import pyarrow.compute as pc

_NO_VALUE = (pa.types.is_nested, pa.types.is_null)


def texts_of(values: pa.Array) -> pa.Array | None:
    """The values as `string`, null where there is none; None of a type that has no such texts."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return texts_of(values.dictionary_decode())
    if any(is_none(kind) for is_none in _NO_VALUE):
        return None
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or _is_other_binary(kind):
        return _in_hexadecimal(values)
    return values if kind == pa.string() else pc.cast(values, pa.string())


def _is_other_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind))


def _in_hexadecimal(values: pa.Array) -> pa.Array:
    encoded = values.cast(pa.binary()).dictionary_encode()
    texts = [one.hex() for one in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)
