"""Entries whose content clashes with others' commits: rewritten rightly or refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.delta_tables import (
    FOUR,
    Bench,
    add,
    alter,
    entry,
    insert,
    live_files,
    metadata,
    optimize,
    refused,
    remove,
    update,
    written_by_delta,
)
from trinitylake_spark.delta.entry import Entry, encode_entry
from trinitylake_spark.delta.table import read_table


def test_alter_follows_data_and_data_follows_harmless_alters() -> None:
    """ALTER over INSERT always; INSERT over ALTER of properties that writers need not know."""
    bench = Bench("alter-data")
    base = bench.commit(bench.create({"k": "1"}), insert(*FOUR))
    altering = alter(base, {"k": "2", "delta.logRetentionDuration": "interval 1 day"})

    definition, _ = bench.rebase(base, [altering], [insert(add("t"))])
    assert definition.properties["k"] == "2"
    definition, _ = bench.rebase(base, [insert(add("m"))], [altering])
    assert definition.properties["k"] == "2"
    assert len(live_files(bench.entries(definition))) == 5


@pytest.mark.parametrize(
    "properties",
    [
        {"delta.appendOnly": "true"},
        {"delta.constraints.c": "a > 0"},
        {"delta.enableRowTracking": "true"},
        {"delta.columnMapping.mode": "name"},
    ],
)
def test_properties_that_writers_obey_are_no_surprise(properties: dict[str, str]) -> None:
    """Data written without knowing of them is refused, with the property's name."""
    bench = Bench(f"obey-{min(properties)}")
    base = bench.commit(bench.create(), insert(*FOUR))

    rule = refused(bench, base, [insert(add("m"))], [alter(base, properties)])
    assert min(properties) in rule


def test_change_feed_switched_on_meanwhile() -> None:
    """Added rows need no change files; changed rows do."""
    bench = Bench("cdf")
    base = bench.commit(bench.create(), insert(*FOUR))
    altering = alter(base, {"delta.enableChangeDataFeed": "true"})

    bench.rebase(base, [insert(add("m"))], [altering])
    refused(bench, base, [update(add("m"), remove("f1"))], [altering])


def test_alters_of_different_properties_are_merged() -> None:
    """Both changes are in force afterwards, also over several ALTERs of one transaction."""
    bench = Bench("merge")
    base = bench.create({"a": "1", "b": "1", "c": "1"})
    setting = alter(base, {"a": "2"})
    kept = {"a": "2", "c": "1"}
    unsetting = entry("UNSET TBLPROPERTIES", metadata(base, configuration=kept))
    their_setting = alter(base, {"c": "3"})
    theirs = bench.commit(base, their_setting)
    commenting = entry("SET TBLPROPERTIES", metadata(theirs, description="theirs"))
    definition, _ = bench.rebase(base, [setting, unsetting], [their_setting, commenting])

    assert dict(definition.properties) == {"a": "2", "c": "3"}
    assert read_table(definition).metadata["description"] == "theirs"


@pytest.mark.parametrize("mine", ["same-key", "columns"])
def test_alters_that_meet_arerefused(mine: str) -> None:
    """The same property, or columns on either side."""
    bench = Bench(f"meet-{mine}")
    base = bench.create({"a": "1"})
    log_entry = (
        alter(base, {"a": "2"})
        if mine == "same-key"
        else entry("ADD COLUMNS", ("metaData", written_by_delta("p", 12).metadata))
    )

    assert "both changed" in refused(bench, base, [log_entry], [alter(base, {"a": "3"})])


def test_columns_changed_meanwhile() -> None:
    """INSERT over ADD COLUMNS is refused, not the other way round; comments do not count."""
    bench = Bench("columns")
    base = bench.commit(bench.create(), insert(*FOUR))
    added = entry("ADD COLUMNS", ("metaData", written_by_delta("p", 12).metadata))

    assert "columns" in refused(bench, base, [insert(add("m"))], [added])
    bench.rebase(base, [added], [insert(add("t"))])

    schema = json.loads(read_table(base).schema_json)
    schema["fields"][0]["metadata"]["comment"] = "about a"
    commented = entry("CHANGE COLUMN", metadata(base, schemaString=json.dumps(schema)))
    bench.rebase(base, [insert(add("m"))], [commented])


def test_constraint_must_have_seen_all_rows() -> None:
    """ADD CONSTRAINT checked the rows of its version: rows added meanwhile refuse it."""
    bench = Bench("constraint")
    base = bench.commit(bench.create(), insert(*FOUR))
    mine = alter(base, {"delta.constraints.pos": "a > 0"})

    assert "pos" in refused(bench, base, [mine], [insert(add("t"))])
    bench.rebase(base, [mine], [optimize(add("c"), remove("f1"), remove("f2"))])
    bench.rebase(base, [mine], [update(remove("f1"), operation="DELETE")])


def test_replace_table_drops_what_came_meanwhile() -> None:
    """CREATE OR REPLACE is an overwrite that also sets metadata; constraints of its own hold."""
    bench = Bench("replace")
    base = bench.commit(bench.create(), insert(*FOUR))
    replaced = metadata(base, configuration={"delta.constraints.c": "a > 0"}, id="new")
    removals = tuple(remove(f"f{i}") for i in range(1, 5))
    mine = entry("CREATE OR REPLACE TABLE AS SELECT", replaced, add("m"), *removals)
    definition, _ = bench.rebase(base, [mine], [insert(add("t"))])

    assert live_files(bench.entries(definition)) == {"m"}
    assert "metadata" in refused(bench, base, [mine], [alter(base, {"k": "v"})])


@pytest.mark.parametrize("operation", ["CREATE OR REPLACE TABLE", "REPLACE TABLE AS SELECT"])
def test_replacing_an_empty_table_is_an_overwrite(operation: str) -> None:
    """Its entry names no file, and yet no row of the old table may come into the new one."""
    bench = Bench(f"replace_empty_{operation[0]}")
    base = bench.commit(bench.create())
    mine = entry(operation, metadata(base, id="new"))
    definition, _ = bench.rebase(base, [mine], [insert(add("t"))])

    assert live_files(bench.entries(definition)) == set()
    assert "cannot follow" in refused(bench, base, [insert(add("t"))], [mine])


def test_protocols() -> None:
    """Safe upgrades pass either way; unsafe ones, downgrades and two at once are refused."""
    bench = Bench("protocol")
    base = bench.commit(bench.create(), insert(*FOUR))

    def upgrade(*features: str) -> Entry:
        protocol = {
            "minReaderVersion": 1,
            "minWriterVersion": 7,
            "writerFeatures": ["appendOnly", "invariants", *features],
        }
        return entry("UPGRADE PROTOCOL", ("protocol", protocol))

    safe, unsafe = upgrade("checkConstraints"), upgrade("rowTracking")
    data = insert(add("x"))
    bench.rebase(base, [data], [safe])
    bench.rebase(base, [safe], [data])
    assert "rowTracking" in refused(bench, base, [data], [unsafe])
    assert "rowTracking" in refused(bench, base, [unsafe], [data])
    assert "both" in refused(bench, base, [safe], [upgrade()])
    bench.rebase(base, [unsafe], [alter(base, {"k": "v"})])
    lower = entry("DROP FEATURE", ("protocol", {"minReaderVersion": 1, "minWriterVersion": 1}))
    assert "dropped" in refused(bench, base, [data], [lower])


def _tracked(bench: Bench) -> Any:
    first = written_by_delta("r", 0)
    written = bench.delta.stage_first(
        bench.context, bench.context.new_location(), encode_entry(first)
    )
    bench.write(written.change)
    return bench.commit(written.definition, written_by_delta("r", 1))


def test_row_ids_and_timestamps_are_given_out_anew() -> None:
    """Fresh row ids follow theirs, fresh files name their commit, stamps rise; files are moved."""
    bench = Bench("rows")
    base = _tracked(bench)
    theirs, mine = written_by_delta("r", 2), written_by_delta("r", 3)
    # Both were written on version 1: give mine the ids that it would have had there.
    mine = Entry(
        tuple(
            (k, {**b, "baseRowId": 2, "defaultRowCommitVersion": 2})
            if k == "add"
            else (k, {**b, "configuration": '{"rowIdHighWaterMark":2}'})
            if k == "domainMetadata"
            else (k, {**b, "inCommitTimestamp": theirs.in_commit_timestamp - 50})
            if k == "commitInfo"
            else (k, b)
            for k, b in mine.actions
        )
    )
    definition, changes = bench.rebase(base, [mine], [theirs])
    moved = bench.entries(definition)[-1]

    assert moved.adds[0]["baseRowId"] == 3
    assert moved.adds[0]["defaultRowCommitVersion"] == 3
    assert moved.row_id_high_water_mark == 3
    assert moved.in_commit_timestamp == theirs.in_commit_timestamp + 1
    assert moved.removes == mine.removes
    counters = read_table(definition).counters
    assert (counters.version, counters.row_ids) == (3, 3)
    # The entry as Delta wrote it stays for the view it was written through.
    assert sum("_staged_commits" in path for c in changes for path in c.files) == 2


def test_files_that_are_only_named_again_keep_their_row_ids() -> None:
    """A deletion vector on an old file names it again with its old row ids: they stay."""
    bench = Bench("rows-kept")
    base = _tracked(bench)
    old = written_by_delta("r", 1).adds[0]
    vector = {"storageType": "u", "pathOrInlineDv": "ab", "offset": 1, "sizeInBytes": 3}
    mine = update(
        ("remove", {k: v for k, v in old.items() if k != "stats"}),
        ("add", {**old, "deletionVector": vector}),
    ).replaced(
        [
            ("commitInfo", {**update().commit_info, "inCommitTimestamp": 9_999_999_999_999}),
            ("remove", {k: v for k, v in old.items() if k != "stats"}),
            ("add", {**old, "deletionVector": vector}),
        ]
    )
    definition, _ = bench.rebase(base, [mine], [written_by_delta("r", 2)])
    moved = bench.entries(definition)[-1]

    assert (old["baseRowId"], 1) == (
        moved.adds[0]["baseRowId"],
        moved.adds[0]["defaultRowCommitVersion"],
    )
    assert moved == mine


def test_timestamps_that_rise_anyway_stay() -> None:
    """If my stamp is above theirs already, nothing is rewritten for it."""
    bench = Bench("stamps")
    base = bench.create({"delta.enableInCommitTimestamps": "true"})
    theirs = entry("WRITE", add("t"), timestamp=100)
    mine = entry("WRITE", add("m"), timestamp=101)
    definition, _ = bench.rebase(base, [mine], [theirs])

    assert bench.entries(definition)[-1] == mine


def test_undo_has_a_timestamp_of_its_own() -> None:
    """All entries of a commit have rising stamps, an undo among them."""
    bench = Bench("undo-stamp")
    base = bench.create({"delta.enableInCommitTimestamps": "true"})
    base = bench.commit(base, entry("WRITE", *FOUR, timestamp=10))
    compaction = optimize(add("c"), remove("f1"), remove("f2"))
    info = {**compaction.commit_info, "inCommitTimestamp": 20}
    compaction = Entry((("commitInfo", info), *compaction.actions[1:]))
    mine = entry("UPDATE", add("m"), remove("f1"), timestamp=15)
    definition, _ = bench.rebase(base, [mine], [compaction])
    stamps = [e.in_commit_timestamp for e in bench.entries(definition)[1:]]

    assert stamps == sorted(set(stamps))


def test_identity_values_are_refused_by_name() -> None:
    """Two inserts that both gave out identity values overlap; an insert that gave none does not."""
    bench = Bench("identity")
    written = bench.delta.stage_first(
        bench.context, bench.context.new_location(), encode_entry(written_by_delta("i", 0))
    )
    bench.write(written.change)
    base, giving = written.definition, written_by_delta("i", 1)
    plain = insert(add("explicit"))

    assert "identity" in refused(bench, base, [giving], [giving])
    bench.rebase(base, [plain], [giving])
    bench.rebase(base, [giving], [plain])


@pytest.mark.parametrize(
    "changes",
    [
        {"configuration": {"delta.inCommitTimestampEnablementVersion": "1"}},
        {"configuration": {"delta.requireCheckpointProtectionBeforeVersion": "1"}},
        {
            "schemaString": json.dumps(
                {
                    "type": "struct",
                    "fields": [
                        {
                            "name": "a",
                            "type": "long",
                            "nullable": True,
                            "metadata": {"delta.typeChanges": [{"tableVersion": 1}]},
                        }
                    ],
                }
            )
        },
    ],
)
def test_entries_that_name_their_own_number_arerefused(changes: dict[str, Any]) -> None:
    """They would be wrong under another number, and say so."""
    bench = Bench(f"bound-{len(str(changes))}")
    base = bench.create()
    mine = entry("SET TBLPROPERTIES", metadata(base, **changes))

    assert "its own commit" in refused(bench, base, [mine], [insert(add("t"))])


def test_streaming_query_writes_once() -> None:
    """Two runs of one query: the second is refused, as its batch may be there already."""
    bench = Bench("stream")
    base = bench.create()

    def batch(app: str) -> Entry:
        return entry("STREAMING UPDATE", ("txn", {"appId": app, "version": 3}), add(f"f-{app}"))

    assert "query" in refused(bench, base, [batch("q")], [batch("q")])
    bench.rebase(base, [batch("q")], [batch("other")])


def test_domains_have_one_writer() -> None:
    """The same metadata domain twice is refused; row tracking's own is merged elsewhere."""
    bench = Bench("domain")
    base = bench.create()

    def setting(name: str) -> Entry:
        return entry("CLUSTER BY", ("domainMetadata", {"domain": name, "configuration": "{}"}))

    assert "delta.clustering" in refused(
        bench, base, [setting("delta.clustering")], [setting("delta.clustering")]
    )
    bench.rebase(base, [setting("delta.clustering")], [setting("other")])


def test_restore_and_unknown_operations_stand_alone() -> None:
    """RESTORE means one exact state; nothing is put on top of it or under it."""
    bench = Bench("restore")
    base = bench.commit(bench.create(), insert(*FOUR))
    restore = entry("RESTORE", remove("f4"))

    refused(bench, base, [restore], [insert(add("t"))])
    refused(bench, base, [insert(add("m"))], [restore])
