"""Several errors of settings as one, so that whoever mends them sees all at once."""

from collections.abc import Sequence

from lake_assets.errors import LakeAssetsError, SettingsError


class SeveralSettingsError(SettingsError):
    """Several settings have values that cannot be used; its parts are those of the first."""

    def __init__(self, every: Sequence[SettingsError]) -> None:
        """Keep them, and tell each in a line."""
        first = every[0]
        super().__init__(first.thing, first.fact, first.next_step)
        self.args = ("\n".join(map(str, every)),)
        self.every = tuple(every)


def together(every: Sequence[SettingsError]) -> SettingsError:
    """One error that tells of all of some; there is one at least."""
    return every[0] if len(every) == 1 else SeveralSettingsError(every)


def each_of(problem: LakeAssetsError) -> Sequence[LakeAssetsError]:
    """What an error tells of, one by one."""
    return problem.every if isinstance(problem, SeveralSettingsError) else (problem,)
