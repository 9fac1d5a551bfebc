"""A real broker with TLS, passwords, client certificates, tokens and access control.

The product's own embedded broker with further listeners. Its plain listener is the administrator's:
who comes in there may do everything.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from lake_assets.runtime.jars import ensure_groups
from lake_assets.runtime.java import Java, find_java
from lake_assets.services import kafka, lifecycle
from lake_assets.services.service import LOOPBACK, Ports, Service
from lake_assets.settings.schema import Settings
from lake_assets_tests.certificates import Authority, Signed
from lake_assets_tests.services.old_versions import KAFKA_1_0, as_older
from lake_assets_tests.services.tokens import Issuer, issuing

USER = "lake"
"""May do everything."""

STRANGER = "stranger"
"""Has a password, and no right to anything."""

READER = "reader"
"""May read all topics and make none."""

MARKER = "hush9f3amarker"
"""A part of every secret here; where it turns up, a secret has leaked."""

PASSWORD = f'{MARKER} "quoted\\back; slash'
"""Of all three: with the characters that a JAAS line gives a meaning to."""

EVENT_HUBS_USER = "$ConnectionString"
"""What everybody is called at Event Hubs; may do everything, by PLAIN alone."""

CONNECTION_STRING = (
    "Endpoint=sb://play.servicebus.windows.net/;SharedAccessKeyName=lake;"
    f"SharedAccessKey={MARKER}+1/2=="
)
"""The password of that one, as Event Hubs gives one out."""

CLIENT_SECRET = f"{MARKER}-secret"
"""For a token; without the characters that OAuth would have encoded."""


class Listener(StrEnum):
    """Ways in, each with a port of its own."""

    PASSWORD = "password"  # noqa: S105 - SASL_SSL, mechanism PLAIN
    SCRAM = "scram"  # SASL_SSL, mechanism SCRAM-SHA-512
    TOKEN = "token"  # noqa: S105 - SASL_SSL, mechanism OAUTHBEARER
    MUTUAL = "mutual"  # TLS with a client's certificate
    EXPIRED = "expired"  # TLS with a server's certificate that is over
    MISNAMED = "misnamed"  # TLS with a server's certificate for another host
    HOSTED = "hosted"  # SASL_PLAINTEXT, mechanism PLAIN, and the versions of a much older Kafka


@dataclass(frozen=True, kw_only=True)
class Secured:
    """A broker that runs."""

    ports: Ports
    authority: Authority
    client: Signed
    """Certificate of `USER`, whose key is encrypted with `PASSWORD`."""

    issuer: Issuer
    """Gives tokens to `USER` for `CLIENT_SECRET`."""

    @property
    def plain(self) -> str:
        """Address for the administrator."""
        return f"{LOOPBACK}:{self.ports[0]}"

    def address(self, listener: Listener) -> str:
        """Address of a way in."""
        if listener is Listener.HOSTED:
            return f"localhost:{self.ports[-1]}"
        return f"localhost:{_port(self.ports, listener)}"

    def options(
        self, listener: Listener, *, user: str = USER, password: str = PASSWORD
    ) -> dict[str, str]:
        """librdkafka's properties for a way in."""
        ca = {"ssl.ca.location": str(self.authority.file)}
        login = {"sasl.username": user, "sasl.password": password}
        if listener is Listener.PASSWORD:
            own = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", **login}
        elif listener is Listener.SCRAM:
            own = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", **login}
        elif listener is Listener.HOSTED:
            return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", **login}
        elif listener is Listener.MUTUAL:
            own = {
                "security.protocol": "SSL",
                "ssl.certificate.location": str(self.client.certificate),
                "ssl.key.location": str(self.client.key),
                "ssl.key.password": password,
            }
        elif listener is Listener.TOKEN:
            own = {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": user,
                "sasl.oauthbearer.client.secret": CLIENT_SECRET,
                "sasl.oauthbearer.token.endpoint.url": self.issuer.url,
            }
        else:
            own = {"security.protocol": "SSL"}
        return ca | own


@contextmanager
def secured_broker(settings: Settings) -> Iterator[Secured]:
    """Run the broker below the home of `settings`, with users and their rights."""
    folder = settings.services_dir.absolute() / "secured"
    authority = Authority(settings.home / "certificates")
    issuer = Issuer(settings.home / "tokens", {USER: CLIENT_SECRET})
    java = find_java(settings.runtime.cache)
    jars = ensure_groups(("kafka",), java, settings.runtime)["kafka"]

    def prepare(folder: Path, java: Java, jars: tuple[Path, ...], ports: Ports) -> list[str]:
        command = kafka.prepare(folder, java, jars, ports[:2])
        with (folder / "server.properties").open("a") as file:
            file.write(_properties(authority, ports, issuer.keys))
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer.keys.as_uri()}"
        return [command[0], allowed, *command[1:]]

    service = Service(
        name="secured",
        group="kafka",
        ports=3 + len(Listener),  # the last one is before the port of `HOSTED`
        prepare=prepare,
        answers=kafka.answers,
    )
    try:
        state = lifecycle.ensure_started(service, folder, java, jars)
        client = authority.sign(USER, password=PASSWORD)
        found = Secured(ports=state.ports, authority=authority, client=client, issuer=issuer)
        _add_users(found.plain)
        hosted = _port(found.ports, Listener.HOSTED)
        with issuing(issuer), as_older(found.ports[-1], hosted, KAFKA_1_0):
            yield found
    finally:
        lifecycle.stop_service(folder)


def _properties(authority: Authority, ports: Ports, keys: Path) -> str:
    """What is further said of the broker; the last word on a property counts."""
    good = authority.sign("good", ("localhost", LOOPBACK)).both
    stores = dict.fromkeys(Listener, good) | {
        Listener.EXPIRED: authority.sign("expired", ("localhost",), lasts=timedelta(hours=-1)).both,
        Listener.MISNAMED: authority.sign("misnamed", ("elsewhere.example",)).both,
    }
    logins = {
        Listener.PASSWORD: ("PLAIN", "plain.PlainLoginModule required " + _users()),
        Listener.SCRAM: ("SCRAM-SHA-512", "scram.ScramLoginModule required"),
        Listener.TOKEN: ("OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule required"),
    }
    logins[Listener.HOSTED] = logins[Listener.PASSWORD]
    protocols = {one: "SASL_SSL" if one in logins else "SSL" for one in Listener}
    protocols[Listener.HOSTED] = "SASL_PLAINTEXT"
    own = ",".join(f"{one.upper()}://localhost:{_port(ports, one)}" for one in Listener)
    told = own.replace(f":{_port(ports, Listener.HOSTED)}", f":{ports[-1]}")
    lines = [
        f"listeners=PLAINTEXT://{LOOPBACK}:{ports[0]},CONTROLLER://{LOOPBACK}:{ports[1]},{own}",
        f"advertised.listeners=PLAINTEXT://{LOOPBACK}:{ports[0]},{told}",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        + ",".join(f"{one.upper()}:{protocol}" for one, protocol in protocols.items()),
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        f"super.users=User:ANONYMOUS;User:{USER};User:CN={USER};User:{EVENT_HUBS_USER}",
    ]
    for one, store in stores.items():
        prefix = f"listener.name.{one}"
        lines += [f"{prefix}.ssl.keystore.type=PEM", f"{prefix}.ssl.keystore.location={store}"]
        if one in logins:
            mechanism, login = logins[one]
            escaped = login.replace("\\", "\\\\")
            jaas = f"org.apache.kafka.common.security.{escaped};"
            lines.append(f"{prefix}.sasl.enabled.mechanisms={mechanism}")
            lines.append(f"{prefix}.{mechanism.lower()}.sasl.jaas.config={jaas}")
    token = f"listener.name.{Listener.TOKEN}.oauthbearer.sasl"
    handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    lines += [
        f"{token}.server.callback.handler.class={handler}",
        f"{token}.oauthbearer.jwks.endpoint.url={keys.as_uri()}",
    ]
    mutual = f"listener.name.{Listener.MUTUAL}.ssl"
    lines += [
        f"{mutual}.client.auth=required",
        f"{mutual}.truststore.type=PEM",
        f"{mutual}.truststore.location={authority.file}",
    ]
    return "\n".join(lines) + "\n"


def _port(ports: Ports, listener: Listener) -> int:
    """The broker's own port of a way in."""
    return ports[2 + list(Listener).index(listener)]


def _users() -> str:
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    words = dict.fromkeys((USER, STRANGER, READER), quoted) | {EVENT_HUBS_USER: CONNECTION_STRING}
    return " ".join(f'user_{name}="{word}"' for name, word in words.items())


def _add_users(plain: str) -> None:
    admin = AdminClient({"bootstrap.servers": plain})
    scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    wanted = [
        UserScramCredentialUpsertion(name, scram, PASSWORD.encode())
        for name in (USER, STRANGER, READER)
    ]
    for answer in admin.alter_user_scram_credentials(wanted).values():
        answer.result(30)
    may_read = AclBinding(
        ResourceType.TOPIC,
        "*",
        ResourcePatternType.LITERAL,
        f"User:{READER}",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    for answer in admin.create_acls([may_read]).values():
        answer.result(30)
