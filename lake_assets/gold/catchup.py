"""How each game that is behind catches up: from which files of silver, into which buckets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deltalake import DeltaTable
from deltalake.schema import Schema as DeltaSchema

from lake_assets.gold.buckets import bucket_of, buckets_for, buckets_now
from lake_assets.gold.measures import STATE_FORMAT
from lake_assets.gold.plan import Silver, info_of, is_behind, why_full
from lake_assets.gold.recipe import Recipe
from lake_assets.lake.change import Commit, DataFile
from lake_assets.lake.files import active_files
from lake_assets.lake.gained import gained_between
from lake_assets.lake.history import last_info, rows_of
from lake_assets.lake.means import Means
from lake_assets.lake.standing import Position, position_from
from lake_assets.model.feeds import GoldView
from lake_assets.model.reports import Mode, ViewRefresh
from lake_assets.model.tables import TableRef, gold_of, silver_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One game's silver and gold at the versions that a refresh starts from."""

    game: str
    handle: DeltaTable
    silver: Silver
    gold: DeltaTable | None
    gold_version: int
    position: Position | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Catchup:
    """What one game's refresh reads, keeps and replaces."""

    source: Source
    mode: Mode
    why: str
    silver_files: tuple[str, ...]
    rows_read: int
    buckets: int
    """Number of them after the refresh."""

    gold_files: tuple[DataFile, ...] = ()
    """Of an incremental refresh: what the view has now."""

    is_whole: bool = True
    """Whether all buckets are written anew."""

    keeps_states: bool = True
    """Whether the next refresh may merge with what this one writes."""

    def touched(self, buckets: Iterable[int]) -> tuple[DataFile, ...]:
        """The view's files that give way if these buckets get rows."""
        if self.is_whole:
            return self.gold_files
        wanted = set(buckets)
        return tuple(file for file in self.gold_files if bucket_of(file) in wanted)

    def commit(self, view: GoldView, files: Sequence[DataFile], gone: Sequence[DataFile]) -> Commit:
        """What puts `files` in the place of `gone`, and says what the view now stands for."""
        states = STATE_FORMAT if self.keeps_states else 0
        return Commit(
            table=gold_of(self.source.game, view.name),
            files=files,
            removed=gone,
            info=info_of(
                view,
                self.source.silver.version,
                silver_table=self.source.silver.table,
                states=states,
                buckets=self.buckets,
            ),
            seen=self.source.gold_version,
        )


def find_sources(view: GoldView, games: Sequence[str], means: Means) -> list[Source]:
    """Those of the games that have silver."""
    silver = {game: silver_of(game) for game in games}
    gold = {game: gold_of(game, view.name) for game in games}
    opened = means.door.opened([*silver.values(), *gold.values()])
    return [
        _source(game, opened, silver[game], gold[game]) for game in games if silver[game] in opened
    ]


def _source(
    game: str, opened: Mapping[TableRef, DeltaTable], silver: TableRef, gold: TableRef
) -> Source:
    source, handle = opened[silver], opened.get(gold)
    return Source(
        game=game,
        handle=source,
        silver=Silver(version=source.version(), table=str(source.metadata().id)),
        gold=handle,
        gold_version=handle.version() if handle else 0,
        position=position_from(last_info(handle)) if handle else None,
    )


def needs(view: GoldView, source: Source) -> bool:
    """Whether a game's view must be brought up to date."""
    return is_behind(view, source.silver.version, source.position, source.silver.table)


def catch_up(recipe: Recipe, source: Source, means: Means, *, anew: bool) -> Catchup:
    """Decide how one game catches up."""
    if source.gold is None:
        return _full(recipe, source, means, "the game's first refresh")
    reason = "asked for" if anew else recipe.why_full
    reason = reason or why_full(recipe.view, source.silver, source.position)
    if reason or source.position is None:
        return _full(recipe, source, means, reason)
    if source.gold.schema().fields != DeltaSchema.from_arrow(recipe.columns).fields:
        return _full(recipe, source, means, "a column has another type")
    folder = silver_of(source.game).path(means.lake)
    gained = gained_between(folder, source.position.silver_version, source.silver.version)
    if gained.obstacle:
        return _full(recipe, source, means, gained.obstacle)
    has = tuple(active_files(source.gold))
    had = source.position.buckets
    if had > 1 and any(bucket_of(file) is None for file in has):
        return _full(recipe, source, means, "gold's files do not tell their buckets")
    buckets = buckets_now(sum(file.rows for file in has), had, means.bucket_rows)
    # What a view's expectations are judged by is all of its rows.
    is_whole = bool(recipe.view.expectations) or buckets != had
    return Catchup(
        source=source,
        mode=Mode.INCREMENTAL,
        why=_gain(len(gained.files)),
        silver_files=tuple(str(folder / file.path) for file in gained.files),
        rows_read=gained.rows,
        buckets=buckets,
        gold_files=has,
        is_whole=is_whole or (buckets == 1 and bool(gained.files)),
    )


def _full(recipe: Recipe, source: Source, means: Means, why: str) -> Catchup:
    rows = rows_of(source.gold) if source.gold else 0
    return Catchup(
        source=source,
        mode=Mode.FULL,
        why=why,
        silver_files=tuple(source.handle.file_uris()),
        rows_read=rows_of(source.handle),
        buckets=1 if recipe.why_full else buckets_for(rows, means.bucket_rows),
        keeps_states=not recipe.why_full,
    )


def report_of(one: Catchup, view: GoldView, commit: Commit) -> ViewRefresh:
    """What became of one game."""
    gone = {file.path for file in commit.removed}
    kept = [file for file in one.gold_files if file.path not in gone]
    written = sum(file.rows for file in commit.files)
    return ViewRefresh(
        game=one.source.game,
        view=view.name,
        rows=written + sum(file.rows for file in kept),
        silver_version=one.source.silver.version,
        files=len(commit.files) + len(kept),
        mode=one.mode,
        why=one.why,
        rows_read=one.rows_read,
        rows_written=written,
    )


def _gain(files: int) -> str:
    if not files:
        return "silver gained nothing, only its files changed"
    return f"silver gained {files} file{'s' if files > 1 else ''} since"
