"""A payload format with a feed's `transform` behind it: the driver's side.

To demux, and to the `select` behind it, it is one more format, whose columns are what the function
gives. What it gives is found in `silver.transform_trial`; `silver.transforming_decoder` calls it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.errors import FeedError, LakeError
from lake_assets.feeds.functions import NamedFunction, find_function
from lake_assets.formats.base import Decoder, PayloadFormat
from lake_assets.formats.questions import KeptTypesQuestion, Question
from lake_assets.formats.schema_merge import Mismatch
from lake_assets.model.feeds import Feed
from lake_assets.silver.computed_columns import (
    START_AGAIN,
    kind_without_keys,
    misfit,
    with_computed,
)
from lake_assets.silver.transform_trial import Trial, try_transform
from lake_assets.silver.transforming_decoder import TransformingDecoder


def with_transform(feed: Feed, inner: PayloadFormat[Any]) -> PayloadFormat[Any]:
    """The format of a feed's values, with what its function makes of them, if it names one.

    Raises:
        FeedError: the function cannot be imported.
    """
    if feed.transform is None:
        return inner
    return TransformingFormat(feed, inner, find_function(feed.transform))


@dataclass(frozen=True, slots=True)
class TransformingFormat:
    """A `formats.base.PayloadFormat` over another one; what is known of schemas is the other's."""

    feed: Feed
    inner: PayloadFormat[Any]
    function: NamedFunction

    def newest(self) -> Any:  # noqa: ANN401 - the other format's
        """As the other format."""
        return self.inner.newest()

    def check(self) -> None:
        """As the other format."""
        self.inner.check()

    def for_next_batch(self, schemas: Any, now: float) -> Any:  # noqa: ANN401 - the other's
        """As the other format."""
        return self.inner.for_next_batch(schemas, now)

    def resolve(self, schemas: Any, questions: frozenset[Question]) -> Any:  # noqa: ANN401
        """As the other format, which knows the columns that the function hands on."""
        own = self._own(schemas, questions)
        return self.inner.resolve(schemas, own) if own else schemas

    def let_wait(self, schemas: Any, questions: frozenset[Question]) -> Any:  # noqa: ANN401
        """As `resolve`, where rows wait whose questions only the outside can answer."""
        own = self._own(schemas, questions)
        return self.inner.let_wait(schemas, own) if own else schemas

    def plan(self, schemas: Any, have: pa.Schema, route: Sequence[str]) -> Decoder:  # noqa: ANN401
        """What the function makes of the decoded columns.

        Raises:
            FeedError: it does not keep its promise (`try_transform`), or leaves out the route.
            LakeError: a column does not go with what the tables have.
        """
        alone = _known(self.inner.plan(schemas, pa.schema([]), ()))
        first = self._tried(alone)
        before = [c for c in have if c.name in first.passed or c.name not in first.columns.names]
        asked = [name for name in route if name in first.passed]
        decoder = self.inner.plan(schemas, pa.schema(before), asked)
        takes = _in_order(alone.names, _known(decoder))
        trial = self._tried(takes)
        # All that it gives: it may fill for any row what no message has brought yet.
        columns = self._merged(have, trial.columns, trial)
        self._ensure_there(route, trial.columns)
        return TransformingDecoder(
            inner=decoder,
            function=self.function,
            takes=takes,
            gives=trial.columns,
            columns=columns,
            renames=_renames(decoder.renames, trial),
        )

    def made_by(self, schemas: Any, route: Sequence[str]) -> list[pa.Schema]:  # noqa: ANN401
        """What the function gives, of each kind of row: it may fill any column of any."""
        trial = self._tried(_known(self.inner.plan(schemas, pa.schema([]), ())))
        kinds = self.inner.made_by(schemas, [name for name in route if name in trial.passed])
        return [trial.columns for _ in kinds]

    def computed(self, schemas: Any) -> frozenset[str]:  # noqa: ANN401 - the other's
        """The columns that are not decoded ones as they came."""
        trial = self._tried(_known(self.inner.plan(schemas, pa.schema([]), ())))
        return frozenset(trial.columns.names) - trial.passed

    def _tried(self, columns: pa.Schema) -> Trial:
        return try_transform(self.feed.feed, self.function, columns)

    def _own(self, schemas: Any, questions: frozenset[Question]) -> frozenset[Question]:  # noqa: ANN401
        """What the other format can answer: it knows nothing of columns that are computed."""
        kept = {one for one in questions if isinstance(one, KeptTypesQuestion)}
        if not kept:
            return questions
        computed = self.computed(schemas)
        names = tuple(name for one in kept for name in one.columns if name not in computed)
        return questions - kept | ({KeptTypesQuestion(names)} if names else set())

    def _merged(self, have: pa.Schema, made: pa.Schema, trial: Trial) -> pa.Schema:
        """Columns that hold the tables' rows and new ones.

        Decoded ones get wider as their format lets them, computed ones only where values stay.
        """
        computed = set(trial.columns.names) - trial.passed
        merged = with_computed(self.feed.payload, have, made, computed)
        if isinstance(merged, Mismatch):
            raise LakeError(
                f"silver of feed {self.feed.feed!r}",
                misfit(merged, f"{self.function.name} gives"),
                f"Give it as it is, or under another name; or {START_AGAIN}",
            )
        return merged

    def _ensure_there(self, route: Sequence[str], columns: pa.Schema) -> None:
        thing = f"transform of feed {self.feed.feed!r}"
        for name in route:
            if name not in columns.names:
                if self.feed.payload.grows:
                    continue  # rows may bring it along
                fact = f"{self.function.name} leaves out {name}, which says where a row goes"
                raise FeedError(thing, fact, "Give it, too")
            if kind := kind_without_keys(columns.field(name).type):
                fact = f"{self.function.name} gives {name} as {kind}, which holds no keys"
                raise FeedError(thing, fact, "Give it as text")


def _known(decoder: Decoder) -> pa.Schema:
    """All decoded columns, used or not."""
    return pa.schema([one.remove_metadata() for one in (*decoder.columns, *decoder.unused)])


def _in_order(names: Sequence[str], columns: pa.Schema) -> pa.Schema:
    """The columns in the order of the names, then others: tables have them in one of their own."""
    places = {name: place for place, name in enumerate(names)}
    return pa.schema(sorted(columns, key=lambda one: places.get(one.name, len(places))))


def _renames(renames: Renames, trial: Trial) -> Renames:
    """Older names of columns, and of fields within, that the function hands on."""
    others = set(trial.columns.names) - trial.passed
    return Renames(
        now={
            old: new
            for old, new in renames.now.items()
            if new in trial.passed and old not in others
        },
        within={name: one for name, one in renames.within.items() if name in trial.passed},
    )
