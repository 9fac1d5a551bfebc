import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.table_features import TableFacts, Use, decide, features_of
from lake_assets.errors import TableFeatureError

PLAIN = {"name": "n", "type": "integer", "nullable": True, "metadata": {}}
EVERYTHING, WRITES = set(Use), set(Use) - {Use.READ}


def facts(*writer, reader=(), columns=(PLAIN,), **properties):
    import json

    return TableFacts(
        name="/lake/silver/uno",
        reader=3 if reader else 1,
        writer=7,
        reader_features=frozenset(reader),
        writer_features=frozenset((*writer, *reader)),
        properties={key.replace("_", "."): value for key, value in properties.items()},
        columns=json.dumps({"type": "struct", "fields": list(columns)}, separators=(",", ":")),
    )


def column(**metadata):
    return {**PLAIN, "metadata": metadata}


def forbidden(found):
    return {use for refusal in found.refusals for use in refusal.uses}


def test_a_table_of_ours_is_plain(tmp_path, committer):
    from lake_assets_tests.sample import silver_of

    committer.create({silver_of("uno"): pa.schema([("a", pa.int64())])})
    found = features_of(DeltaTable(tmp_path / silver_of("uno").relative))
    assert found.is_plain
    assert found.name == str(tmp_path / silver_of("uno").relative)
    assert (found.refusals, found.constraints) == ((), {})


@pytest.mark.parametrize(
    "given",
    [
        facts("appendOnly", "invariants", "checkConstraints", "changeDataFeed"),
        facts(
            "clustering",
            "domainMetadata",
            "checkpointProtection",
            reader=["v2Checkpoint", "vacuumProtocolCheck", "timestampNtz", "deletionVectors"],
        ),
        facts("generatedColumns", "identityColumns", "allowColumnDefaults"),
        facts("inCommitTimestamp", reader=["columnMapping", "typeWidening"]),
        facts(delta_appendOnly="false"),
        facts("columnMapping", delta_columnMapping_mode="none"),
    ],
)
def test_a_feature_that_is_not_used_or_asks_nothing_forbids_nothing(given):
    found = decide(given)
    assert found.refusals == ()
    assert not found.is_plain


@pytest.mark.parametrize(
    ("given", "feature", "uses", "step"),
    [
        (
            facts("appendOnly", delta_appendOnly="true"),
            "appendOnly",
            {Use.REWRITE, Use.REPLACE},
            r"SET TBLPROPERTIES \('delta.appendOnly' = 'false'\)",
        ),
        (
            facts("columnMapping", delta_columnMapping_mode="name"),
            "columnMapping",
            EVERYTHING,
            "ALTER TABLE delta.`/lake/silver/uno` DROP FEATURE columnMapping",
        ),
        (
            facts(reader=["typeWidening"], columns=[column(**{"delta.typeChanges": []})]),
            "typeWidening",
            EVERYTHING,
            "DROP FEATURE typeWidening",
        ),
        (
            facts("generatedColumns", columns=[column(**{"delta.generationExpression": "1"})]),
            "generatedColumns",
            WRITES,
            "created again",
        ),
        (
            facts("identityColumns", columns=[column(**{"delta.identity.start": 1})]),
            "identityColumns",
            WRITES,
            "created again",
        ),
        (
            facts("allowColumnDefaults", columns=[column(CURRENT_DEFAULT="1")]),
            "allowColumnDefaults",
            WRITES,
            "DROP DEFAULT",
        ),
        (
            facts("inCommitTimestamp", delta_enableInCommitTimestamps="true"),
            "inCommitTimestamp",
            WRITES,
            "DROP FEATURE",
        ),
        (facts("rowTracking", "domainMetadata"), "rowTracking", WRITES, "DROP FEATURE"),
        (facts("icebergCompatV9"), "icebergCompatV9", WRITES, "DROP FEATURE"),
        (facts(reader=["catalogManaged"]), "catalogManaged", EVERYTHING, "DROP FEATURE"),
    ],
)
def test_what_is_refused_names_table_feature_and_next_step(given, feature, uses, step):
    found = decide(given)
    assert forbidden(found) == uses
    for use in uses:
        with pytest.raises(TableFeatureError, match=step) as raised:
            found.ensure(use)
        assert (raised.value.table, raised.value.feature) == ("/lake/silver/uno", feature)
        assert f"Delta feature {feature}, with which lake_assets cannot {use}" in str(raised.value)
    for use in EVERYTHING - uses:
        found.ensure(use)


@pytest.mark.parametrize(("reader", "writer"), [(4, 7), (3, 8)])
def test_a_protocol_of_the_future_is_refused_whole(reader, writer):
    found = decide(TableFacts(name="t", reader=reader, writer=writer, properties={}, columns="{}"))
    with pytest.raises(TableFeatureError, match="Upgrade lake_assets"):
        found.ensure(Use.READ)


def test_versions_of_before_table_features_have_what_they_stand_for():
    mapped = {"delta.columnMapping.mode": "name"}
    found = decide(TableFacts(name="t", reader=2, writer=5, properties=mapped, columns="{}"))
    assert forbidden(found) == EVERYTHING
    ignored = decide(TableFacts(name="t", reader=1, writer=2, properties=mapped, columns="{}"))
    assert forbidden(ignored) == set()


def test_constraints_are_checks_invariants_and_columns_that_are_never_null():
    import json

    inner = {**PLAIN, "name": "x", "nullable": False}
    struct = {**PLAIN, "name": "s", "type": {"type": "struct", "fields": [inner]}}
    invariant = json.dumps({"expression": {"expression": "n > 3"}})
    strict = {**column(**{"delta.invariants": invariant}), "nullable": False}
    given = facts("checkConstraints", columns=[strict, struct])
    checked = {"delta.constraints.pos": "n > 0"}
    found = decide(
        TableFacts(
            name="t",
            writer=7,
            writer_features=given.writer_features,
            properties=checked,
            columns=given.columns,
        )
    )
    assert found.constraints == {
        "pos": "n > 0",
        "NOT NULL of n": "`n` IS NOT NULL",
        "invariant of n": "n > 3",
        "NOT NULL of s.x": "`s` IS NULL OR `s`.`x` IS NOT NULL",
    }


def test_deletion_vectors_are_to_be_looked_for_where_the_protocol_has_them():
    assert decide(facts(reader=["deletionVectors"])).may_have_deletion_vectors
    assert not decide(facts("appendOnly")).may_have_deletion_vectors


@pytest.mark.parametrize(
    ("feature", "is_writable"), [("changeDataFeed", True), ("clustering", False)]
)
def test_it_is_known_where_deltalake_would_refuse(feature, is_writable):
    assert decide(facts(feature)).is_writable_by_deltalake == is_writable


def test_a_table_without_features_that_were_dropped_keeps_its_checkpoints():
    assert decide(facts("checkpointProtection")).keeps_checkpoints
