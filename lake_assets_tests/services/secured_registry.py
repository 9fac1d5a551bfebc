"""A real registry with HTTPS and basic authentication: the product's own, further switched on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from lake_assets.model.endpoints import RegistryAccess
from lake_assets.runtime.jars import ensure_groups
from lake_assets.runtime.java import Java, find_java
from lake_assets.services import lifecycle, registry
from lake_assets.services.service import Ports, Service
from lake_assets.settings.schema import Settings
from lake_assets_tests.certificates import Authority
from lake_assets_tests.services.secured import MARKER, USER

PASSWORD = f"{MARKER}-of the registry: @/#%"
"""Of `USER`, with the characters that an address gives a meaning to."""


@dataclass(frozen=True, kw_only=True)
class SecuredRegistry:
    """A registry that runs."""

    port: int
    authority: Authority

    @property
    def url(self) -> str:
        """Base URL, by the name that its certificate has."""
        return f"https://localhost:{self.port}/apis/ccompat/v7"

    def access(self, *, user: str = USER, password: str = PASSWORD) -> RegistryAccess:
        """What lets a client in."""
        return RegistryAccess(user=user, password=SecretStr(password), ca=self.authority.file)


@contextmanager
def run_secured_registry(settings: Settings) -> Iterator[SecuredRegistry]:
    """Run the registry below the home of `settings`."""
    folder = settings.services_dir.absolute() / "secured-registry"
    authority = Authority(settings.home / "certificates")
    java = find_java(settings.runtime.cache)
    jars = ensure_groups(("registry",), java, settings.runtime)["registry"]

    def prepare(folder: Path, java: Java, jars: tuple[Path, ...], ports: Ports) -> list[str]:
        command = registry.prepare(folder, java, jars, ports)
        options = [f"-D{name}={value}" for name, value in _properties(authority, ports).items()]
        place = command.index("-jar")
        return [*command[:place], *options, *command[place:]]

    def answers(_port: int) -> bool:
        return "started in" in lifecycle.log_of(folder).read_text()

    service = Service(
        name="secured-registry", group="registry", ports=2, prepare=prepare, answers=answers
    )
    try:
        state = lifecycle.ensure_started(service, folder, java, jars)
        yield SecuredRegistry(port=state.ports[1], authority=authority)
    finally:
        lifecycle.stop_service(folder)


def _properties(authority: Authority, ports: Ports) -> dict[str, object]:
    good = authority.sign("registry", ("localhost",))
    return {
        "quarkus.http.ssl-port": ports[1],
        "quarkus.http.ssl.certificate.files": good.certificate,
        "quarkus.http.ssl.certificate.key-files": good.key,
        "quarkus.oidc.tenant-enabled": "false",
        "quarkus.http.auth.basic": "true",
        "quarkus.security.users.embedded.plain-text": "true",
        f"quarkus.security.users.embedded.users.{USER}": PASSWORD,
        f"quarkus.security.users.embedded.roles.{USER}": "sr-admin",
        "quarkus.http.auth.permission.all.paths": "/apis/*",
        "quarkus.http.auth.permission.all.policy": "authenticated",
    }
