"""Settings of texts that are hidden before they are written (`mask` in a feed)."""

from pydantic import SecretStr, field_validator

from lake_assets.settings.group import Group, refuse

_SHORTEST = 16
"""Characters of a key: whoever knows the texts that are likely can try shorter ones."""


class MaskingSettings(Group):
    """The secret that columns are hashed with."""

    key: SecretStr | None = None
    """Secret of 16 characters or more that `mask: hash` hashes with. Keep it: with another one the
    same text is another hash, which no older row has."""

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
