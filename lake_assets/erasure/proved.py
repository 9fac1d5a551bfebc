"""Proving an erasure that was done: a scan; where older versions have something, their end; again.

Of tables that no row left the erasure ends nothing, unless a scan finds that an old file of theirs,
such as one from before a compaction, has a value still.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from lake_assets.delta.catalog import tables_of
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.asked import ledger_of
from lake_assets.erasure.end import end_histories
from lake_assets.erasure.note import with_hidden
from lake_assets.erasure.proof import Proof, prove
from lake_assets.erasure.run import Erased
from lake_assets.erasure.scanned import Kind
from lake_assets.erasure.wanted import Wanted
from lake_assets.model.erasures import Erasure
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import ERASURE_REQUESTS, TableRef
from lake_assets.settings.load import dagster_home
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.state.erasure_ledger import ERASING
from lake_assets.state.files import turn
from lake_assets.streams.noted_changes import REDO_TURN


def prove_erased(
    settings: Settings,
    feeds: Sequence[Feed],
    done: Erased,
    wanted: Sequence[Wanted],
    tell: Callable[[str], None] = lambda _: None,
) -> Proof:
    """Look for the values everywhere, and note in the ledger if nothing was found.

    Also in the storage of the Dagster that DAGSTER_HOME names.

    Args:
        settings: where the lake is.
        feeds: all that are declared.
        done: what was erased; gets what is left to do.
        wanted: the values.
        tell: told of progress.

    Raises:
        LakeError: the lake cannot be read or written.
    """
    sought = [with_hidden(one, settings.masking.key_bytes) for one in wanted]

    def look() -> Proof:
        return prove(settings, sought, key, dagster_home=dagster_home(), tell=tell)

    with open_lake(settings) as context:
        ledger = ledger_of(context)
        key = ledger.read().key
        proof = look()
        if tables := _tables_of(proof, context, feeds):
            tell("older versions of further tables have some: ending their time travel")
            columns = {one.column for one in wanted}
            with turn(settings.state_dir, REDO_TURN):
                ended = end_histories(settings, context, feeds, tables, columns)
            done.ended.add(ended)
            done.left += ended.left
            proof = look()
        if proof.is_clean and proof.is_whole:
            ids = {one.id for one in done.erasures}
            with turn(settings.state_dir, ERASING):  # another erasure may have begun meanwhile
                found = ledger.read()
                own = [one for one in found.every if one.id in ids]
                done.erasures = [_proved(one, sought, key) for one in own]
                ledger.write(found.with_changed(done.erasures))
    return proof


def _proved(one: Erasure, sought: Sequence[Wanted], key: bytes) -> Erasure:
    """An erasure, proved if all that it names was looked for: some are known by hashes alone."""
    looked_for = {
        digest
        for wanted in sought
        if wanted.column.lower() == one.column.lower()
        for digest in wanted.digests(key)
    }
    return replace(one, is_proved=True) if {*one.digests} <= looked_for else one


def _tables_of(proof: Proof, context: LakeContext, feeds: Sequence[Feed]) -> set[TableRef]:
    """The tables below whose folders something was found."""
    found = {one.file for one in proof.scanned.findings if one.kind in {Kind.DATA, Kind.LOG}}
    every = {table for feed in feeds for table in tables_of(context.lake, feed)}
    folders = {
        table: f"{log_of(context.lake, table).folder}/" for table in (*every, ERASURE_REQUESTS)
    }
    return {
        table for table, folder in folders.items() if any(file.startswith(folder) for file in found)
    }
