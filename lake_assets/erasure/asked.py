"""What an erasure is asked for, and noting it in the ledger, before anything is looked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lake_assets.erasure.find import is_told_by
from lake_assets.erasure.note import Noted, cuts_of, matching_of, note
from lake_assets.erasure.requests import make_table, open_requests
from lake_assets.erasure.shrinking import shrinking_views
from lake_assets.erasure.wanted import Wanted
from lake_assets.errors import ErasureError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.erasures import ErasureState, Later
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.silver.erasing import ensure_none_was
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.erasure_ledger import ErasureLedger


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is asked for: some values; or what the table of requests asks for; or what is left."""

    wanted: Sequence[Wanted] = ()
    later: Later = Later.DROP
    is_of_table: bool = False
    is_again: bool = False
    """Go on with what is not done as well, by hashes alone."""

    prunes_backups: bool = False
    """Whether backups from before it are deleted, once there is a new one."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Notes what is asked for."""

    context: LakeContext
    settings: Settings
    feeds: Sequence[Feed]
    locate: Callable[[], Endpoints]
    tell: Callable[[str], None]

    def noted(self, request: Request, unclear: list[str]) -> list[Noted]:
        """What is in the ledger then, that is to be done.

        Args:
            request: what is asked for.
            unclear: gets, in words, rows of the table of requests by which nothing can be done.

        Raises:
            ErasureError: a value means nothing, or tables cannot be searched by its column.
            LakeError: the lake cannot be read or written.
        """
        asked = self._asked(request, unclear)
        ledger, cuts = ledger_of(self.context), {}
        if not ledger.read():
            for feed in self.feeds:
                ensure_none_was(self.context, feed)
        if asked.get(Later.KEEP):
            cuts = cuts_of(self.feeds, self.locate(), self.context.lake)
        key = self.settings.masking.key_bytes
        noted: list[Noted] = []
        for later, wanted in asked.items():
            noted += note(ledger, wanted, later, cuts if later is Later.KEEP else {}, key)
        if noted:
            self.tell("noted: rows that come from now on are judged by it")
            for words in shrinking_views(self.feeds):
                self.tell(words)
        return [*noted, *_unfinished(ledger, noted)] if request.is_again else noted

    def _asked(self, request: Request, unclear: list[str]) -> Mapping[Later, Sequence[Wanted]]:
        if not request.is_of_table:
            for one in request.wanted:
                self._ensure_told(one.column)
            return {request.later: request.wanted}
        make_table(self.context.committer)
        found = open_requests(self.context.committer)
        unclear += found.unclear
        asked: dict[Later, list[Wanted]] = {later: [] for later in found.asked}
        for later, wanted in found.asked.items():
            for one in wanted:
                try:
                    self._ensure_told(one.column)
                except ErasureError as problem:
                    unclear.append(str(problem))
                else:
                    asked[later].append(one)
        return asked

    def _ensure_told(self, column: str) -> None:
        """Make sure that tables can be searched by a column; asked before anything is noted."""
        has_it = [is_told_by(self.context, feed, column) for feed in self.feeds]
        if not any(has_it):
            self.tell(
                f"no table of silver has a column {column!r} (a field of a struct is none: `select`"
                " makes it one); other places are looked at"
            )


def _unfinished(ledger: ErasureLedger, noted: Sequence[Noted]) -> list[Noted]:
    """Those that are not done, by their hashes alone."""
    found, known = ledger.read(), {one.erasure.id for one in noted}
    return [
        Noted(erasure=one, matching=matching_of(one, found.key, None))
        for one in found.every
        if one.state is not ErasureState.DONE and one.id not in known
    ]


def ledger_of(context: LakeContext) -> ErasureLedger:
    """The ledger of a lake that was opened for writing."""
    ledger = context.erasures
    assert ledger is not None  # noqa: S101 - `open_lake` gives it
    return ledger
