"""Settings of alerts: whom to tell, and how patient they are."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field, SecretStr

from lake_assets.settings.checks import alert_complaint
from lake_assets.settings.group import RelatedGroup


class SmtpTls(StrEnum):
    """How the connection to a mail server is encrypted."""

    STARTTLS = "starttls"  # begins plain and must become TLS before anything is said; port 587
    IMPLICIT = "implicit"  # TLS from the start; port 465
    NONE = "none"  # a relay on this machine; port 25


class AlertSettings(RelatedGroup):
    """Whom to tell when something goes wrong and when it is over. The log is always told."""

    @staticmethod
    def complaint(field: str, value: Any, before: Mapping[str, Any]) -> str | None:  # noqa: ANN401
        """As the base has it."""
        return alert_complaint(field, value, before)

    webhook_url: SecretStr | None = None
    """Address that gets each alert as JSON by POST (Slack, Mattermost, your own); it is a secret,
    since whoever knows it can post."""

    smtp_host: str | None = None
    """Mail server; set, each alert is sent by e-mail. Needs `smtp_from` and `smtp_to`."""

    smtp_port: int = Field(default=587, gt=0, le=65535)
    """Port of the mail server: usually 587 with `starttls`, 465 with `implicit`, 25 with `none`."""

    smtp_tls: SmtpTls = SmtpTls.STARTTLS
    """`starttls`, `implicit` or `none`. A private authority goes into `SSL_CERT_FILE`."""

    smtp_user: str | None = None
    """Name to log in with; unset, there is no login."""

    smtp_password: SecretStr | None = None
    """Password of `smtp_user`."""

    smtp_from: str | None = None
    """Sender, `lake@example.com`."""

    smtp_to: str | None = None
    """Recipients, `a@example.com, b@example.com`."""

    timeout_s: float = Field(default=5.0, gt=0, le=5.0)
    """Seconds a sink may take for one alert before it is called down and tried again 10 s later.
    More would not fit into the time that Dagster gives a sensor."""

    settle_s: float = Field(default=60.0, ge=0)
    """Seconds that a problem must have been gone before it is said to be over. Below
    `stream.report_every_s`, a check that fails in every other report is told of each time."""

    waiting_after_s: float = Field(default=30.0, ge=0)
    """Seconds that streams may wait for a broker or a registry without anybody being told."""

    sink_behind_after_s: float = Field(default=900.0, gt=0)
    """Seconds that rows may wait for a sink before somebody is told."""

    refresh_grace_s: float = Field(default=300.0, ge=0)
    """Seconds that a scheduled refresh, or a run of a feed, may take before it counts as missed."""
