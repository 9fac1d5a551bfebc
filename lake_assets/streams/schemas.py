"""A feed's schemas, asked of the registry with patience: what may come back is waited for."""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol, TypeVar

from lake_assets.errors import RegistryError, StreamError
from lake_assets.formats.confluent.cache import CachedRegistry, SchemaCache
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Stage, Waiting
from lake_assets.settings.schema import Settings

_T = TypeVar("_T")

_PAUSE_S = 2.0
"""Seconds between two questions to a registry that does not answer."""


_QUIET_S = 15.0
"""Seconds after a question that was not answered in which batches ask no other."""


class Answers(Protocol):
    """A registry, whether what it said is kept or not."""

    def newest(self, subject: str, message: str | None = None) -> SchemaSet:
        """As `formats.confluent.registry.Registry.newest`."""

    def resolve(self, schemas: SchemaSet, ids: Collection[int]) -> SchemaSet:
        """As `formats.confluent.registry.Registry.resolve`."""

    def check(self, subject: str) -> None:
        """As `formats.confluent.registry.Registry.check`."""


@dataclass(kw_only=True, slots=True)
class Schemas:
    """The questions that demux asks; each waits until the registry answers or `stop` is set."""

    feed: Feed
    registry: Answers
    stop: threading.Event
    announce: Callable[[Waiting | None], None]
    may_wait: bool = True
    """Whether rows of ids that cannot be asked about wait, and others go on; else all wait."""
    _silent_until: float = 0.0

    def newest(self) -> SchemaSet:
        """The schemas of the feed's subject; waits also for the subject's first version."""
        payload = self.feed.payload.protobuf
        return self._ask(lambda: self.registry.newest(payload.subject, payload.message))

    def resolve(self, schemas: SchemaSet, ids: frozenset[int]) -> SchemaSet:
        """`schemas` with an answer for each of `ids`, or with those that must wait for one."""
        if not self.may_wait:
            return self._ask(lambda: self.registry.resolve(schemas, ids))
        if time.monotonic() < self._silent_until:
            return schemas.let_wait(ids)
        try:
            return self.registry.resolve(schemas, ids)
        except RegistryError as problem:
            self.announce(self.why(problem))
            # One that hangs would cost each batch its whole timeout.
            self._silent_until = time.monotonic() + _QUIET_S
            return schemas.let_wait(ids)

    def check(self) -> None:
        """Make sure that the registry answers, without waiting.

        Raises:
            RegistryError: it does not.
        """
        self.registry.check(self.feed.payload.protobuf.subject)
        self._silent_until = 0.0

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


def cached_registry(settings: Settings, endpoints: Endpoints) -> CachedRegistry:
    """The registry of these endpoints; what it says is kept beside the lake's checkpoints."""
    cache = SchemaCache(settings.state_dir / "schemas")
    return CachedRegistry(Registry(endpoints.registry, PROTOBUF, endpoints.registry_access), cache)
