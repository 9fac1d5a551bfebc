import pytest
from pydantic import SecretStr, ValidationError

from lake_assets.settings.access import (
    access_complaint,
    brokers_complaint,
    kafka_complaint,
    registry_complaint,
    split_login,
)
from lake_assets.settings.schema import RegistrySettings


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://me:hu%40s%2Fh@h:8081/path", ("https://h:8081/path", "me", "hu@s/h")),
        ("https://me@h", ("https://h", "me", None)),
        ("http://me:hush@a,http://me:hush@b", ("http://a,http://b", "me", "hush")),
        ("http://me:hush@a, http://b", ("http://a,http://b", "me", "hush")),
        ("http://h", ("http://h", None, None)),
        ("http://me:hush@a,http://you:hush@b", ("http://me:hush@a,http://you:hush@b", None, None)),
        ("http://[", ("http://[", None, None)),
    ],
)
def test_a_login_is_taken_out_of_an_address(url, found):
    assert split_login(url) == found


@pytest.mark.parametrize(
    "servers", ["h:9092", "a.b-c:1, d:65535", "[::1]:9092", "SASL_SSL://h:9092", "10.0.0.1:9092"]
)
def test_addresses_of_brokers_are_fine(servers):
    assert brokers_complaint(servers) is None


@pytest.mark.parametrize(
    "servers", ["h", "http://h:9092", "h:0", "h:65536", "h:x", ":1", "a:1,", "a:1 b:2", "h:1/x"]
)
def test_what_is_no_list_of_brokers_is_refused(servers):
    assert (
        brokers_complaint(servers)
        == "is no list of brokers\nwrite host:port, or host:port,host:port"
    )


@pytest.mark.parametrize("url", ["http://h", "https://h:8081/apis/v7", "http://a,http://b:1"])
def test_a_registrys_address_is_fine(url):
    assert registry_complaint(url) is None


@pytest.mark.parametrize(
    "url",
    ["", "h", "ftp://h", "http://a,", "http://me:hush@h", "http://me:hu/sh@h", "http://h?k=hush"],
)
def test_what_is_no_registrys_address_is_refused_without_being_repeated(url):
    complaint = registry_complaint(url)
    assert complaint
    assert "hu" not in complaint


def test_an_address_with_a_login_is_taken_apart():
    found = RegistrySettings(url="https://me:hush@h")
    assert (found.url, found.user) == ("https://h", "me")
    assert found.access.password == SecretStr("hush")
    assert "hush" not in f"{found!r} {found.access!r} {found.model_dump_json()}"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"url": "https://me:hush@h", "user": "you", "password": "x"}, "has an @ in it"),
        ({"url": "https://me:hush@h", "token": "x"}, "has an @ in it"),
        ({"url": "https://me@h"}, "user go together"),
        ({"user": "me"}, "user go together"),
        ({"password": "hush"}, "user go together"),
        ({"user": "m:e", "password": "hush"}, "has a colon"),
        ({"user": "me", "password": "x", "token": "hush"}, "one or the other"),
        ({"key": "hush.pem"}, "certificate is not"),
        ({"key_password": "hush"}, "certificate is not"),
    ],
)
def test_fields_that_do_not_go_together_are_refused_without_being_repeated(given, complaint):
    with pytest.raises(ValidationError, match=complaint) as raised:
        RegistrySettings(**given)
    assert "hush" not in str(raised.value)


def test_a_complaint_about_nothing_is_none():
    assert access_complaint("ca", None, {}) is None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"security.protocol": "SSL"},
        {"sasl.username": "me", "sasl.mechanisms": "PLAIN"},
        {"enable.ssl.certificate.verification": "true"},
        {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "me",
            "sasl.oauthbearer.client.secret": "hush",
            "sasl.oauthbearer.token.endpoint.url": "https://id/token",
        },
    ],
)
def test_options_that_both_clients_understand_are_fine(options):
    assert kafka_complaint(options) is None


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"sasl.username": "me", "sasl.password": "hush"}, "need sasl.mechanism"),
        ({"enable.ssl.certificate.verification": "false"}, "which Spark's client cannot"),
        ({"sasl.mechanism": "AWS_MSK_IAM"}, "let the cluster take SCRAM-SHA-512 or certificates"),
        ({"sasl.mechanisms": "hush"}, "need one of PLAIN, SCRAM-SHA-256,"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "need sasl.oauthbearer.method: oidc"),
        (
            {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"},
            "need sasl.oauthbearer.client.id",
        ),
        (
            {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.grant.type": "jwt"},
            "need sasl.oauthbearer.grant.type: client_credentials",
        ),
        ({"sasl.mechanism": "OAUTHBEARER", "https.ca.pem": "hush"}, "(https.ca)"),
    ],
)
def test_options_that_spark_would_take_otherwise_are_refused(options, complaint):
    found = kafka_complaint(options)
    assert found is not None
    assert complaint in found
    assert "hush" not in found
