import pytest

from lake_assets.settings.checks import mail_complaint, web_complaint


@pytest.mark.parametrize(
    "url", ["http://localhost", "https://hooks.slack.com/services/T/B/x", "http://[::1]:80/a?b=c"]
)
def test_a_web_address_is_fine(url):
    assert web_complaint(url) is None


@pytest.mark.parametrize(
    "url", ["", "hooks.slack.com", "ftp://host", "https://", "http://host:port", "http://h/a\nb"]
)
def test_what_is_no_web_address_is_refused_without_being_repeated(url):
    complaint = web_complaint(url)
    assert complaint
    assert "hooks.slack" not in complaint


@pytest.mark.parametrize("text", ["a@example.com", "Ops <ops@localhost>, b@example.com"])
def test_mail_addresses_are_fine(text):
    assert mail_complaint(text) is None


@pytest.mark.parametrize("text", ["", "nobody", "a@example.com, b", "@host", "a@b\nBcc: c@d"])
def test_what_is_no_mail_address_is_refused(text):
    assert mail_complaint(text)
