"""A topic whose offsets a test says, and whose rows it makes: for bronze without a broker."""

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import Extent
from lake_assets.model.sources import KafkaSource
from lake_assets.sources.base import Generation
from lake_assets.sources.kafka.source import KafkaTopic

NOWHERE = Endpoints(kafka="localhost:1", registry="")


class KnownTopic(KafkaTopic):
    """Asks no broker."""

    def __init__(self, declared, begins, ends, identity=None):
        super().__init__(declared, NOWHERE)
        self._known = Extent(begins=begins, ends=ends)
        self.told_identity = identity
        self.epochs, self.row_times = {}, {}

    def extent(self, **_):
        return self._known

    def generation(self, **_):
        return Generation(identity=self.told_identity, epochs=self.epochs)

    def times(self, offsets, **_):
        return {
            p: self.row_times[(p, at)] for p, at in offsets.items() if (p, at) in self.row_times
        }


def known_topic(name, begins, ends, identity=None, **declared):
    """A topic of these offsets, as a feed declares it."""
    return KnownTopic(KafkaSource(topic=name, **declared), begins, ends, identity)
