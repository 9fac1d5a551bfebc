from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from lake_assets.errors import SettingsError
from lake_assets.sources.kafka.java_properties import java_properties
from lake_assets_tests.certificates import Authority


@pytest.fixture
def authority(tmp_path) -> Authority:
    return Authority(tmp_path)


def test_what_both_clients_know_is_left_as_it_is():
    given = {"security.protocol": "SASL_SSL", "client.id": "me", "retry.backoff.ms": "7"}
    assert java_properties(given) == given


def test_a_password_becomes_a_jaas_line():
    given = {"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "hush"}
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    assert java_properties(given) == {
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{module} required username="me" password="hush";',
    }


@pytest.mark.parametrize(
    ("password", "written"),
    [('a"b', r'"a\"b"'), ("a\\b", r'"a\\b"'), ('\\"', r'"\\\""'), ("a\nb", r'"a\nb"'), ("", '""')],
)
def test_a_password_of_any_letters_stays_one_word_of_its_jaas_line(password, written):
    given = {"sasl.mechanisms": "SCRAM-SHA-256", "sasl.username": "me", "sasl.password": password}
    found = java_properties(given)
    assert found["sasl.jaas.config"].endswith(f"password={written};")
    assert "scram.ScramLoginModule" in found["sasl.jaas.config"]


def test_a_token_is_asked_for_with_the_clients_secret():
    given = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "hush",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool",
        "sasl.oauthbearer.token.endpoint.url": "https://id/token",
    }
    oauth = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLogin"
    words = 'clientId="me" clientSecret="hush" scope="kafka"'
    words += ' extension_logicalCluster="lkc-1" extension_identityPoolId="pool"'
    assert java_properties(given) == {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{oauth}Module required {words};",
        "sasl.login.callback.handler.class": f"{oauth}CallbackHandler",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.token.endpoint.url": "https://id/token",
    }


def test_files_travel_as_text_with_their_type_and_a_key_in_the_clear(authority):
    mine = authority.sign("me", password="hush")  # noqa: S106 - nobody's
    found = java_properties(
        {
            "ssl.ca.location": str(authority.file),
            "ssl.certificate.location": str(mine.certificate),
            "ssl.key.location": str(mine.key),
            "ssl.key.password": "hush",
        }
    )
    key = found.pop("ssl.keystore.key")
    assert key.startswith("-----BEGIN PRIVATE KEY-----")
    assert load_pem_private_key(key.encode(), None)
    assert found == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority.file.read_text(),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": mine.certificate.read_text(),
    }


def test_a_certificate_may_have_its_key_in_the_same_file(authority):
    both = authority.sign("me", lasts=timedelta(days=1)).both
    found = java_properties({"ssl.certificate.location": str(both)})
    assert found["ssl.keystore.key"] in both.read_text()


def test_a_key_of_the_older_form_becomes_one_that_java_reads(authority):
    key = rsa.generate_private_key(65537, 2048)
    old = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    assert "BEGIN RSA PRIVATE KEY" in old
    chain = authority.sign("me").certificate.read_text()
    found = java_properties({"ssl.certificate.pem": chain, "ssl.key.pem": old})
    assert "BEGIN PRIVATE KEY" in found["ssl.keystore.key"]
    assert found["ssl.keystore.certificate.chain"] == chain


def test_a_folder_of_authorities_is_read_whole(tmp_path):
    first, second = Authority(tmp_path / "a"), Authority(tmp_path / "b")
    (tmp_path / "a" / "ca2.pem").write_bytes(second.file.read_bytes())
    found = java_properties({"ssl.ca.location": str(tmp_path / "a")})
    for one in (first, second):
        assert one.file.read_text() in found["ssl.truststore.certificates"]


def test_a_pkcs12_store_keeps_its_file_and_gets_its_type():
    given = {"ssl.keystore.location": "me.p12", "ssl.keystore.password": "hush"}
    assert java_properties(given) == {**given, "ssl.keystore.type": "PKCS12"}


def test_whether_the_hosts_name_counts_is_said_as_java_does():
    name = "ssl.endpoint.identification.algorithm"
    assert java_properties({name: "none"}) == {name: ""}
    assert java_properties({name: "https"}) == {name: "https"}


def test_what_openssl_alone_understands_is_left_out():
    given = {"ssl.cipher.suites": "HIGH", "ssl.sigalgs.list": "x", "ssl.ca.location": "probe"}
    assert java_properties(given) == {}


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"ssl\.ca\.location names .*none\.pem, which cannot"):
        java_properties({"ssl.ca.location": str(tmp_path / "none.pem")})


def test_a_key_that_does_not_open_is_told_without_its_password(authority):
    mine = authority.sign("me", password="hush")  # noqa: S106 - nobody's
    given = {
        "ssl.certificate.location": str(mine.certificate),
        "ssl.key.location": str(mine.key),
        "ssl.key.password": "wrong-hush",
    }
    with pytest.raises(SettingsError, match=r"ssl\.key\.password does not open it") as raised:
        java_properties(given)
    assert "hush" not in str(raised.value)
