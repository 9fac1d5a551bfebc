"""How many columns a message may become: fields of one message type are inlined wherever it is.

A type that is used twice by one that is used twice doubles with each level, so that a kilobyte of
schema could take all memory, and the decoder then ends its process instead of raising.
"""

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lake_assets.errors import SchemaUnusableError

MOST_FIELDS = 10_000
"""That a message may have, with those of the messages within it, each time it is within it."""

DEEPEST = 56
"""Levels of Arrow's types that may be within each other, lists and maps among them: Arrow itself
takes 64 from other libraries. People nest five or six messages."""

_STEP = "Register a corrected version"


def ensure_bounded(message: Descriptor) -> None:
    """Refuse a message that would become too many columns, or too deep ones.

    A message within itself is bytes to the decoder, and not looked into.

    Raises:
        SchemaUnusableError: it would.
    """
    _count(message, (message.full_name,), 1, 0)


def _count(message: Descriptor, path: tuple[str, ...], level: int, count: int) -> int:
    """Fields that were met when a message's own were."""
    for field in message.fields:
        count += 1
        if count > MOST_FIELDS:
            fact = f"has more than {MOST_FIELDS:,} fields, those of messages within it counted"
            raise SchemaUnusableError(f"message {path[0]}", fact, _STEP)
        inner = field.message_type
        if inner is None or inner.full_name in path:
            continue
        deeper = level + 1 + _levels_beside(field)
        if deeper > DEEPEST:
            raise SchemaUnusableError(f"message {path[0]}", "is nested too deep", _STEP)
        count = _count(inner, (*path, inner.full_name), deeper, count)
    return count


def _levels_beside(field: FieldDescriptor) -> int:
    """What a list or a map adds; a map's entry is a message, and so counted."""
    return int(field.is_repeated)
