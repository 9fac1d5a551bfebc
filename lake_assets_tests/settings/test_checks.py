from pathlib import Path

import pytest

from lake_assets.settings.checks import (
    address_complaint,
    folder_complaint,
    mail_complaint,
    owners_complaint,
    prefix_complaint,
    target_complaint,
    web_complaint,
    words_in,
)


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


@pytest.mark.parametrize("path", ["/lake", "lake", "a:b/c", "/s3:/x", "~/jo s\u00e9 100%"])
def test_a_folder_is_no_address(path):
    assert address_complaint(Path(path)) is None


@pytest.mark.parametrize("path", ["s3://bucket/lake", "hdfs://host:1/lake", "abfss://a@b/c"])
def test_an_address_of_a_store_is_no_folder(path):
    assert "only folders of this machine" in str(address_complaint(Path(path)))


@pytest.mark.parametrize("path", ["s3://", "gs:/", "abfss:"])
def test_an_address_of_nothing_is_no_folder(path):
    assert "alone\nwrite what comes behind it" in str(address_complaint(Path(path)))


def test_the_address_of_a_folder_is_to_be_written_as_a_path():
    assert "without file://" in str(address_complaint(Path("file:///lake")))


@pytest.mark.parametrize("name", ["jo s\u00e9 100%", "{y} * + & ' \" , = ; : $ ~ ( ) @ ! < >", "."])
def test_a_folder_may_have_nearly_any_name(name):
    assert folder_complaint(Path("/home") / name) is None


@pytest.mark.parametrize("part", ["[", "]", "?", "#", "^", "|", "\\", "\n", "\t", "%20"])
def test_what_delta_could_not_find_again_is_named(part):
    assert f"a path with {part!r}" in str(folder_complaint(Path(f"/home/a{part}b")))


@pytest.mark.parametrize("target", ["/backups/la ke", "s3://bucket/lake", "az://c@a/lake"])
def test_backups_go_to_a_whole_path_or_an_address(target):
    assert target_complaint(target) is None


@pytest.mark.parametrize("target", ["", "backups", "./backups", "~/backups"])
def test_where_backups_go_does_not_depend_on_where_a_process_runs(target):
    assert "whole path" in str(target_complaint(target))


def test_words_stand_between_commas():
    assert words_in("team:data, a@example.com,") == ["team:data", "a@example.com"]
    assert words_in("") == []


def test_parts_of_a_prefix_are_names():
    assert prefix_complaint([]) is None
    assert prefix_complaint(["prod", "eu_1"]) is None


@pytest.mark.parametrize("part", ["", "a/b", "eu-1", "a b", "1a", "\u00e4"])
def test_what_dagster_could_not_name_a_job_is_no_part_of_a_prefix(part):
    assert "takes letters, digits and _ alone" in str(prefix_complaint(["prod", part]))


def test_owners_are_teams_and_people():
    assert owners_complaint(["team:data-eng", "a.b+c@example.com"]) is None


@pytest.mark.parametrize("owner", ["", "data", "team:", "team:a b", "a@b", "a@b c.de", "@b.de"])
def test_nobody_else_is_an_owner(owner):
    assert "neither team:name nor an e-mail address" in str(owners_complaint([owner]))
