"""Where alerts go: a log, a webhook, e-mail. Each delivers one alert or says why it could not.

What is delivered when, and what waits, is for `deliver`. No secret (a webhook's address is one)
gets into an error or a log.
"""

import contextlib
import hashlib
import logging
import smtplib
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from email.message import EmailMessage
from email.utils import formatdate
from typing import Protocol

import httpx

from lake_assets.alerts.messages import body_of, payload_of, text_of, title_of
from lake_assets.errors import AlertError
from lake_assets.model.alerts import Alert, AlertSeverity, Moment
from lake_assets.settings.alerts import AlertSettings, SmtpTls
from lake_assets.settings.schema import Settings

_RETRIED = "The alert waits and is sent again"

_LEVELS = {AlertSeverity.WARNING: logging.WARNING, AlertSeverity.ERROR: logging.ERROR}


class Sink(Protocol):
    """Takes alerts for as long as it is open."""

    @property
    def name(self) -> str:
        """What the outbox knows it by."""

    def send(self, alert: Alert) -> None:
        """Deliver an alert.

        Raises:
            AlertError: it may not have arrived.
        """

    def close(self) -> None:
        """Give up what is open, without waiting for anybody."""


def sink_names(settings: AlertSettings) -> tuple[str, ...]:
    """The sinks that settings ask for; the log is always one."""
    is_set = {"log": True, "webhook": settings.webhook_url, "e-mail": settings.smtp_host}
    return tuple(name for name, value in is_set.items() if value)


@contextmanager
def open_sinks(settings: Settings, log: logging.Logger) -> Iterator[tuple[Sink, ...]]:
    """The sinks that settings ask for, closed when the block ends."""
    alerts, lake = settings.alerts, str(settings.lake_root)
    sinks: list[Sink] = [LogSink(log)]
    if alerts.webhook_url:
        sinks.append(WebhookSink(alerts.webhook_url.get_secret_value(), alerts.timeout_s, lake))
    if alerts.smtp_host:
        sinks.append(MailSink(alerts, lake))
    with ExitStack() as stack:
        for sink in sinks:
            stack.enter_context(closing(sink))
        yield tuple(sinks)


class LogSink:
    """Alerts as lines of a log."""

    name = "log"

    def __init__(self, log: logging.Logger) -> None:
        """Write to `log`."""
        self._log = log

    def send(self, alert: Alert) -> None:
        """Write a line: a beginning at the level of its severity, an end as information."""
        is_begun = alert.moment is Moment.BEGUN
        self._log.log(_LEVELS[alert.problem.severity] if is_begun else logging.INFO, text_of(alert))

    def close(self) -> None:
        """Nothing is open."""


class WebhookSink:
    """Alerts as JSON, posted; any answer of 200 to 299 means that it was taken."""

    name = "webhook"

    def __init__(self, url: str, timeout_s: float, lake: str) -> None:
        """Post to `url`; nothing is sent yet."""
        self._url = url
        self._lake = lake
        self._client = httpx.Client(timeout=timeout_s)
        self._thing = f"webhook at {httpx.URL(url).host}"

    def send(self, alert: Alert) -> None:
        """Post an alert.

        Raises:
            AlertError: nobody answered, or not with success.
        """
        try:
            with _hushed():
                answer = self._client.post(self._url, json=payload_of(alert, self._lake))
        except httpx.HTTPError as problem:
            fact = f"cannot be reached ({type(problem).__name__}: {problem})"
            for written in {self._url, str(httpx.URL(self._url))}:
                fact = fact.replace(written, "…")
            raise AlertError(self._thing, fact, _RETRIED) from None
        if not answer.is_success:
            raise AlertError(self._thing, f"answered {answer.status_code}", _RETRIED)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep httpx, which logs each request with its address, from logging those of this thread.

    Not by the address: httpx writes it in its own way, the host in small letters for one.
    """
    here = threading.get_ident()

    def is_other(record: logging.LogRecord) -> bool:
        return record.thread != here

    log = logging.getLogger("httpx")
    log.addFilter(is_other)
    try:
        yield
    finally:
        log.removeFilter(is_other)


class MailSink:
    """Alerts as e-mails, through one connection while it is open."""

    name = "e-mail"

    def __init__(self, settings: AlertSettings, lake: str) -> None:
        """Send through the server of `settings`; nothing is connected yet."""
        self._settings = settings
        self._lake = lake
        self._server: smtplib.SMTP | None = None
        self._thing = f"mail server {settings.smtp_host}:{settings.smtp_port}"

    def send(self, alert: Alert) -> None:
        """Hand a message to the server.

        Raises:
            AlertError: the server cannot be reached or does not take it for all recipients.
        """
        try:
            self._server = self._server or self._connect()
            refused = self._server.send_message(self._message(alert))
        except (OSError, smtplib.SMTPException) as problem:
            self._drop()
            fact = f"does not take the message ({type(problem).__name__}: {problem})"
            raise AlertError(self._thing, fact, _RETRIED) from None
        if refused:
            self._drop()
            raise AlertError(self._thing, f"refused {', '.join(refused)}", _RETRIED)

    def close(self) -> None:
        """Take leave without waiting for the answer: the server has what it said it took."""
        if self._server is not None:
            with contextlib.suppress(OSError, smtplib.SMTPException):
                self._server.putcmd("quit")
            self._drop()

    def _drop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _connect(self) -> smtplib.SMTP:
        settings = self._settings
        host, port, timeout_s = str(settings.smtp_host), settings.smtp_port, settings.timeout_s
        trust = ssl.create_default_context()
        if settings.smtp_tls is SmtpTls.IMPLICIT:
            server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=timeout_s, context=trust)
        else:
            server = smtplib.SMTP(host, port, timeout=timeout_s)
        try:
            if settings.smtp_tls is SmtpTls.STARTTLS:
                server.starttls(context=trust)
            if settings.smtp_user and settings.smtp_password:
                server.login(settings.smtp_user, settings.smtp_password.get_secret_value())
        except BaseException:
            server.close()
            raise
        return server

    def _message(self, alert: Alert) -> EmailMessage:
        message = EmailMessage()
        message["Subject"] = f"[lake_assets] {title_of(alert)}"
        message["From"] = self._settings.smtp_from
        message["To"] = self._settings.smtp_to
        message["Date"] = formatdate(alert.at)
        # The same for an alert that is sent again, so that mail programs show it once.
        digest = hashlib.sha256(alert.id.encode()).hexdigest()[:32]
        message["Message-ID"] = f"<{digest}@lake-assets.invalid>"
        message.set_content(body_of(alert, self._lake))
        return message
