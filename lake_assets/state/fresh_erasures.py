"""A lake's erasures as a feed's streams obey them: read again once they changed.

Whoever plans a batch looks; a look that finds nothing new reads one small file of the state folder.
"""

from dataclasses import dataclass, field

from lake_assets.model.erasures import Erasures
from lake_assets.model.origins import Spans
from lake_assets.state.erasure_ledger import ErasureLedger


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedErasures:
    """What of a lake's erasures is about one feed."""

    every: Erasures = field(default_factory=Erasures)
    spans: Spans = field(default_factory=dict)
    """Where its rows were that are erased."""

    def __bool__(self) -> bool:
        """Whether there is anything to obey."""
        return bool(self.every) or bool(self.spans)


@dataclass(kw_only=True)
class FreshErasures:
    """Those of one feed, as they are when somebody looks; used by one thread at a time."""

    ledger: ErasureLedger | None
    """None where a lake has none by its nature, as in tests of one table."""

    feed: str
    _mark: str | None = None
    _found: FeedErasures = field(default_factory=FeedErasures)

    def look(self) -> FeedErasures:
        """Those that are noted by now.

        Raises:
            LakeError: the ledger is damaged or cannot be read, or its key is gone or another: no
                row may be taken until it is put back.
        """
        if self.ledger is None:
            return self._found
        mark = self.ledger.mark()  # before what it marks: what changes meanwhile is seen next
        if mark != self._mark:
            every, spans = self.ledger.read(), self.ledger.spans(self.feed)
            self._found, self._mark = FeedErasures(every=every, spans=spans), mark
        return self._found
