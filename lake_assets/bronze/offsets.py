"""Where ingest goes on in its source: after the rows that bronze has. Pure.

Bronze's commits say which offsets it has (`delta.source_offsets`); the source says which there are.
"""

from collections.abc import Mapping

from lake_assets.errors import StreamError
from lake_assets.model.origins import Extent
from lake_assets.model.sources import DeclaredSource


def is_another(recorded: int | None, told: int | None) -> bool:
    """Whether a source is not the one that bronze's rows are of, where both have an identity."""
    return recorded is not None and told is not None and recorded != told


def next_offsets(source: DeclaredSource, extent: Extent, have: Mapping[int, int]) -> dict[int, int]:
    """Where to go on, by partition; one that came since is read from its first row.

    Args:
        source: what is read.
        extent: which offsets it has.
        have: by partition, the offset after the last that bronze has.

    Raises:
        StreamError: the source no longer has what comes next, or never had what bronze has.
    """
    for partition, offset in have.items():
        _ensure_readable(source, extent, partition, offset)
    return {partition: have.get(partition, begin) for partition, begin in extent.begins.items()}


def another(source: DeclaredSource) -> StreamError:
    """The error of a source that `is_another`."""
    return StreamError(
        source.title,
        "is not the one that bronze has rows of: it was created again under the same name, or "
        f"this lake belongs to another {source.system}",
        _elsewhere(source),
    )


def _ensure_readable(source: DeclaredSource, extent: Extent, partition: int, offset: int) -> None:
    begin, end = extent.begins.get(partition), extent.ends.get(partition)
    thing = f"partition {partition} of {source.title}"
    if begin is None or end is None or offset > end:
        fact = "is not there" if end is None else f"ends at offset {end}"
        raise StreamError(
            thing,
            f"{fact}, and bronze has its rows up to offset {offset}: it was created again, or "
            f"this lake belongs to another {source.system}",
            _elsewhere(source),
        )
    if offset < begin:
        raise StreamError(
            thing,
            f"begins at offset {begin}, and bronze needs offset {offset} next: {source.system} "
            f"deleted {begin - offset} offsets before they were read",
            f"Restore them in {source.system}; or go on without them in another lake (--lake), or "
            "in this one under another feed's name",
        )


def _elsewhere(source: DeclaredSource) -> str:
    return (
        f"Name the right {source.system}; or read this one into another lake (--lake), or into "
        "this one under another feed's name"
    )
