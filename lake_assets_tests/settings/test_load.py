import os
import threading
import traceback
from pathlib import Path

import pytest

from lake_assets.errors import LakeError, SettingsError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.alerts import AlertSettings, SmtpTls
from lake_assets.settings.load import (
    child_environment,
    load_settings,
    origins,
    secret_of,
    temporary_environment,
    unknown_variables,
)
from lake_assets.settings.schema import KafkaSettings, RegistrySettings, Settings

ALERTS = "LAKE_ASSETS_ALERTS_"
SECRET = "https://hooks.example.com/services/hush"  # noqa: S105 - nobody's

MAIL = {"smtp_host": "mail", "smtp_from": "lake@example.com", "smtp_to": "ops@example.com"}


@pytest.fixture
def load(monkeypatch):
    def with_variables(**alerts: str) -> AlertSettings:
        for name, value in alerts.items():
            monkeypatch.setenv(f"{ALERTS}{name.upper()}", value)
        return load_settings().alerts

    return with_variables


def test_alerts_go_to_the_log_alone_by_default(load):
    assert load() == AlertSettings()


def test_alerts_are_set_by_variables(load):
    found = load(webhook_url=SECRET, smtp_port="2525", smtp_tls="none", settle_s="1", **MAIL)
    assert found.webhook_url.get_secret_value() == SECRET
    assert (found.smtp_host, found.smtp_port, found.smtp_tls) == ("mail", 2525, SmtpTls.NONE)
    assert found.settle_s == 1


@pytest.mark.parametrize(
    ("given", "variable", "fact"),
    [
        ({"webhook_url": "slack"}, "WEBHOOK_URL", "is no web address"),
        ({"smtp_host": "mail"}, "SMTP_FROM", "and smtp_host go together"),
        ({"smtp_to": "a@example.com"}, "SMTP_TO", "and smtp_host go together"),
        ({**MAIL, "smtp_to": "nobody"}, "SMTP_TO", "is no list of e-mail addresses"),
        ({**MAIL, "smtp_user": "me"}, "SMTP_PASSWORD", "and smtp_user go together"),
        ({**MAIL, "smtp_password": "hush"}, "SMTP_PASSWORD", "and smtp_user go together"),
        ({**MAIL, "smtp_port": "0"}, "SMTP_PORT", "must be more than 0, and is '0'"),
        ({**MAIL, "smtp_tls": "maybe"}, "SMTP_TLS", "starttls"),
        ({"timeout_s": "60"}, "TIMEOUT_S", "must be 5 or less, and is '60'"),
    ],
)
def test_a_wrong_variable_is_named(load, given, variable, fact):
    with pytest.raises(SettingsError, match=fact) as raised:
        load(**given)
    assert raised.value.thing == ALERTS + variable


def test_no_secret_is_in_what_is_printed_of_a_wrong_setting(load):
    given = {"webhook_url": "hush-hush", "smtp_password": "hush-hush", "smtp_port": "no"}
    with pytest.raises(SettingsError) as raised:
        load(**given)
    assert "hush-hush" not in "".join(traceback.format_exception(raised.value))


def test_no_secret_is_in_what_is_printed_of_settings(load):
    found = load(webhook_url=SECRET, smtp_user="me", smtp_password="hush-hush", **MAIL)  # noqa: S106
    assert "hush" not in f"{found!r} {found} {found.model_dump()} {found.model_dump_json()}"


def test_a_child_loads_the_same_settings(monkeypatch, load):
    settings = Settings(
        home=Path("/home/lake"),
        kafka=KafkaSettings(options={"security.protocol": "SASL_SSL"}),
        alerts=load(webhook_url=SECRET, smtp_user="me", smtp_password="hush", **MAIL),  # noqa: S106
    )
    for name in [f"{ALERTS}{field.upper()}" for field in AlertSettings.model_fields]:
        monkeypatch.delenv(name, raising=False)
    for name, value in child_environment(settings, base={"PATH": ""}).items():
        monkeypatch.setenv(name, value)
    found = load_settings()
    assert (found.home, found.kafka, found.alerts) == (
        settings.home,
        settings.kafka,
        settings.alerts,
    )
    assert found.alerts.smtp_password.get_secret_value() == "hush"


def _known() -> dict[str, str | None]:
    return {name: os.environ.get(name) for name in ("NOT_SET_BEFORE", "SET_BEFORE")}  # noqa: TID251


def test_a_temporary_environment_is_as_before_at_its_end(monkeypatch):
    monkeypatch.setenv("SET_BEFORE", "old")
    before = _known()
    lent = {"NOT_SET_BEFORE": "1", "SET_BEFORE": "new"}

    def fail() -> None:
        with temporary_environment(lent):
            assert _known() == lent
            raise SettingsError("a", "b", "c")

    with pytest.raises(SettingsError):
        fail()
    assert _known() == before == {"NOT_SET_BEFORE": None, "SET_BEFORE": "old"}


def test_threads_take_turns_with_the_environment():
    seen: list[dict[str, str | None]] = []

    def use(value: str) -> None:
        with temporary_environment({"NOT_SET_BEFORE": value}):
            seen.append(_known())

    with temporary_environment({"SET_BEFORE": "first"}):
        other = threading.Thread(target=use, args=["1"])
        other.start()
        other.join(0.1)
        assert not seen
    other.join(10)
    assert seen == [{"NOT_SET_BEFORE": "1", "SET_BEFORE": None}]
    assert _known() == {"NOT_SET_BEFORE": None, "SET_BEFORE": None}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("KAFKA_OPTIONS", '{"sasl.password": "hush-hush'),
        ("KAFKA_OPTIONS", '["hush-hush"]'),
        ("KAFKA_OPTIONS", '{"sasl.password": ["hush-hush"]}'),
        ("KAFKA_OPTIONS", '{"sasl.username": "hush-hush"}'),
        ("SPARK_CONF", "hush-hush"),
        ("BACKUP_OPTIONS", "hush-hush"),
        ("BACKUP_OPTIONS", '["hush-hush"]'),
        ("STORAGE_OPTIONS", "hush-hush"),
        ("REGISTRY_URL", "https://me:hush-hush@h?a=b"),
        ("REGISTRY_URL", "https://me:hush-hush"),
        ("REGISTRY_PASSWORD", "hush-hush"),
    ],
)
def test_a_secret_in_a_variable_that_cannot_be_used_is_not_repeated(monkeypatch, name, text):
    monkeypatch.setenv(f"LAKE_ASSETS_{name}", text)
    with pytest.raises(SettingsError) as raised:
        load_settings()
    assert raised.value.thing == f"LAKE_ASSETS_{name}"
    assert "hush" not in "".join(traceback.format_exception(raised.value))


def test_a_child_gets_the_secrets_of_brokers_and_registries(monkeypatch):
    password = 'hu"sh\\ 7%'  # noqa: S105 - nobody's
    settings = Settings(
        home=Path("/home/lake"),
        kafka=KafkaSettings(
            options={
                "sasl.mechanism": "PLAIN",
                "sasl.username": "me",
                "sasl.password": password,
            }
        ),
        registry=RegistrySettings(
            url="https://h", user="me", password=password, ca=Path("/ca.pem")
        ),
    )
    assert "hu" not in f"{settings!r} {settings.model_dump()} {settings.model_dump_json()}"
    for name, value in child_environment(settings, base={"PATH": ""}).items():
        monkeypatch.setenv(name, value)
    found = load_settings()
    assert (found.kafka, found.registry) == (settings.kafka, settings.registry)
    assert found.registry.password.get_secret_value() == password
    assert found.kafka.options["sasl.password"].get_secret_value() == password


def test_the_files_of_a_registry_are_found_from_any_folder(monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_REGISTRY_CA", "ca.pem")
    assert load_settings().registry.ca == Path.cwd() / "ca.pem"


@pytest.mark.parametrize("name", ["HOME", "LAKE", "FEEDS"])
def test_an_address_that_is_given_as_a_folder_is_refused_and_no_folder_is_made(
    monkeypatch, tmp_path, name
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"LAKE_ASSETS_{name}", "hdfs://host/lake")
    with pytest.raises(SettingsError, match=rf"LAKE_ASSETS_{name}: is an address \(hdfs://"):
        load_settings()
    assert list(tmp_path.iterdir()) == []


def test_an_address_that_is_given_as_an_option_is_refused_by_that_name():
    with pytest.raises(SettingsError, match="--lake: is an address"):
        load_settings(lake=Path("hdfs://host/lake"))


@pytest.mark.parametrize("name", ["HOME", "LAKE"])
def test_a_folder_where_tables_cannot_lie_is_refused(monkeypatch, name):
    monkeypatch.setenv(f"LAKE_ASSETS_{name}", "/data/[x]")
    with pytest.raises(SettingsError, match=rf"LAKE_ASSETS_{name}: is '/data/\[x\]'"):
        load_settings()


def test_so_is_the_folder_that_a_home_without_a_path_is_in(monkeypatch, tmp_path):
    odd = tmp_path / "100%25"
    odd.mkdir()
    monkeypatch.delenv("LAKE_ASSETS_HOME", raising=False)
    monkeypatch.chdir(odd)
    with pytest.raises(SettingsError, match="a path with '%25'"):
        load_settings()


def test_a_child_gets_no_variable_of_ours_in_any_case():
    base = {"lake_assets_kafka_bootstrap_servers": "prod:9092", "Lake_Assets_Lake": "/prod"}
    assert child_environment(Settings(), base=base) == {}


def test_the_state_lies_in_the_lake_unless_it_is_set(monkeypatch, tmp_path):
    assert load_settings(lake=tmp_path).state_dir == tmp_path / "_lake_assets"
    monkeypatch.setenv("LAKE_ASSETS_STATE", str(tmp_path / "state"))
    found = load_settings(lake=tmp_path)
    assert found.state_dir == tmp_path / "state"
    assert child_environment(found)["LAKE_ASSETS_STATE"] == str(tmp_path / "state")


def test_a_temporary_lake_has_its_state_in_itself_whatever_is_set(monkeypatch, tmp_path):
    monkeypatch.setenv("LAKE_ASSETS_STATE", str(tmp_path / "state"))
    found = load_settings(lake=tmp_path / "lake", is_temporary=True)
    assert found.state_dir == tmp_path / "lake" / "_lake_assets"


def test_a_link_to_itself_is_left_to_who_opens_it(monkeypatch, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.setenv("LAKE_ASSETS_STATE", str(tmp_path / "loop"))
    assert load_settings(lake=tmp_path / "lake").state_dir == tmp_path / "loop"


@pytest.mark.parametrize(
    ("state", "fact"),
    [
        ("s3://bucket/lake", "is the folder of the tables, or one above it"),
        ("s3://bucket", "is the folder of the tables, or one above it"),
        ("s3://bucket/lake/silver/state", "is among the tables"),
        ("s3://bucket/lake/_restore", "is where a restore has tables for a while"),
        ("abfss://box@one.dfs.core.windows.net/state", "is in another kind of store"),
        ("s3://bucket/lake/a b", "cannot use characters"),
        ("/", None),
        ("s3://bucket/lake/_state", None),
        ("s3://bucket/lakes", None),
        ("s3://other/state", None),
    ],
)
def test_a_state_in_a_bucket_lies_beside_the_tables_of_a_lake_in_one(monkeypatch, state, fact):
    monkeypatch.setenv("LAKE_ASSETS_LAKE", "s3://bucket/lake")
    monkeypatch.setenv("LAKE_ASSETS_STATE", state)
    if fact is None:
        found = load_settings()
        assert found.state_root == (LakeUri.parse(state) if "://" in state else None)
        monkeypatch.setenv("LAKE_ASSETS_STATE", child_environment(found)["LAKE_ASSETS_STATE"])
        assert load_settings() == found
        return
    with pytest.raises(SettingsError, match=fact) as raised:
        load_settings()
    assert raised.value.thing == "LAKE_ASSETS_STATE"


@pytest.mark.parametrize(
    ("state", "fact"),
    [
        ("{lake}", "is the folder of the tables"),
        ("{lake}/..", "is the folder of the tables, or one above it"),
        ("{lake}/silver", "is among the tables"),
        ("{lake}/bronze/bronze_games/state", "is among the tables"),
        ("s3://bucket/state", "keeps its state on a disk"),
        ("ftp://host/state", "only folders of this machine, s3://, gs:// and abfss:// are"),
    ],
)
def test_a_state_folder_that_cannot_be_is_refused(monkeypatch, tmp_path, state, fact):
    monkeypatch.setenv("LAKE_ASSETS_STATE", state.format(lake=tmp_path / "lake"))
    with pytest.raises(SettingsError, match=fact) as raised:
        load_settings(lake=tmp_path / "lake")
    assert raised.value.thing == "LAKE_ASSETS_STATE"


def test_a_link_to_a_folder_that_delta_cannot_use_is_refused_as_the_folder_is(tmp_path):
    (tmp_path / "a[b").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a[b")
    with pytest.raises(SettingsError, match=r"a\[b/lake.*cannot use a path with '\['"):
        load_settings(lake=tmp_path / "link" / "lake")


@pytest.mark.parametrize(
    ("given", "fact"), [("", "is not set"), ("top\n", "line's end"), ("a\x1bb", "not printable")]
)
def test_a_secret_that_is_none_is_told_and_not_repeated(monkeypatch, given, fact):
    monkeypatch.setenv("SHOP_PASSWORD", given)
    with pytest.raises(SettingsError, match="SHOP_PASSWORD") as refused:
        secret_of("SHOP_PASSWORD")
    assert fact in str(refused.value)
    assert "top" not in str(refused.value)


def test_a_password_of_a_database_may_have_any_printable_character(monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "schlüssel ☃")
    assert secret_of("SHOP_PASSWORD").get_secret_value() == "schlüssel ☃"


@pytest.mark.parametrize("given", ["s3://bucket/some/lake", "s3a://bucket/some/lake/"])
def test_a_lake_may_be_in_s3(monkeypatch, given):
    monkeypatch.setenv("LAKE_ASSETS_LAKE", given)
    monkeypatch.setenv("LAKE_ASSETS_STORAGE_OPTIONS", '{"aws_secret_access_key": "hush-hush"}')
    found = load_settings(home=Path("/home/me"))
    assert str(found.lake_root) == "s3://bucket/some/lake"
    assert found.storage.secrets == {"aws_secret_access_key": "hush-hush"}
    assert (found.state_dir, found.disk_dir) == (Path("/home/me/state"), Path("/home/me/state"))
    assert "hush" not in repr(found)
    with pytest.raises(LakeError, match="is in a bucket, and a folder of this machine is needed"):
        _ = found.lake_dir
    for name, value in child_environment(found, base={"PATH": ""}).items():
        monkeypatch.setenv(name, value)
    assert load_settings() == found


@pytest.mark.parametrize("path", ["some lake", "100%", "l\u00e4ke"])
def test_a_path_in_s3_that_deltalake_encodes_is_refused(monkeypatch, path):
    monkeypatch.setenv("LAKE_ASSETS_LAKE", f"s3://bucket/{path}")
    with pytest.raises(SettingsError, match="characters that addresses encode"):
        load_settings()


@pytest.mark.parametrize(
    "address", ["abfss://box@acc.dfs.core.windows.net/lake", "gs://a-bucket_of.mine/lake"]
)
def test_a_bucket_of_another_store_than_s3_is_taken(monkeypatch, address):
    monkeypatch.setenv("LAKE_ASSETS_LAKE", address)
    assert str(load_settings().lake_root) == address


@pytest.mark.parametrize("given", ["hdfs://host/lake", "s3://bucket/../x"])
def test_another_store_is_refused_for_a_lake(monkeypatch, given):
    monkeypatch.setenv("LAKE_ASSETS_LAKE", given)
    taken = "only folders of this machine, s3://, gs:// and abfss:// are"
    with pytest.raises(SettingsError, match=taken):
        load_settings()


def test_all_that_is_wrong_is_told_at_once_with_the_values(monkeypatch):
    wrong = {
        "STREAM_TRIGGER_S": "soon",
        "FANOUT_COMMIT_THREADS": "1.5",
        "METRICS_SERVE": "perhaps",
        "LOG_FORMAT": "xml",
        "STREAM_MAX_BYTES_PER_BATCH": "lots",
        "SPARK_DRIVER_MEMORY": "64m",
        "KAFKA_OPTIONS": '{"a": 1}',
        "STORAGE_OPTIONS": "{'a': 'b'}",
        "ERASURE_KEY": "hush",
        "LAKE": "hdfs://host/lake",
    }
    for name, value in wrong.items():
        monkeypatch.setenv(f"LAKE_ASSETS_{name}", value)
    with pytest.raises(SettingsError) as raised:
        load_settings()
    told = str(raised.value)
    lines = {line.split(": ")[0].removeprefix("LAKE_ASSETS_"): line for line in told.splitlines()}
    assert {*lines} == {*wrong} - {"LAKE"}  # a place is looked at once the rest is right
    assert "is no number, and is 'soon'" in lines["STREAM_TRIGGER_S"]
    assert "is no whole number, and is '1.5'" in lines["FANOUT_COMMIT_THREADS"]
    assert "is neither true nor false, and is 'perhaps'" in lines["METRICS_SERVE"]
    assert "must be 'text' or 'json', and is 'xml'" in lines["LOG_FORMAT"]
    assert "is no size, and is 'lots'. Write 64m or 1g" in lines["STREAM_MAX_BYTES_PER_BATCH"]
    assert "is too little: Spark starts with 450m or more" in lines["SPARK_DRIVER_MEMORY"]
    assert "is JSON, and not an object of texts" in lines["KAFKA_OPTIONS"]
    assert "is no JSON, and an object is needed" in lines["STORAGE_OPTIONS"]
    assert "hush" not in told


@pytest.mark.parametrize(
    "name", ["HOME", "LAKE", "KAFKA_OPTIONS", "STREAM_TRIGGER_S", "MASKING_KEY", "REGISTRY_URL"]
)
def test_an_empty_variable_is_as_one_that_is_not_set(monkeypatch, name):
    """Files of containers write `${NAME:-}`."""
    monkeypatch.delenv(f"LAKE_ASSETS_{name}", raising=False)
    before = load_settings()
    monkeypatch.setenv(f"LAKE_ASSETS_{name}", "")
    assert load_settings() == before


def test_an_unknown_variable_has_no_effect_and_is_told_with_the_nearest(monkeypatch):
    before = load_settings()
    monkeypatch.setenv("LAKE_ASSETS_STREAM_TRIGER_S", "5")
    monkeypatch.setenv("LAKE_ASSETS_ZZZZ", "5")
    assert load_settings() == before
    first, second = unknown_variables()
    assert str(first) == (
        "LAKE_ASSETS_STREAM_TRIGER_S: is no setting of this release, and has no effect. "
        "Did you mean LAKE_ASSETS_STREAM_TRIGGER_S?"
    )
    assert second.next_step == "`lake-assets config show` lists all"


def test_a_variable_that_says_where_its_value_is_is_known(monkeypatch, tmp_path):
    file = tmp_path / "key"
    file.write_text("hush-hush-hush-hush\n")
    monkeypatch.setenv("LAKE_ASSETS_MASKING_KEY_FILE", str(file))
    assert unknown_variables() == []
    assert origins()["LAKE_ASSETS_MASKING_KEY"] == "LAKE_ASSETS_MASKING_KEY_FILE"


def test_lists_have_commas_in_the_environment(monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_DAGSTER_KEY_PREFIX", "prod, eu")
    monkeypatch.setenv("LAKE_ASSETS_DAGSTER_OWNERS", "team:data,a@example.com")
    found = load_settings(home=Path("/home/me"))
    assert found.dagster.key_prefix == ["prod", "eu"]
    assert found.dagster.owners == ["team:data", "a@example.com"]
    for name, value in child_environment(found, base={"PATH": ""}).items():
        monkeypatch.setenv(name, value)
    assert load_settings() == found


def test_nobody_need_own_assets(monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_DAGSTER_OWNERS", "")
    found = load_settings(home=Path("/home/me"))
    assert found.dagster.owners == []
    for name, value in child_environment(found, base={"PATH": ""}).items():
        monkeypatch.setenv(name, value)
    assert load_settings() == found


def test_a_prefix_that_is_no_name_is_refused(monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_DAGSTER_KEY_PREFIX", "prod,e/u")
    with pytest.raises(SettingsError, match="DAGSTER_KEY_PREFIX: has 'e/u', and takes letters"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("HOME", "  ", "LAKE_ASSETS_HOME: is nothing but blanks"),
        ("MASKING_KEY", " " * 20, "LAKE_ASSETS_MASKING_KEY: is nothing but blanks"),
        ("STREAM_TRIGGER_S", "inf", "LAKE_ASSETS_STREAM_TRIGGER_S: is no number that ends"),
        ("BACKUP_TARGET", "s3://me:hush@bucket/b", "BACKUP_TARGET: has an @ before its path"),
        ("LAKE", "s3://me:hush@bucket/lake", "LAKE_ASSETS_LAKE: has an @ before its path"),
    ],
)
def test_blanks_endless_numbers_and_logins_in_addresses_are_refused(monkeypatch, name, value, told):
    monkeypatch.setenv(f"LAKE_ASSETS_{name}", value)
    with pytest.raises(SettingsError, match=told) as caught:
        load_settings()
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "group", ["MAINTENANCE_SCHEDULE", "BACKUP_SCHEDULE", "ERASURE_SCHEDULE", "CATALOG_SCHEDULE"]
)
def test_a_schedule_that_is_no_cron_expression_is_refused(monkeypatch, group):
    monkeypatch.setenv(f"LAKE_ASSETS_{group}", "61 * * * *")
    with pytest.raises(SettingsError, match=f"{group}: '61 .*' is no cron expression"):
        load_settings()


def test_what_follows_from_a_secret_that_cannot_be_had_is_not_told_besides(monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_REGISTRY_USER", "me")
    monkeypatch.setenv("LAKE_ASSETS_REGISTRY_PASSWORD_FILE", "/no/such/file")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    (line,) = str(caught.value).splitlines()
    assert line.startswith("LAKE_ASSETS_REGISTRY_PASSWORD_FILE: names a file that cannot be read")


def test_unknown_variables_are_told_beside_wrong_ones_where_that_is_asked(monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_STREAM_TRIGGER_S", "-1")
    monkeypatch.setenv("LAKE_ASSETS_STREAM_TRIGER_S", "1")
    with pytest.raises(SettingsError) as caught:
        load_settings(with_unknown=True)
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        "LAKE_ASSETS_STREAM_TRIGGER_S",
        "LAKE_ASSETS_STREAM_TRIGER_S",
    ]
