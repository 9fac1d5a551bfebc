"""What is known of the schemas of envelopes and of their bodies; what it means `wrapped` knows."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class WrappedSchemas:
    """What each of the two formats knows."""

    outer: Any
    """Of envelopes."""

    inner: Any
    """Of bodies."""

    of_keys: Any = None
    """As of `confluent.schemas.SchemaSet`: of rows' keys, which stand beside envelopes."""

    def changed(self, outer: Any, inner: Any) -> "WrappedSchemas":  # noqa: ANN401 - the formats'
        """The same with what they know now; itself if that is the same."""
        is_same = outer is self.outer and inner is self.inner
        return self if is_same else replace(self, outer=outer, inner=inner)
