"""What tests of runbooks do where a page's reader would wait for something, or look at a table."""

import json
import os
import re
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewPartitions
from deltalake import DeltaTable

from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.kafka.topics import client_config
from lake_assets_tests.databases import Database
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.e2e.runbook import Reader
from lake_assets_tests.events import Topic
from lake_assets_tests.services.secured import PASSWORD, Listener, Secured

FIRST, SECOND = "the first one", "the second one"
"""Passwords of the database's user."""

_FIELDS = ("game", "player", "coins")


def _values(events: tuple[str, ...]) -> list[bytes]:
    made = [dict(zip(_FIELDS, event.split(":"), strict=True)) for event in events]
    values = [{**one, "coins": int(one["coins"]), "at": "2026-11-20T10:00:00Z"} for one in made]
    return [json.dumps(value).encode() for value in values]


def send(reader: Reader, *events: str) -> None:
    """Send events to the page's topic, each as `game:player:coins`."""
    reader.topic.produce(*_values(events))


def rows(reader: Reader, table: str, count: str) -> None:
    """A table has so many rows; `none` is that there is no such table."""
    folder = reader.now().lake_dir / table
    there = DeltaTable.is_deltatable(os.fspath(folder))
    found = DeltaTable(folder).to_pyarrow_table().num_rows if there else "none"
    assert str(found) == count, f"{table} has {found} rows\n{reader.said}"


def refused(reader: Reader) -> None:
    """The next command fails, as the page says."""
    reader.is_refused = True


def said_nothing_of(reader: Reader, word: str) -> None:
    """The last block's commands did not say this."""
    assert word not in reader.said, reader.said


def stream(reader: Reader) -> None:
    """Catch up, where the page is about something else."""
    reader.run("lake-assets stream --until-caught-up")


def partitions(reader: Reader, count: str) -> None:
    """The topic gets more partitions."""
    admin = AdminClient(client_config(reader.topic.endpoints))
    (answer,) = admin.create_partitions([NewPartitions(reader.topic.name, int(count))]).values()
    answer.result()
    there = admin.list_topics(reader.topic.name, timeout=30).topics[reader.topic.name]
    wait_for(lambda: len(there.partitions) >= 1, "the partitions", within_s=120)


def another_topic(reader: Reader, name: str, *events: str) -> None:
    """There is another topic, with events, under a name that begins as the page's topic."""
    topic = Topic(reader.topic.endpoints, name.replace("plays", reader.topic.name))
    topic.create()
    topic.produce(*_values(events))


def delete_rows_before(reader: Reader, offset: str) -> None:
    """Kafka deletes rows, as retention does."""
    reader.topic.delete_rows(0, before=int(offset))


def _user_of(secured: Secured, name: str) -> dict[str, str]:
    """Make a user of the broker that asks for passwords; its options."""
    admin = AdminClient({"bootstrap.servers": secured.plain})
    scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    wanted = [UserScramCredentialUpsertion(name, scram, PASSWORD.encode())]
    for answer in admin.alter_user_scram_credentials(wanted).values():
        answer.result(30)
    return secured.options(Listener.SCRAM, user=name)


def _grant(secured: Secured, user: str, kind: str, name: str, operation: str) -> None:
    admin = AdminClient({"bootstrap.servers": secured.plain})
    binding = AclBinding(
        ResourceType[kind],
        name,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation[operation],
        AclPermissionType.ALLOW,
    )
    for answer in admin.create_acls([binding]).values():
        answer.result(30)


def _secure(reader: Reader, *events: str) -> Secured:
    """Have the page's topic be on the broker that asks for passwords, with events."""
    secured: Secured = reader.fixture("secured")
    plain = Endpoints(kafka=secured.plain, registry="")
    topic = Topic(plain, reader.topic.name)
    topic.create()
    topic.produce(*_values(events))
    reader.exports["LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS"] = secured.address(Listener.SCRAM)
    return secured


def connect_as(reader: Reader, user: str, *events: str) -> None:
    """Use a broker that asks for passwords, as a user without any right."""
    secured = _secure(reader, *events)
    reader.exports["LAKE_ASSETS_KAFKA_OPTIONS"] = json.dumps(_user_of(secured, user))


def grant_what_the_page_says(reader: Reader) -> None:
    """Create the ACLs of the page's `kafka-acls` lines, and no others."""
    secured: Secured = reader.fixture("secured")
    lines = re.findall(
        r"^kafka-acls --add --allow-principal User:(\w+) --operation (\w+) --(\w+) (\S+)$",
        reader.page,
        re.MULTILINE,
    )
    assert len(lines) == reader.page.count("kafka-acls --add")
    for user, operation, kind, name in lines:
        which = re.sub("(?<!C)(?<!^)(?=[A-Z])", "_", operation).upper()
        _grant(secured, user, kind.upper(), name, which)


def kafka_options(reader: Reader, path: str, user: str, *events: str) -> None:
    """A file with the options of a user who may read; the first one comes with the broker."""
    secured = _secure(reader, *events) if events else reader.fixture("secured")
    options = _user_of(secured, user)
    _grant(secured, user, "TOPIC", reader.topic.name, "READ")
    _grant(secured, user, "GROUP", "lake_assets-plays", "READ")
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(json.dumps(options))


def send_to_secured(reader: Reader, *events: str) -> None:
    """Send more events to the page's topic on the broker that asks for passwords."""
    plain = Endpoints(kafka=reader.fixture("secured").plain, registry="")
    Topic(plain, reader.topic.name).produce(*_values(events))


def database_in(reader: Reader, feed: str, user: str, path: str) -> None:
    """A database with the table of the sink in this feed; its user's password is in a new file."""
    database: Database = reader.fixture("database")
    Path(path).write_text(FIRST)
    database.ask(f"create role {user} login password '{FIRST}'")
    database.ask("create table standings (player text, coins int)")
    database.ask(f"grant select, insert on standings to {user}")
    database.require_password(user)
    declared = reader.folder / feed
    shown = "postgresql+psycopg://db.example.com/games"
    assert shown in declared.read_text()
    declared.write_text(declared.read_text().replace(shown, database.url))


def another_password(reader: Reader, user: str, path: str) -> None:
    """The user gets another password, which is in a new file."""
    reader.fixture("database").ask(f"alter role {user} password '{SECOND}'")
    Path(path).write_text(SECOND)


def rows_of_standings(reader: Reader, count: str) -> None:
    """The table of the sink has so many rows."""
    found = reader.fixture("database").ask("select player from standings")
    assert len(found) == int(count), f"{found}\n{reader.said}"


STEPS = {
    step.__name__: step
    for step in (
        send,
        rows,
        refused,
        said_nothing_of,
        stream,
        partitions,
        another_topic,
        delete_rows_before,
        connect_as,
        grant_what_the_page_says,
        kafka_options,
        send_to_secured,
        database_in,
        another_password,
        rows_of_standings,
    )
}
