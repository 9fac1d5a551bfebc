"""What a worker must know to decode a feed's messages: one picklable noun."""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaSet:
    """A subject's newest schema, and what is known of the schema ids that were met."""

    subject: str

    version: int
    """Newest version of the subject."""

    message: str
    """Full name of the first message of that version; messages of all versions decode as it."""

    descriptor_set: bytes
    """Serialized `FileDescriptorSet` of that version, imports before what imports them."""

    known_ids: frozenset[int]
    """Ids of all versions of the subject."""

    unknown_ids: frozenset[int] = frozenset()
    """Ids that the registry answered it does not have."""

    foreign_ids: frozenset[int] = frozenset()
    """Ids that the registry has under other subjects only."""

    @property
    def fingerprint(self) -> str:
        """The same for two sets that decode alike, whatever ids they know; fit to key a cache."""
        return hashlib.sha256(self.message.encode() + b"\0" + self.descriptor_set).hexdigest()
