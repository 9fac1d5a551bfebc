"""Whether sources are those that bronze's rows are of, and still have bronze's last rows.

A topic may have been deleted and created again. A broker may have lost its newest rows and taken
others since, so that each offset is there again and means another row: a row is known by its
offset, so of those bronze would have the old ones, and go on behind the new ones. That is seen by
the times of bronze's last rows: a source that has others at their offsets gives other times.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from lake_assets.bronze.offsets import another, is_another
from lake_assets.delta.newest_rows import NewestRow, newest_rows
from lake_assets.delta.table_log import log_of
from lake_assets.errors import SourceNotFoundError, StreamError
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import ByPlace, Place
from lake_assets.model.sources import DeclaredSource
from lake_assets.model.tables import bronze_of
from lake_assets.sources.base import Generation, Source
from lake_assets.spark.lake_context import LakeContext

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(kw_only=True)
class SameSource:
    """Asks a feed's source at each start, and before what was read of it is committed."""

    feed: Feed
    source: Source
    context: LakeContext

    _known: Generation = field(default_factory=Generation)
    _was_settled: bool = True
    """Whether no partition changed while the last batch was read."""

    @property
    def identities(self) -> Mapping[str, int | None]:
        """By name, those that were told last."""
        return self._known.identities

    def begin(self, told: Generation, have: ByPlace) -> None:
        """Know what there is at a start.

        Args:
            told: by the source, before anything was read of it.
            have: by name and partition, the offset after the last that bronze has of it.

        Raises:
            StreamError: the source has other rows at the offsets of bronze's last ones.
            SourceError: it cannot be asked.
            LakeError: the lake cannot be read.
        """
        self._compare(have)
        self._known, self._was_settled = told, True

    def ensure(self, have: ByPlace, until: ByPlace) -> None:
        """Make sure of what was just read, and of the rows before it.

        Args:
            have: as in `begin`.
            until: by name and partition, where what was just read ends.

        Raises:
            StreamError: the source was created again meanwhile, or as `begin`.
            SourceNotFoundError: it was deleted meanwhile.
            SourceError: it cannot be asked.
            LakeError: the lake cannot be read.
        """
        told = self.ensure_there({name for name, _ in {*have, *until}})
        for name, identity in sorted(told.identities.items()):
            if is_another(self._known.identities.get(name), identity):
                raise another(self.feed.source.declared, name)
        is_settled = told.epochs == self._known.epochs
        # What was read while a partition changed is looked at with the next batch, in bronze.
        if not (is_settled and self._was_settled):
            self._compare(have)
        identities = {n: i for n, i in told.identities.items() if i is not None}
        known = replace(told, identities={**self._known.identities, **identities})
        self._known, self._was_settled = known, is_settled

    def ensure_there(self, names: Collection[str]) -> Generation:
        """What there is under some names.

        Raises:
            SourceNotFoundError: there is nothing under one of them any more.
            SourceError: the source cannot be asked.
        """
        declared, told = self.feed.source.declared, self.source.generation(names)
        gone = sorted({*names} - told.identities.keys())
        if gone:
            fact, step = "was deleted while it was read", "The next start tells what follows"
            raise SourceNotFoundError(declared.title_of(gone[0]), fact, step)
        return told

    def _compare(self, have: ByPlace) -> None:
        declared, table = self.feed.source.declared, bronze_of(self.feed.feed)
        newest = newest_rows(
            log_of(self.context.lake, table),
            self.context.committer.fresh(table),
            declared.origin,
            have,
        )
        times = self.source.times({place: row.offset for place, row in newest.items()})
        for place, time in sorted(times.items()):
            if newest[place].time != time:
                raise _rewritten(declared, place, newest[place], time)


def _rewritten(source: DeclaredSource, place: Place, row: NewestRow, time: int) -> StreamError:
    return StreamError(
        f"partition {place[1]} of {source.title_of(place[0])}",
        f"has a row of {_utc(time)} at offset {row.offset}, where bronze has one of "
        f"{_utc(row.time)}: {source.system} lost rows that bronze has and gave their offsets to "
        f"others, or this lake belongs to another {source.system}",
        "Have all rows since then written under another name and correct the feed, which then has "
        "the rows of both; or read this source into another lake (--lake), or into this one under "
        "another feed's name",
    )


def _utc(micros: int) -> str:
    try:
        return f"{_EPOCH + timedelta(microseconds=micros):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"
    except OverflowError:
        return f"{micros} µs since 1970"
