"""Values of a column as text, by which an erasure knows them.

A whole number and bytes are marked as such (`model.erasures`); lists, maps and structs are no value
of a person.
"""

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.erasures import NUMBER, bytes_text

_NO_VALUE = (pa.types.is_nested, pa.types.is_null)


def texts_of(values: pa.Array) -> pa.Array | None:
    """The values as `string`, null where there is none; None of a type that has no such texts."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return texts_of(values.dictionary_decode())
    if any(is_none(kind) for is_none in _NO_VALUE):
        return None
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or _is_other_binary(kind):
        return _of_bytes(values)
    texts = values if kind == pa.string() else pc.cast(values, pa.string())
    if pa.types.is_integer(kind):
        return pc.binary_join_element_wise(pa.scalar(NUMBER), texts, pa.scalar(""))
    return texts


def _is_other_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind))


def _of_bytes(values: pa.Array) -> pa.Array:
    encoded = values.cast(pa.binary()).dictionary_encode()
    texts = [bytes_text(one) for one in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)
