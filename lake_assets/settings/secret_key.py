"""A group of settings with a secret that something is hashed with."""

from pydantic import SecretStr, field_validator

from lake_assets.settings.group import Group, refuse

_SHORTEST = 16
"""Characters of a key: whoever knows the texts that are likely can try shorter ones."""


class KeyedSettings(Group):
    """Settings whose `key` is long enough, if there is one."""

    key: SecretStr | None = None

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
