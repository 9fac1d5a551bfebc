"""Which keys and tables a feed has in a lake: those it declares, and those that record it.

What a table is called does not tell whose it is (`model.owners`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from lake_assets.delta.table_log import table_folders
from lake_assets.delta.table_owners import is_copy, is_there, owner_of, owners_in
from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.owners import Owner, claims_of, claims_of_key
from lake_assets.model.tables import (
    LOG_NAMES,
    Layer,
    TableRef,
    bronze_of,
    duplicates_of,
    erased_of,
    files_of,
    landed_of,
    waiting_of,
)
from lake_assets.storage.at_once import at_once
from lake_assets.storage.store import Store


def keys_of(lake: Store, feed: Feed) -> tuple[str, ...]:
    """The feed's keys: its declared keys, and, where the route creates tables, those created.

    A declared key whose silver table another feed holds is none of them.

    Raises:
        LakeError: a table's log cannot be read.
    """
    if not feed.creates_keys:
        return _declared(lake, feed)
    return keys_found(lake, feed)


def keys_found(lake: Store, feed: Feed) -> tuple[str, ...]:
    """The feed's declared keys, and every other key that has a silver table of the feed.

    Raises:
        LakeError: a table's log cannot be read.
    """
    silver = owners_in(lake, Layer.SILVER).values()
    created = (owner.key for owner in silver if owner and owner.feed == tables_owner(feed))
    declared = _declared(lake, feed)
    return (*declared, *(key for key in created if key not in declared))


_LOOKED_AT = 64
"""Tables that are looked at for an example, all at once in a bucket. More would cost seconds of a
code location with many keys, and of each run, which loads it again; fewer would find none more
often."""


def example_keys(lake: Store, feed: Feed, most: int = 1) -> tuple[str, ...]:
    """A few keys whose silver tables are there, found without a look at each of many.

    Where none is found so, the first declared ones.

    Raises:
        LakeError: a table's log cannot be read.
    """
    first = _with_tables(lake, feed, feed.keys[:_LOOKED_AT], most)
    if first or not feed.creates_keys:
        return first or feed.keys[:most]
    named = (feed.tables.key_of_silver(table.name) for table in table_folders(lake, [Layer.SILVER]))
    created = sorted({key for key in named if key is not None and key not in feed.keys})
    return _with_tables(lake, feed, created[:_LOOKED_AT], most) or feed.keys[:most]


def _with_tables(lake: Store, feed: Feed, keys: Sequence[str], most: int) -> tuple[str, ...]:
    """Those of some keys whose tables are there and the feed's."""
    found: list[str] = []
    # One by one of a disk: the first usually is there.
    step = 1 if lake.root.is_local else _LOOKED_AT
    for at in range(0, len(keys), step):
        some = keys[at : at + step]
        owners = at_once(lake, partial(owner_of, lake), map(feed.silver_table, some))
        of_feed = (owner is not None and owner.feed == tables_owner(feed) for owner in owners)
        found += [key for key, is_one in zip(some, of_feed, strict=True) if is_one]
        if len(found) >= most:
            break
    return tuple(found[:most])


def keys_to_adopt(lake: Store, feed: Feed) -> tuple[str, ...]:
    """The declared keys, whoever holds their tables, and those that the route created.

    Raises:
        LakeError: a table's log cannot be read.
    """
    return tuple(dict.fromkeys((*feed.keys, *keys_of(lake, feed))))


def _declared(lake: Store, feed: Feed) -> tuple[str, ...]:
    owners = at_once(lake, partial(owner_of, lake), map(feed.silver_table, feed.keys))
    return tuple(
        key
        for key, owner in zip(feed.keys, owners, strict=True)
        if owner is None or owner.feed == tables_owner(feed)
    )


def ensure_known(feed: Feed, known: Collection[str], names: Iterable[str]) -> None:
    """Make sure that keys a user names are among the known ones.

    Raises:
        FeedError: one is not.
    """
    missing = [name for name in names if name not in known]
    if missing:
        fact = f"has no key {missing[0]!r}"
        raise FeedError(f"feed {feed.feed!r}", fact, f"It has {', '.join(known) or 'none yet'}")


def tables_of(lake: Store, feed: Feed) -> tuple[TableRef, ...]:
    """All tables that are the feed's, those of views that it no longer declares among them.

    They come in the order data travels. A table that records no owner is the feed's if it has the
    name of one that the feed declares.

    Raises:
        LakeError: a table's log cannot be read.
    """
    claimed = dict(claims_of(feed, feed.keys))
    tables = []
    for layer in (Layer.BRONZE, Layer.QUARANTINE, Layer.SILVER, Layer.GOLD):
        for table, owner in owners_in(lake, layer).items():
            if (owner or claimed.get(table, _NOBODY)).feed == feed.feed:
                tables.append(table)
    return tuple(tables)


_NOBODY = Owner(feed="")


def adoptable_keys(lake: Store, feed: Feed) -> tuple[str, ...]:
    """Keys whose silver tables record no owner, and can be of no other feed than this one.

    Releases before the record created them. Where two feeds have streamed into the lake, nothing
    tells whose they are: there are none then. The copy of a table is no key's.

    Raises:
        LakeError: a table's log cannot be read.
    """
    if not feed.creates_keys or not _is_alone(lake, feed):
        return ()
    silver = owners_in(lake, Layer.SILVER).items()
    unrecorded = (table for table, owner in silver if owner is None)
    keys = ((feed.tables.key_of_silver(table.name), table) for table in unrecorded)
    return tuple(
        key
        for key, table in keys
        if key is not None and key not in feed.keys and not is_copy(lake, table)
    )


def _is_alone(lake: Store, feed: Feed) -> bool:
    names = (bronze_of, waiting_of, duplicates_of, erased_of, files_of, landed_of)
    own = {name(feed.feed) for name in names}
    return set(owners_in(lake, Layer.BRONZE)) <= own


def refused_keys(
    lake: Store, feed: Feed, feeds: Sequence[Feed], known: Iterable[str], new: Iterable[str]
) -> dict[str, str]:
    """By key of `new` whose tables would be somebody else's: which one, and whose it is.

    Args:
        lake: where the tables are.
        feed: that would create them.
        feeds: all that are declared.
        known: keys that the feed has, with or without tables.
        new: keys that it meets, none of them declared.

    Raises:
        LakeError: a table's log cannot be read.
    """
    owners: dict[str, Owner] = {}
    # Of several that fill the tables, the one that has views of a new key.
    target = next((each for each in feeds if each.feed == tables_owner(feed)), feed)
    for other in feeds:
        if other.feed != target.feed:
            owners |= _by_name(claims_of(other, keys_found(lake, other)))
    owners |= _by_name(claims_of(target, {*known, *keys_found(lake, feed)}))
    refused = {}
    for key in sorted(new):
        claims = dict(claims_of_key(target, key))
        reason = _held_by(lake, feed, claims, owners)
        if reason:
            refused[key] = reason
        else:
            owners |= _by_name(claims.items())
    return refused


def _by_name(claims: Iterable[tuple[TableRef, Owner]]) -> dict[str, Owner]:
    """Owners by the name alone: batches are reported by it, so no two layers may share one."""
    return {table.name: owner for table, owner in claims}


def _held_by(
    lake: Store, feed: Feed, claims: Mapping[TableRef, Owner], held: Mapping[str, Owner]
) -> str:
    for table, owner in claims.items():
        if table.name in LOG_NAMES:
            return f"{table.name} is a log of the lake"
        holder = owner_of(lake, table) or held.get(table.name)
        if holder is not None and holder != owner:
            return f"{table.name} is the table of {holder}"
        if holder is None and is_there(lake, table) and not _is_alone(lake, feed):
            return f"{table.name} does not record whose it is"
    return ""
