"""A topic whose offsets a test says, and whose rows it makes: for bronze without a broker."""

from lake_assets.errors import SourceNotFoundError
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
        self._known = Extent(begins=self._placed(begins), ends=self._placed(ends))
        self.told_identity = identity
        self.epochs, self.row_times = {}, {}

    def extent(self, **_):
        if not self._known.names:  # as a broker tells of a pattern that finds none
            raise SourceNotFoundError(self._declared.title, "do not exist", "Create one")
        return self._known

    def generation(self, names, **_):
        told = self.told_identity
        identities = (
            {name: told[name] for name in names if name in told}
            if isinstance(told, dict)
            else dict.fromkeys(names, told)
        )
        return Generation(identities=identities, epochs=self._placed(self.epochs))

    def times(self, offsets, **_):
        rows = {(name, p): (p, at) for (name, p), at in offsets.items()}
        return {place: self.row_times[row] for place, row in rows.items() if row in self.row_times}

    def _placed(self, offsets):
        """By name and partition; of the one topic that there is where no name is told."""
        of_one = (
            (p if isinstance(p, tuple) else (self._declared.topic, p), at)
            for p, at in offsets.items()
        )
        return dict(of_one)


def known_topic(name, begins, ends, identity=None, **declared):
    """A topic of these offsets, as a feed declares it."""
    return KnownTopic(KafkaSource(topic=name, **declared), begins, ends, identity)
