"""Offsets of a topic as the product has them, by its name and partition."""


def placed(name, offsets):
    """Offsets by partition, as those of a source of that name."""
    return {(name, partition): offset for partition, offset in offsets.items()}


def t(offsets):
    """Offsets by partition, as those of topic `t`."""
    return placed("t", offsets)
