"""A feed's schemas, asked for with patience: a registry that does not answer is waited for."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from lake_assets.errors import RegistryError, StreamError
from lake_assets.feeds.functions import find_function
from lake_assets.formats.base import PayloadFormat, Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.formats.framed_keys import framed_keys
from lake_assets.formats.questions import Question
from lake_assets.formats.tombstones import with_tombstones
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Stage, Waiting
from lake_assets.model.selected_names import names_taken, with_masked_as_text
from lake_assets.model.tombstones import tombstone_columns
from lake_assets.settings.schema import Settings
from lake_assets.silver.selecting import with_select
from lake_assets.silver.selection import Output
from lake_assets.silver.silver_rows import has_rows
from lake_assets.silver.transforming_format import TransformingFormat, with_transform
from lake_assets.sources.files.written_schemas import written_schemas
from lake_assets.state.select_notes import SelectedColumn, SelectNote, note_select
from lake_assets.storage.open_store import lake_of

_T = TypeVar("_T")

_PAUSE_S = 2.0
"""Seconds between two questions to a registry that does not answer."""


@dataclass(kw_only=True, slots=True)
class Schemas:
    """A `formats.base.SchemaSource` that waits for the format's answers until `stop` is set."""

    feed: Feed
    format: PayloadFormat[Any]
    stop: threading.Event
    announce: Callable[[Waiting | None], None]
    may_wait: bool = True
    """Whether rows of ids that cannot be asked about wait, and others go on; else all wait."""

    is_silent: bool = False
    """Whether the last question of a batch was not answered, and no `check` has been since. Batches
    ask nothing then: one that hangs would cost each of them its whole timeout."""

    def newest(self) -> Any:  # noqa: ANN401 - the format's own
        """What is known of the schemas; waits until there are some."""
        return self._ask(self.format.newest)

    def resolve(self, schemas: Any, questions: frozenset[Question]) -> Any:  # noqa: ANN401
        """`schemas` with an answer to each question, or with those that must wait for one."""
        if not self.may_wait:
            return self._ask(lambda: self.format.resolve(schemas, questions))
        if self.is_silent:
            return self.format.let_wait(schemas, questions)
        try:
            return self.format.resolve(schemas, questions)
        except RegistryError as problem:
            self.announce(self.why(problem))
            self.is_silent = True
            return self.format.let_wait(schemas, questions)

    def check(self) -> None:
        """Make sure that questions are answered, without asking again; in any thread.

        Raises:
            RegistryError: they are not.
        """
        self.format.check()
        self.is_silent = False

    def why(self, problem: RegistryError, rows: int | None = None) -> Waiting:
        """What is waited for, in words."""
        reason = f"{problem} Rows of new schemas wait beside bronze until it answers"
        reason += f", {rows:,} so far" if rows is not None else ""
        return Waiting(feed=self.feed.feed, stage=Stage.DEMUX, reason=reason)

    def _ask(self, question: Callable[[], _T]) -> _T:
        while True:
            try:
                answer = question()
            except RegistryError as problem:
                waiting = Waiting(feed=self.feed.feed, stage=Stage.DEMUX, reason=str(problem))
                self.announce(waiting)
                if self.stop.wait(_PAUSE_S):
                    raise StreamError(
                        f"demux of feed {self.feed.feed!r}",
                        "was stopped while it waited for the registry",
                        "Nothing is lost; start it again",
                    ) from problem
            else:
                self.announce(None)
                return answer


def format_with(
    settings: Settings,
    endpoints: Endpoints,
    feed: Feed,
    session: SparkSession,
    *,
    rotates: bool = False,
) -> PayloadFormat[Any]:
    """The format of a feed's values, with what it makes of them and selects.

    What a registry says, and Spark of the selected columns, is kept beside the lake's checkpoints.

    Args:
        settings: where the lake is, and its masking key.
        endpoints: where the registry is.
        feed: whose values.
        session: which resolves what is selected.
        rotates: as `with_select` takes it.

    Raises:
        FeedError: the feed hashes texts, and there is no key for it; or its function cannot be
            imported.
    """
    surroundings = Surroundings(
        registry=endpoints.registry,
        registry_access=endpoints.registry_access,
        cache=settings.state_dir / "schemas",
        brought=partial(written_schemas, lake_of(settings), feed.feed),
        has_rows=partial(has_rows, lake_of(settings), feed),
    )
    by, given = tombstone_columns(feed.gold), _given_by_function(feed, surroundings)
    feed = with_masked_as_text(feed, given)
    surroundings = replace(surroundings, taken=names_taken(feed, given))
    keys = framed_keys(feed, surroundings, time.time)
    inner = with_tombstones(feed.feed, by, format_of(feed, surroundings), keys)
    inner = with_transform(feed, inner)

    def note(outputs: Sequence[Output], by_key: Mapping[str, Sequence[Output]]) -> None:
        told = SelectNote(
            select=feed.select,
            columns=_noted(outputs),
            selects=feed.selects,
            by_key={key: _noted(own) for key, own in by_key.items()},
        )
        note_select(settings.state_dir, feed.feed, told)

    return with_select(session, feed, inner, settings.masking.key_bytes, note, rotates=rotates)


def _noted(outputs: Sequence[Output]) -> dict[str, SelectedColumn]:
    return {
        one.name: SelectedColumn(
            reads=one.reads, is_copy=one.source is not None, spark_part=one.spark_part
        )
        for one in outputs
    }


def _given_by_function(feed: Feed, surroundings: Surroundings) -> frozenset[str]:
    """The columns that a feed's function makes of declared ones, where values may bring others."""
    if feed.transform is None or not feed.payload.grows:
        return frozenset()
    found = TransformingFormat(feed, format_of(feed, surroundings), find_function(feed.transform))
    return found.computed(found.newest())
