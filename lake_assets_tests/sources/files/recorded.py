"""Bronze as far as files that leave ask of it: its log alone."""

from lake_assets.bronze.rows import schema
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.committer import Committer
from lake_assets.delta.source_offsets import offset_transactions
from lake_assets.model.tables import bronze_of
from lake_assets.sources.files.reading import COLUMNS

PLACE = ("files", 0)


def record(lake, reached, number):
    """Bronze's commit that it has all rows before an offset."""
    committer = Committer(lake, threads=1)
    table = bronze_of("beats")
    committer.create({table: schema(COLUMNS)}, partition_by={table: ["ingested_date"]})
    transactions = offset_transactions("files", {PLACE: reached}, {})
    commit = Commit(table=table, files=[], transactions=transactions)
    committer.append([commit], Batch("lake_assets:ingest:beats", number))
    committer.close()
