"""What did not fit a subject's columns, under the names that the feed's columns have. Pure.

A mask hides what did not fit a column by that column's name, and an array that is null is looked
for there, so that a field whose column has another name is to be found under that one.
"""

import pyarrow as pa

from lake_assets.formats.json.parse import parse, text_of
from lake_assets.formats.subjects.column_names import Names


def rescued_in_feed(texts: pa.Array, names: Names) -> pa.Array:
    """What was rescued of rows, with the names of the feed's columns.

    A value that nobody declared and that is called as such a column gets a `_` more, and is there.

    Args:
        texts: JSON objects, null where all fitted.
        names: by a subject's own name, the feed's.
    """
    if texts.null_count == len(texts):
        return texts
    encoded = texts.dictionary_encode()
    told = [_renamed(text, names) for text in encoded.dictionary.to_pylist()]
    return pa.array(told, pa.string()).take(encoded.indices)


def _renamed(text: str, names: Names) -> str:
    found = parse(text.encode())
    if names.keys().isdisjoint(found):
        return text
    made = {names[name]: value for name, value in found.items() if name in names}
    for name, value in found.items():
        if name not in names:
            free = name
            while free in made or (free != name and free in found):
                free += "_"
            made[free] = value
    return text_of(made)
