"""The topics of the declared feeds at the embedded broker.

A feed whose topic is missing waits for it, or ends with an error; at a broker that is only there
for the feeds, that would be so until somebody produced. Topics of the user's own broker are the
user's to create.
"""

from collections.abc import Iterable

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.sources.kafka.topics import ensure_topic


def create_topics(settings: Settings, endpoints: Endpoints, feeds: Iterable[Feed]) -> None:
    """Create those of the feeds' topics that the embedded broker lacks, with two partitions.

    Those that a pattern is to find are whoever's that writes to them.

    Raises:
        SourceError: the broker does not answer.
    """
    if settings.kafka.bootstrap_servers:
        return
    sources = (feed.source.kafka for feed in feeds if feed.source.kafka is not None)
    for topic in sorted({name for source in sources for name in source.names}):
        ensure_topic(endpoints, topic)
