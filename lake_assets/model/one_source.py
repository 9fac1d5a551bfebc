"""What declarations of sources are alike in that are one: a folder, a table, a stream."""

from abc import abstractmethod

from lake_assets.model.base import Noun

TABLE = "table"
"""The name of a source that is a table, in each row's origin."""


class OneSource(Noun):
    """A source with one name in each row's origin; `DeclaredSource` says what each member tells."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in each row's origin."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Which one it is, in words."""

    @property
    def names(self) -> tuple[str, ...]:
        """It is one source."""
        return (self.name,)

    @property
    def is_one(self) -> bool:
        """It is."""
        return True

    def title_of(self, name: str) -> str:  # noqa: ARG002 - there is one
        """The same as of all."""
        return self.title

    def reads(self, name: str) -> bool:
        """Whether it is this one."""
        return name == self.name
