"""What a field of a feed may look like, for messages about one that is missing or of a wrong kind.

By a field's name alone: most have one meaning wherever they are.
"""

from lake_assets.feeds.document import Loc

_EXAMPLES = {
    "feed": "feed: games",
    "source": "source: {kafka: {topic: game-stream}}",
    "kafka": "kafka: {topic: game-stream}",
    "files": "files: {path: /data/arriving, format: jsonl}",
    "topics": "topics: [game-starts, game-ends]",
    "starting_offsets": "starting_offsets: earliest",
    "topic": "topic: game-stream",
    "payload": "payload: {json: {schema: 'time timestamp, player string'}}",
    "json": "json: {schema: 'time timestamp, player string'}",
    "protobuf": "protobuf: {subject: game-stream-value}",
    "avro": "avro: {subject: game-stream-value}",
    "csv": "csv: {schema: 'time timestamp, player string'}",
    "schema": "schema: 'time timestamp, player string'",
    "subject": "subject: game-stream-value",
    "route": "route: {column: game, keys: [poker, rummy]}",
    "routes": "routes: [{column: game, keys: [poker, rummy]}]",
    "column": "column: game",
    "keys": "keys: [poker, rummy]",
    "name": "name: player_agg",
    "sql": "sql: player <> ''",
    "expectations": "expectations: [{name: player_known, sql: player <> '', action: drop}]",
    "checks": "checks: [{name: some_rows, row_count: {min: 1}}]",
    "gold": "gold: [{name: player_agg, keys: [player], measures: {events: count(*)}}]",
    "measures": "measures: {events: count(*)}",
    "windows": "windows: {time: at, every: 1m, watermark: 10s}",
    "time": "time: at",
    "every": "every: 1m",
    "watermark": "watermark: 10s",
    "sinks": "sinks: [{name: api, from: silver, rest: {url: 'https://host/rows'}}]",
    "from": "from: silver",
    "select": "select: ['*', price * 2 as double_price]",
    "mask": "mask: {email: hash}",
    "partition_by": "partition_by: [date(at)]",
    "cluster_by": "cluster_by: [player]",
    "bloom_filters": "bloom_filters: [player]",
    "retention": "retention: 90d",
    "keep": "keep: 90d",
    "unique": "unique: [event_id]",
    "row_count": "row_count: {min: 1}",
    "freshness": "freshness: {column: at, max_age: 1h}",
    "max_age": "max_age: 1h",
    "deduplicate": "deduplicate: {key: [event_id], within: 1h}",
    "key": "key: [event_id]",
    "within": "within: 1h",
    "keyed": "keyed: {by: id, order: version}",
    "by": "by: id",
    "order": "order: version",
    "layouts": "layouts: {poker: {cluster_by: [player]}}",
    "tables": "tables: {silver: '{key}_events'}",
    "silver": "silver: none",
    "bronze": "bronze: {retention: 30d}",
    "quarantine": "quarantine: {retention: 30d}",
    "trigger": "trigger: 10s",
    "refresh": "refresh: live",
    "schedule": "schedule: '*/5 * * * *'",
    "run": "run: '0 * * * *'",
    "env": "env: SINK_TOKEN",
    "principal": "principal: analysts",
    "layers": "layers: [gold]",
    "late": "late: 10m",
    "starting_position": "starting_position: trim_horizon",
    "url": "url: https://host/path",
    "path": "path: /data/arriving",
    "format": "format: jsonl",
    "class": "class: 'my_package.sinks:Mail'",
    "table": "table: public.events",
    "grants": "grants: [{principal: analysts, layers: [gold]}]",
}
"""By name of a field."""


def example_of(loc: Loc, value: str = "a text") -> str:
    """A field with a value that it may have: its own example, or else the one that is given."""
    names = [part for part in loc if isinstance(part, str)]
    if not names:
        return "feed: games"
    name = names[-1]
    if name == "schema" and "protobuf" in names:
        return "schema: events.proto"
    if name == "keys" and loc[0] == "gold" and {"checks", "expectations"}.isdisjoint(names):
        return "keys: [player]"
    if name == "key" and "sinks" in names and {"kafka", "sql"} & {*names}:
        return "key: player"
    return _EXAMPLES.get(name, f"{name}: {value}")
