import logging
import traceback
from contextlib import closing

import pytest
from pydantic import SecretStr

from lake_assets.alerts.sinks import LogSink, MailSink, WebhookSink, open_sinks, sink_names
from lake_assets.errors import AlertError
from lake_assets.model.alerts import Alert, AlertSeverity, Moment, ProblemKind
from lake_assets.settings.alerts import AlertSettings, SmtpTls
from lake_assets_tests.alerts.problems import alert, problem
from lake_assets_tests.alerts.servers import certificate, only_hush

BEGUN, ENDED = alert(), alert(moment=Moment.ENDED)

LOG = logging.getLogger("lake_assets_tests.alerts")


def settings_of(port: int, tls: SmtpTls = SmtpTls.NONE, **fields: object) -> AlertSettings:
    given = {
        "smtp_host": "localhost",
        "smtp_port": port,
        "smtp_tls": tls,
        "smtp_from": "lake@example.com",
        "smtp_to": "ops@example.com, Boss <boss@example.com>",
        "timeout_s": 2,
    }
    return AlertSettings(**(given | fields))


def test_the_log_is_always_a_sink():
    assert sink_names(AlertSettings()) == ("log",)


def test_sinks_are_those_of_the_settings(settings):
    alerts = settings_of(25, webhook_url="http://localhost")
    with open_sinks(settings.model_copy(update={"alerts": alerts}), LOG) as sinks:
        assert tuple(sink.name for sink in sinks) == sink_names(alerts)
    assert sink_names(alerts) == ("log", "webhook", "e-mail")


def test_the_log_gets_beginnings_by_severity_and_ends_as_information(caplog):
    dead = problem("streams", ProblemKind.STREAMS_FAILED, severity=AlertSeverity.ERROR)
    with caplog.at_level(logging.INFO), closing(LogSink(LOG)) as sink:
        for told in (BEGUN, Alert(moment=Moment.BEGUN, problem=dead, at=9), ENDED):
            sink.send(told)
    assert [(record.levelname, record.message.split(".")[0]) for record in caplog.records] == [
        ("WARNING", "Check fails: silver_events/known/uno"),
        ("ERROR", "Streams are down"),
        ("INFO", "Over after 1 min: Check fails: silver_events/known/uno"),
    ]


def test_a_webhook_gets_json(hook):
    with closing(WebhookSink(hook.url, 2, "/lake")) as sink:
        sink.send(BEGUN)
        sink.send(ENDED)
    assert [(found["event"], found["lake"]) for found in hook.got] == [
        ("begun", "/lake"),
        ("ended", "/lake"),
    ]
    assert hook.got[0]["text"].startswith("[warning] Check fails")


@pytest.mark.parametrize("answer", [302, 404, 429, 500])
def test_a_webhook_that_refuses_has_not_taken_it(hook, answer):
    hook.answer = answer
    with (
        closing(WebhookSink(hook.url, 2, "/lake")) as sink,
        pytest.raises(AlertError, match=f"answered {answer}"),
    ):
        sink.send(BEGUN)


def test_a_webhook_that_is_down_or_slow_has_not_taken_it(hook):
    hook.hold.clear()
    with closing(WebhookSink(hook.url, 0.2, "/lake")) as sink:
        with pytest.raises(AlertError, match="ReadTimeout"):
            sink.send(BEGUN)
        hook.stop()
        with pytest.raises(AlertError, match=r"webhook at 127\.0\.0\.1: cannot be reached"):
            sink.send(BEGUN)


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST", "user:hush@localhost"])
def test_a_webhooks_address_is_kept_out_of_errors_and_logs(hook, caplog, host):
    url = hook.url.replace("127.0.0.1", host)
    with caplog.at_level(logging.DEBUG), closing(WebhookSink(url, 2, "/lake")) as sink:
        sink.send(BEGUN)
        hook.stop()
        with pytest.raises(AlertError) as raised:
            sink.send(BEGUN)
    assert hook.got
    assert "hush" not in caplog.text
    assert "hush" not in "".join(traceback.format_exception(raised.value))


def test_an_e_mail_arrives(office):
    with closing(MailSink(settings_of(office.port), "/lake")) as sink:
        sink.send(BEGUN)
        sink.send(ENDED)
    first, second = office.mailbox.got
    assert first["Subject"] == "[lake_assets] Check fails: silver_events/known/uno"
    assert second["Subject"].startswith("[lake_assets] Over after 1 min")
    assert (first["From"], first["X-RcptTo"]) == (
        "lake@example.com",
        "ops@example.com, boss@example.com",
    )
    assert "rows violated: 2" in first.get_payload()
    assert "lake: /lake" in first.get_payload()


def test_an_e_mail_that_is_sent_again_has_the_same_id(office):
    for _ in range(2):
        with closing(MailSink(settings_of(office.port), "/lake")) as sink:
            sink.send(BEGUN)
    ids = [message["Message-ID"] for message in office.mailbox.got]
    assert len(ids) == 2
    assert len(set(ids)) == 1


def test_an_e_mail_names_a_game_of_any_letters(office):
    told = Alert(moment=Moment.BEGUN, problem=problem("Ж/é\nBcc: x@y"), at=6)
    with closing(MailSink(settings_of(office.port), "/lake")) as sink:
        sink.send(told)
    (found,) = office.mailbox.got
    assert found["Bcc"] is None


def test_a_mail_server_that_is_down_has_not_taken_it_and_may_come_back(office):
    office.stop()
    with closing(MailSink(settings_of(office.port), "/lake")) as sink:
        with pytest.raises(
            AlertError, match=rf"mail server localhost:{office.port}: does not take"
        ):
            sink.send(BEGUN)
        office.start()
        sink.send(BEGUN)
        office.stop()
        with pytest.raises(AlertError):
            sink.send(ENDED)
    assert len(office.mailbox.got) == 1


class OpsOnly:
    """Refuses a recipient or all; aiosmtpd calls it by name."""

    async def handle_RCPT(self, _server, _session, envelope, address, _options):  # noqa: N802
        if not address.startswith("ops"):
            return "550 nobody of that name"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server, _session, _envelope):  # noqa: N802
        return "250 OK"


def test_an_e_mail_that_a_recipient_does_not_get_is_not_taken(open_office):
    office = open_office()
    office.stop()
    office.mailbox = OpsOnly()
    office.start()
    with (
        closing(MailSink(settings_of(office.port), "/lake")) as sink,
        pytest.raises(AlertError, match=r"refused boss@example\.com"),
    ):
        sink.send(BEGUN)


LOGIN = {"smtp_user": "me", "smtp_password": SecretStr("hush")}


def test_an_e_mail_goes_over_starttls_with_a_login(open_office, tmp_path, monkeypatch):
    cert, context = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    office = open_office(
        tls_context=context, require_starttls=True, auth_required=True, authenticator=only_hush
    )
    with closing(MailSink(settings_of(office.port, SmtpTls.STARTTLS, **LOGIN), "/lake")) as sink:
        sink.send(BEGUN)
    assert len(office.mailbox.got) == 1
    wrong = {"smtp_user": "me", "smtp_password": SecretStr("quiet")}
    with (
        closing(MailSink(settings_of(office.port, SmtpTls.STARTTLS, **wrong), "/lake")) as sink,
        pytest.raises(AlertError, match="SMTPAuthenticationError") as raised,
    ):
        sink.send(BEGUN)
    assert "quiet" not in "".join(traceback.format_exception(raised.value))


def test_an_e_mail_goes_over_tls_from_the_start(open_office, tmp_path, monkeypatch):
    cert, context = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    office = open_office(ssl_context=context)
    with closing(MailSink(settings_of(office.port, SmtpTls.IMPLICIT), "/lake")) as sink:
        sink.send(BEGUN)
    assert len(office.mailbox.got) == 1


def test_a_server_without_the_encryption_asked_for_gets_nothing(office, open_office, tmp_path):
    with (
        closing(MailSink(settings_of(office.port, SmtpTls.STARTTLS, **LOGIN), "/lake")) as sink,
        pytest.raises(AlertError, match="STARTTLS"),
    ):
        sink.send(BEGUN)
    _, context = certificate(tmp_path)
    stranger = open_office(tls_context=context)
    with (
        closing(MailSink(settings_of(stranger.port, SmtpTls.STARTTLS), "/lake")) as sink,
        pytest.raises(AlertError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        sink.send(BEGUN)
    assert office.mailbox.got == stranger.mailbox.got == []
