"""Settings of erasures."""

from pydantic import SecretStr, field_validator

from lake_assets.settings.group import Group, refuse

_SHORTEST = 16
"""Characters of a key: whoever knows the values that are likely can try shorter ones."""


class ErasureSettings(Group):
    """How values that were erased are remembered."""

    key: SecretStr | None = None
    """Secret of 16 characters or more that erased values are hashed with; by default one that lies
    in the lake. Keep it: without it nobody can tell whose rows are to stay erased."""

    schedule: str = "15 4 * * *"
    """When Dagster does what the table of requests asks for, and what is not done (cron, UTC)."""

    @field_validator("key")
    @classmethod
    def _is_long(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < _SHORTEST:
            refuse(f"is shorter than {_SHORTEST} characters")
        return value

    @property
    def key_bytes(self) -> bytes:
        """The key in UTF-8; empty if there is none."""
        return b"" if self.key is None else self.key.get_secret_value().encode()
