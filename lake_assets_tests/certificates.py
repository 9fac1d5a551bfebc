"""Certificates for tests: an authority, and what it signs for servers and clients, as PEM files."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, kw_only=True)
class Signed:
    """A certificate with its key: two files, and both in one, as Kafka's servers want them."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """Signs certificates for whoever asks."""

    def __init__(self, folder: Path) -> None:
        """Make its own certificate, in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("lake_assets test authority")
        builder = _builder(self._name, self._name, self._key, timedelta(days=1))
        is_authority = x509.BasicConstraints(ca=True, path_length=None)
        builder = builder.add_extension(is_authority, critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.file = folder / "ca.pem"
        self.file.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def sign(
        self,
        name: str,
        hosts: tuple[str, ...] = (),
        *,
        lasts: timedelta = timedelta(days=1),
        password: str | None = None,
    ) -> Signed:
        """A certificate of `name`; one that `lasts` less than nothing has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name), self._name, key, lasts)
        if hosts:
            names = x509.SubjectAlternativeName([_host(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)
        hidden: KeySerializationEncryption = NoEncryption()
        if password is not None:
            hidden = BestAvailableEncryption(password.encode())
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden)
        made = Signed(
            certificate=self._folder / f"{name}.crt",
            key=self._folder / f"{name}.key",
            both=self._folder / f"{name}.pem",
        )
        made.certificate.write_bytes(certificate)
        made.key.write_bytes(text)
        made.both.write_bytes(text + certificate)
        return made


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, lasts: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, now + lasts) - timedelta(days=1))
        .not_valid_after(now + lasts)
    )
