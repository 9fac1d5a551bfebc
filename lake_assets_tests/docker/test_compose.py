"""compose.yaml as far as no engine is needed to tell: its schema, and that its parts fit."""

import json
import re
import stat
import subprocess
import zipfile
from importlib.resources import files
from pathlib import Path

import jsonschema
import pyspark
import pytest
import yaml
from dagster._cli import create_dagster_cli
from dagster._daemon.cli import create_dagster_daemon_cli
from dagster_webserver.cli import dagster_webserver

from lake_assets.cli.lazy_commands import load
from lake_assets.settings.load import load_settings
from lake_assets_tests.docker.described import (
    COMPOSE,
    DOCKER,
    OURS,
    SERVICES,
    is_program,
    known_variables,
    strings,
)

SCHEMA = json.loads(
    (files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json").read_text()
)
LASTING = sorted({*SERVICES} - {"bucket"})


def test_it_is_of_the_compose_specification():
    jsonschema.validate(COMPOSE, SCHEMA)


def test_the_schema_finds_a_misspelled_key():
    wrong = {**COMPOSE, "services": {**SERVICES, "s3": {**SERVICES["s3"], "comand": []}}}
    with pytest.raises(jsonschema.ValidationError, match="comand"):
        jsonschema.validate(wrong, SCHEMA)


def test_dagsters_processes_are_apart():
    starts = {name: OURS[name]["command"] for name in ("code", "daemon", "webserver")}
    assert starts["code"][:4] == ["code-server.sh", "dagster", "api", "grpc"]
    assert starts["daemon"][:2] == ["dagster-daemon", "run"]
    assert starts["webserver"][0] == "dagster-webserver"
    assert "dev" not in strings(COMPOSE)


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_can_do_no_more_than_it_needs(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert {"mem_limit", "cpus", "pids_limit"} <= {*service}
    assert not {"privileged", "cap_add", "network_mode", "pid"} & {*service}


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_is_ours_or_has_an_exact_tag(name):
    image = SERVICES[name]["image"]
    assert image == "lake-assets" or re.fullmatch(r"[\w./-]+:v?\d+\.\d+[\w.-]*", image)


@pytest.mark.parametrize("name", [name for name in LASTING if name != "producer"])
def test_a_service_says_how_it_is(name):
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


def test_each_waits_until_those_it_needs_are_well():
    for name, service in SERVICES.items():
        for other, how in service.get("depends_on", {}).items():
            wanted = "service_healthy" if other in LASTING else "service_completed_successfully"
            assert how["condition"] == wanted, name
            assert "profiles" not in SERVICES[other]


def test_ports_are_of_this_machine_alone():
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_volumes_and_secrets_are_declared_and_used():
    volumes = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
    }
    assert {v for v in volumes if not v.startswith("./")} == {*COMPOSE["volumes"]}
    assert all((DOCKER / v).exists() for v in volumes if v.startswith("./"))
    used = [secret for service in SERVICES.values() for secret in service.get("secrets", [])]
    assert {*used} == {*COMPOSE["secrets"]}


def test_a_secret_is_read_by_those_alone_who_have_it():
    for name, service in SERVICES.items():
        named = re.findall(r"/run/secrets/(\w+)", " ".join(strings(service)))
        assert {*named} <= {*service.get("secrets", [])}, name


@pytest.mark.parametrize("name", OURS)
def test_what_it_sets_is_read_by_somebody(name):
    assert {*OURS[name].get("environment", {})} <= known_variables()


def test_the_settings_of_the_lake_are_valid(monkeypatch, tmp_path):
    secret = tmp_path / "options"
    secret.write_text('{"aws_access_key_id": "id", "aws_secret_access_key": "key"}')
    for variable, value in OURS["code"]["environment"].items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("LAKE_ASSETS_STORAGE_OPTIONS_FILE", str(secret))
    settings = load_settings()
    assert str(settings.lake_root) == "s3://lake/lake"
    assert str(settings.state_dir) == "/data/state"
    assert settings.storage.secrets["aws_access_key_id"] == "id"
    conf = {name: value.get_secret_value() for name, value in settings.spark.conf.items()}
    assert conf["spark.driver.host"] in SERVICES
    assert settings.spark.master.removeprefix("spark://").split(":")[0] in SERVICES


def test_a_refresh_finds_cores_beside_the_streams():
    conf = json.loads(OURS["code"]["environment"]["LAKE_ASSETS_SPARK_CONF"])
    workers = [service["command"] for name, service in OURS.items() if "worker" in name]
    cores = sum(int(command[command.index("--cores") + 1]) for command in workers)
    assert 2 * int(conf["spark.cores.max"]) <= cores


PROGRAMS = {
    "dagster": create_dagster_cli,
    "dagster-daemon": create_dagster_daemon_cli,
    "dagster-webserver": lambda: dagster_webserver,
}


def dagsters():
    """Commands that containers run, and that ask how they are."""
    for service in OURS.values():
        command = service["command"]
        yield command[1:] if command[0] == "code-server.sh" else command
        yield service.get("healthcheck", {}).get("test", ["CMD", ""])[1:]


@pytest.mark.parametrize(
    "words", [words for words in dagsters() if words[0] in PROGRAMS], ids=" ".join
)
def test_each_command_of_dagsters_is_one(words):
    command, words = PROGRAMS[words[0]](), words[1:]
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    options = {name for option in command.params for name in option.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_each_class_of_sparks_is_in_its_jars():
    executor = re.findall(r"org\.apache\.spark\.[\w.]+", (DOCKER / "spark-executor.sh").read_text())
    named = [
        *executor,
        *(word for word in strings(SERVICES) if word.startswith("org.apache.spark")),
    ]
    assert len({*named}) == 3
    jars = (Path(pyspark.__file__).parent / "jars").glob("spark-*.jar")
    there = {name for jar in jars for name in zipfile.ZipFile(jar).namelist()}
    assert {f"{name.replace('.', '/')}.class" for name in named} <= there


def test_each_command_of_ours_is_one():
    commands = [s["command"] for s in OURS.values() if s["command"][0] == "lake-assets"]
    assert commands
    for _, name, *words in commands:
        options = {each for option in load(name).params for each in option.opts}
        assert {word for word in words if word.startswith("--")} <= options


def test_the_instance_is_the_repositorys_with_another_storage():
    ours = yaml.safe_load((DOCKER.parent / "dagster.yaml").read_text())
    theirs = yaml.safe_load((DOCKER / "dagster.yaml").read_text())
    assert {name: theirs[name] for name in ours} == ours
    assert {*theirs} - {*ours} == {
        "storage",
        "run_launcher",
        "local_artifact_storage",
        "compute_logs",
    }


def test_the_workspace_names_the_code_server():
    (server,) = yaml.safe_load((DOCKER / "workspace.yaml").read_text())["load_from"]
    place = server["grpc_server"]
    command = OURS[place["host"]]["command"]
    assert command[command.index("--port") + 1] == str(place["port"])
    assert command[command.index("--location-name") + 1] == place["location_name"]


def test_secrets_are_made_once_and_fit(tmp_path):
    script = tmp_path / "make-secrets.sh"
    script.write_bytes((DOCKER / "make-secrets.sh").read_bytes())
    subprocess.run(["/bin/sh", script], check=True)  # noqa: S603 - our own
    made = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    subprocess.run(["/bin/sh", script], check=True)  # noqa: S603 - our own
    assert {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()} == made
    assert {f"./secrets/{n}" for n in made} == {s["file"] for s in COMPOSE["secrets"].values()}
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    for path in (tmp_path / "secrets").iterdir():  # what a full disk leaves
        path.write_text("")
    subprocess.run(["/bin/sh", script], check=True)  # noqa: S603 - our own
    made = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    (identity,) = json.loads(made["s3_identities.json"])["identities"]
    options = json.loads(made["storage_options.json"])
    (keys,) = identity["credentials"]
    assert keys["accessKey"] == options["aws_access_key_id"]
    assert keys["secretKey"] == options["aws_secret_access_key"]
    assert len(made["postgres_password"]) == 48
    assert "docker/secrets" in (DOCKER.parent / ".gitignore").read_text()


@pytest.mark.parametrize("name", sorted(path.name for path in DOCKER.glob("*.sh")))
def test_a_script_is_one(name):
    script = DOCKER / name
    shell = script.read_text().partition("\n")[0].removeprefix("#!")
    assert is_program(script)
    subprocess.run([shell, "-n", script], check=True)  # noqa: S603 - our own


def test_the_entrypoint_refuses_a_file_without_a_password(tmp_path):
    (tmp_path / "password").write_text("\r\n")
    done = subprocess.run(  # noqa: S603 - our own
        ["/bin/sh", DOCKER / "entrypoint.sh", "true"],
        env={"DAGSTER_POSTGRES_PASSWORD_FILE": str(tmp_path / "password")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"{tmp_path}/password is empty" in done.stderr


def test_the_entrypoint_takes_the_password_from_its_file(tmp_path):
    (tmp_path / "secret").write_text("a $b 'c'\r\n", newline="")
    asked = ["/bin/sh", DOCKER / "entrypoint.sh", "printenv", "DAGSTER_POSTGRES_PASSWORD"]
    environment = {
        "DAGSTER_POSTGRES_PASSWORD_FILE": str(tmp_path / "secret"),
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(asked, env=environment, check=True, capture_output=True, text=True)  # noqa: S603 - our own
    assert done.stdout == "a $b 'c'\n"
