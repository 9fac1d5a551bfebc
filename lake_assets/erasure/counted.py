"""How many rows an erasure would take out, before anybody decides; nothing is noted or changed.

Rows that only decoding tells are not among them: those are found when it is done.
"""

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence

from lake_assets.delta.catalog import tables_of
from lake_assets.delta.committer import Committer
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.find import Search
from lake_assets.erasure.note import matching_for
from lake_assets.erasure.requests import open_requests
from lake_assets.erasure.wanted import Wanted, ensure_sensible
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import ERASURE_REQUESTS
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.open_store import lake_of


def count_rows(
    settings: Settings,
    feeds: Sequence[Feed],
    wanted: Sequence[Wanted],
    *,
    is_of_table: bool = False,
) -> Mapping[str, int]:
    """By table, how many rows with wanted values its newest version has.

    Args:
        settings: where the lake is.
        feeds: all that are declared.
        wanted: whose rows.
        is_of_table: whether those of the table of requests are meant instead.

    Raises:
        ErasureError: a value means nothing, or a table cannot be searched for it.
        LakeError: a table cannot be read.
    """
    given = [ensure_sensible(one) for one in wanted]
    if not any(tables_of(lake_of(settings), feed) for feed in feeds):
        return {}  # to open it would make a lake
    rows: Counter[str] = Counter()
    key = secrets.token_bytes(32)  # of hashes that nobody keeps
    with open_lake(settings) as context:
        every = map(ensure_sensible, _of_table(context.committer)) if is_of_table else given
        masked = settings.masking.key_bytes
        for one in every:
            matching = matching_for(one, key, masked)
            for feed in feeds:
                rows.update(Search(context=context, feed=feed, matching=matching).run().rows)
    return {table: count for table, count in sorted(rows.items()) if count}


def _of_table(committer: Committer) -> list[Wanted]:
    if not log_of(committer.store, ERASURE_REQUESTS).exists():
        return []
    return [one for some in open_requests(committer).asked.values() for one in some]
