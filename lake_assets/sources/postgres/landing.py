"""Landing what came to a table: a pass reads what may be new, and commits what is.

A commit has rows and how far the reading is then, so that whatever is killed in between, each row
lands once. What a row is known by: `sources.postgres.new_rows`.
"""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from pydantic import SecretStr

from lake_assets.model.postgres_source import PostgresSource
from lake_assets.settings.load import secret_of
from lake_assets.sources.landing.table import LandingTable, position_of
from lake_assets.sources.postgres.database import Database, reading
from lake_assets.sources.postgres.landed import LANDED, as_rows, known_among
from lake_assets.sources.postgres.new_rows import NewRow, Row, Told, new_rows
from lake_assets.sources.postgres.position import Pass, Position, Snapshot, after_pass, at_clock
from lake_assets.sources.postgres.same_table import ensure_same, read_by
from lake_assets.sources.postgres.tables import SourceTable
from lake_assets.storage.store import Store

_ROWS = 20_000
_BYTES = 32 * 1024 * 1024
"""Of rows that are committed at once, about."""

_SETTLES_S, _LOOK_EVERY_S = 5.0, 0.2
"""Seconds that a first pass waits for transactions that are under way, and between two looks: else
all that it reads may have to be looked at again by the next."""


class Landing:
    """Reads a feed's table, and commits what is new; used by the one process that streams it."""

    def __init__(
        self,
        source: PostgresSource,
        lake: Store,
        feed: str,
        look_up: Callable[[str], SecretStr] = secret_of,
    ) -> None:
        """Open the table that rows land in, and create it if it is not there.

        Args:
            source: what is declared.
            lake: where the table is.
            feed: whose it is.
            look_up: knows secrets by their variables.

        Raises:
            LakeError: the lake cannot be read or written.
        """
        self._source, self._lake, self._feed, self._look_up = source, lake, feed, look_up
        self._table = LandingTable(lake, feed, LANDED)
        self._position = position_of(self._table.position, feed, Position.of)
        self._pass: Generator[None, None, bool] | None = None

    @property
    def end(self) -> int:
        """The offset that the next row gets."""
        return self._table.end

    def close(self) -> None:
        """Let go of the database, and wait for what is under way; raises as `Committer.close`."""
        self.pause()
        self._table.close()

    def pause(self) -> None:
        """Let go of the database; a pass that has not ended goes on with the next step."""
        if self._pass is not None:
            self._pass.close()
        self._pass = None

    def step(self) -> bool:
        """Commit some rows; False once a pass has read all that there was when it began.

        Raises:
            SettingsError: a secret is not there.
            SourceError: the database does not answer, refuses us, or is not as it was.
            LakeError: the lake cannot be written.
        """
        if self._pass is None:
            self._pass = self._read()
        try:
            next(self._pass)
        except StopIteration as ended:
            self._pass = None
            return bool(ended.value)
        except BaseException:
            self._pass = None
            raise
        return True

    def _read(self) -> Generator[None, None, bool]:
        """A pass, a commit a step; its value is whether there may be more behind it."""
        with reading(self._source, self._look_up) as database:
            table = database.table()
            position, begun, seen = self._begin(database, table)
            is_resumed = position.begun is not None
            told = Told(self._source)
            rows: list[NewRow] = []
            for found in database.rows(table, position.low, begun.after):
                told.ensure_told_apart(found)
                begun = replace(begun, after=tuple(map(str, found[-1].told)))
                rows += self._new(found, is_first=begun.first == 0)
                if len(rows) >= _ROWS or sum(len(row.value or "") for row in rows) >= _BYTES:
                    self._commit(rows, replace(position, begun=begun), seen)
                    rows = []
                    yield
            done = after_pass(position, begun, table.late)
            if rows or self._position is None or done.low != position.low or is_resumed:
                self._commit(rows, done, seen)
            self._position = done
        return is_resumed

    def _begin(self, database: Database, table: SourceTable) -> tuple[Position, Pass, Snapshot]:
        """How far the reading is, the pass that goes on or begins, and the snapshot it has.

        Before a first pass, transactions that are under way are waited for, some seconds.
        """
        known = self._position
        if known is not None and known.begun is not None:
            seen = database.snapshot(table)
            ensure_same(self._source, known, table, seen)
            return replace(known, xmax=seen.xmax), known.begun, seen
        horizon = database.horizon(table)
        seen, until = database.snapshot(table), time.monotonic() + _SETTLES_S
        while known is None and seen.xmin < horizon.number and time.monotonic() < until:
            time.sleep(_LOOK_EVERY_S)
            database.look_again()
            seen = database.snapshot(table)
        ensure_same(self._source, known, table, seen)
        position = known or Position(
            database=table.database, table=table.number, by=read_by(self._source), xmax=0
        )
        begun = Pass(xmin=seen.xmin, horizon=horizon, first=self.end)
        position = replace(position, xmax=seen.xmax, is_timed=table.is_timed)
        return at_clock(position, seen, table.late), begun, seen

    def _new(self, found: Sequence[Row], *, is_first: bool) -> list[NewRow]:
        if is_first:
            return new_rows(found, {})
        handle = self._table.fresh()
        keys = [row.key for row in new_rows(found, {})]
        known = known_among(self._lake, handle, self._feed, keys, found[0].mark, found[-1].mark)
        return new_rows(found, known)

    def _commit(self, rows: Sequence[NewRow], position: Position, seen: Snapshot) -> None:
        self._table.commit(as_rows(rows, first=self.end, at_us=seen.at_us), position.text)
        self._position = position
