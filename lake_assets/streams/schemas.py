"""A feed's schemas, asked of the registry with patience: what may come back is waited for."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from lake_assets.decode.registry import Registry
from lake_assets.decode.schemas import SchemaSet
from lake_assets.errors import RegistryError, StreamError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Hop, Waiting

_T = TypeVar("_T")

_PAUSE_S = 2.0
"""Seconds between two questions to a registry that does not answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Schemas:
    """The questions that demux asks; each waits until the registry answers or `stop` is set."""

    feed: Feed
    registry: Registry
    stop: threading.Event
    announce: Callable[[Waiting | None], None]

    def newest(self) -> SchemaSet:
        """The schemas of the feed's subject; waits also for the subject's first version."""
        payload = self.feed.payload.protobuf
        return self._ask(lambda: self.registry.newest(payload.subject, payload.message))

    def resolve(self, schemas: SchemaSet, ids: frozenset[int]) -> SchemaSet:
        """`schemas` with an answer for each of `ids`."""
        return self._ask(lambda: self.registry.resolve(schemas, ids))

    def _ask(self, question: Callable[[], _T]) -> _T:
        while True:
            try:
                answer = question()
            except RegistryError as problem:
                waiting = Waiting(feed=self.feed.feed, hop=Hop.DEMUX, reason=str(problem))
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
