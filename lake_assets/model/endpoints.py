"""Where the servers of a lake answer, and what they ask of a client. Secrets are masked by type."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr


@dataclass(frozen=True, kw_only=True, slots=True)
class RegistryAccess:
    """How a client proves who it is to a registry, and whom it trusts; nothing by default."""

    user: str | None = None
    password: SecretStr | None = None
    token: SecretStr | None = None
    """Bearer token, in place of user and password."""

    ca: Path | None = None
    """PEM file of the authorities to trust in place of the public ones."""

    certificate: Path | None = None
    """PEM file of the client's certificate; `key` may be in it."""

    key: Path | None = None
    key_password: SecretStr | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoints:
    """Addresses of the broker and the registry, embedded or the user's own."""

    kafka: str
    """`host:port[,host:port]`."""

    registry: str
    """Base URL of a Confluent-compatible registry, without user and password."""

    kafka_options: Mapping[str, SecretStr | str] = field(default_factory=dict)
    """Further librdkafka client properties. Any may be a secret, so that text is masked, too."""

    registry_access: RegistryAccess = field(default_factory=RegistryAccess)

    def __post_init__(self) -> None:
        """Mask options that were given as text."""
        masked = {
            name: value if isinstance(value, SecretStr) else SecretStr(value)
            for name, value in self.kafka_options.items()
        }
        object.__setattr__(self, "kafka_options", masked)

    def client_options(self) -> dict[str, str]:
        """`kafka_options` in clear text: for a client's constructor, and nothing else."""
        return {
            name: value if isinstance(value, str) else value.get_secret_value()
            for name, value in self.kafka_options.items()
        }
