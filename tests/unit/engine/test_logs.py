"""The virtual log: what each kind of view lists, resolves and takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.bridge import (
    Log,
    appending,
    compacting,
    creation,
    overwriting,
    raises_kind,
    replacing,
)

if TYPE_CHECKING:
    from tests.support.bridge import Bridge, Catalog


def _stream(bridge: Bridge, log: Log) -> Log:
    return Log(bridge, log.answer["stream_path"], {})


def test_answer_of_a_load(catalog: Catalog) -> None:
    """What the catalog tells Spark without reading the log."""
    log = catalog.statement().load("t")

    assert log.answer["lake_version"] == 2
    assert log.answer["delta_version"] == 0
    assert '"name": "a"' in log.answer["schema_json"] or '"name":"a"' in log.answer["schema_json"]
    assert log.answer["physical"].startswith("file:///")
    assert log.path == (
        f"trinity://{log.view}/file/-/" + log.answer["physical"].removeprefix("file:///")
    )


def test_views_are_named_after_what_they_show(catalog: Catalog, other: Catalog) -> None:
    """Readers of one version share a view, so that Delta's cache is warm; writers never do."""
    one, two = catalog.statement().load("t"), other.statement().load("t")
    assert one.path == two.path
    assert one.view.startswith("r")
    writers = [catalog.statement().load("t", "write").view for _ in range(2)]
    assert len(set(writers)) == 2
    assert {v[0] for v in writers} == {"w"}
    live = [s.statement().load("t", "live").view for s in (catalog, catalog, other)]
    assert live[0] == live[1] != live[2]
    catalog.insert("t", "f3")
    assert catalog.statement().load("t").view != one.view
    assert one.files() == {"f1", "f2"}


def test_read_view_cannot_be_written(catalog: Catalog) -> None:
    """Writing to a fixed version is refused by name."""
    error = raises_kind("READ_ONLY", lambda: catalog.statement().load("t").commit(appending("x")))
    assert error.sql_state == "25006"


def test_listing_starts_where_delta_wants(catalog: Catalog) -> None:
    """Commits from a number on; beyond the end there is nothing, and that is no error."""
    catalog.insert("t", "f3")
    log = catalog.statement().load("t")

    assert list(log.commits(1)) == [1]
    assert log.list(2) == []
    assert log.list(0)[0][0] == "00000000000000000000.json"


def test_listed_sizes_are_true(catalog: Catalog) -> None:
    """Delta plans by the sizes that a listing says."""
    catalog.insert("t", "f3")
    log = catalog.statement().load("t")

    assert [(size, log.physical(name).stat().st_size) for name, size, _ in log.list()] == [
        (log.physical(name).stat().st_size,) * 2 for name, _, _ in log.list()
    ]


def test_canonical_names_resolve(catalog: Catalog) -> None:
    """Kernel and Delta open ``00…1.json``; the engine says which staged commit that is."""
    catalog.insert("t", "f3")
    log = catalog.statement().load("t")

    assert log.resolve("00000000000000000001.json") == log.commits()[1]
    assert log.resolve("00000000000000000000.json") == log.commits()[0]
    assert log.resolve("00000000000000000002.json") is None


def test_checksums_belong_to_a_chain(catalog: Catalog, other: Catalog) -> None:
    """The same number in two chains has two checksum files: a wrong one is never found."""
    mine = catalog.statement().load("t", "write")
    other.insert("t", "f3")
    mine.commit(appending("f4"))
    name = "00000000000000000001.crc"
    read = catalog.statement().load("t")

    places = {mine.resolve(name, write=True), read.resolve(name)}
    assert len(places) == 2
    assert mine.resolve("00000000000000000002.crc") != read.resolve("00000000000000000002.crc")


@pytest.mark.parametrize("through", ["w", "l"])
def test_checkpoint_is_used_by_everybody(
    catalog: Catalog, other: Catalog, stranger: Catalog, through: str
) -> None:
    """A checkpoint written after a commit shows in this process at once, in others by its note."""
    for number in range(9):
        catalog.insert("t", f"n{number}")
    if through == "w":
        log = catalog.statement().load("t", "write")
        log.commit(appending("n9"))
    else:
        catalog.insert("t", "n9")
        log = catalog.statement().load("t", "live")
    log.checkpoint()
    catalog.insert("t", "n10")
    catalog.insert("t", "n11")

    for session in (other, stranger):
        read = session.statement().load("t")
        names = [name for name, _, _ in read.list(10)]
        checkpoint = f"_checkpoints/{log.view}/00000000000000000010.checkpoint.parquet"
        assert checkpoint in names
        assert read.physical(checkpoint).read_bytes() == b"checkpoint"
        hint = read.resolve("_last_checkpoint")
        assert hint.read_text().startswith("{")
        assert set(read.commits()) == set(range(13))


def test_checkpoint_of_a_private_chain_stays_private(catalog: Catalog, other: Catalog) -> None:
    """A view whose commit was renumbered writes its checkpoint for itself alone."""
    for number in range(9):
        catalog.insert("t", f"n{number}")
    mine = catalog.statement().load("t", "write")
    other.insert("t", "theirs")
    mine.commit(appending("mine"))
    mine.checkpoint()
    catalog.insert("t", "more")

    read = catalog.statement().load("t")
    assert "checkpoint" not in "".join(name for name, _, _ in read.list())
    assert read.resolve("_last_checkpoint") is None


def test_no_checkpoint_no_hint(catalog: Catalog) -> None:
    """Delta is told that there is none, not sent to a missing file."""
    assert catalog.statement().load("t").resolve("_last_checkpoint") is None


def test_live_view_sends_delta_back(catalog: Catalog, other: Catalog) -> None:
    """The table moved since the last listing: the number is taken, Delta lists and retries."""
    live = catalog.statement().load("t", "live")
    number = live.version() + 1
    other.insert("t", "f3")
    raises_kind("OBJECT_ALREADY_EXISTS", lambda: live.write(number, compacting("c", "f1", "f2")))
    live.commit(compacting("c", "f1", "f2"))

    assert other.files("t") == {"c", "f3"}


def test_other_tables_do_not_disturb_a_live_view(catalog: Catalog, other: Catalog) -> None:
    """The lake moved, the table did not: the entry commits under its number."""
    catalog.create("u", "u1")
    live = catalog.statement().load("t", "live")
    number = live.version() + 1
    other.insert("u", "u2")
    assert live.write(number, compacting("c", "f1", "f2")) == 5

    assert other.files("t") == {"c"}


def test_race_between_listing_and_commit_of_a_live_view(
    catalog: Catalog, other: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the table moves inside of the commit, Delta is sent back instead of renumbered."""
    from trinitylake_spark.lakehouse.transaction import Transaction

    live = catalog.statement().load("t", "live")
    number = live.version() + 1
    commit = Transaction.commit

    def late(self: Transaction) -> Any:
        monkeypatch.setattr(Transaction, "commit", commit)
        other.insert("t", "f3")
        return self.commit()

    monkeypatch.setattr(Transaction, "commit", late)
    raises_kind("OBJECT_ALREADY_EXISTS", lambda: live.write(number, compacting("c", "f1", "f2")))
    assert live.files() == {"f1", "f2", "f3"}


def _what_delta_compares(log: Log) -> tuple[Any, ...]:
    """What Delta 4.4 takes for the same log: number, commit 0 and checkpoint, with their times."""
    rows = log.list()
    backfilled = tuple(row for row in rows if not row[0].startswith("_staged_commits"))
    return log.version(), backfilled


@pytest.mark.parametrize("with_checkpoint", [False, True])
def test_delta_notices_another_chain_of_the_same_length(
    catalog: Catalog, other: Catalog, *, with_checkpoint: bool
) -> None:
    """Delta's cache ignores staged commits; a rolled-back and regrown table must look changed."""
    catalog.insert("t", "a")
    if with_checkpoint:
        catalog.statement().load("t", "live").checkpoint()
    catalog.insert("t", "b")
    log = catalog.statement().load("t", "live")
    seen = _what_delta_compares(log)
    assert seen == _what_delta_compares(log)
    other.procedure("rollback_to_version", version=3)
    other.insert("t", "c")

    assert log.files() == {"f1", "f2", "a", "c"}
    now = _what_delta_compares(log)
    assert now != seen
    # Delta keeps the checkpoint it knows, so only commit 0 tells it, and no checkpoint may show.
    assert [name for name, _, _ in now[1]] == ["00000000000000000000.json"]
    assert log.resolve("_last_checkpoint") is None
    log.commit(compacting("d", "a", "c"))
    assert other.files("t") == {"f1", "f2", "d"}


def test_loading_again_gives_a_fresh_view(catalog: Catalog, other: Catalog) -> None:
    """After a rollback a handle that is made anew has its checkpoints and a cache of its own."""
    catalog.insert("t", "a")
    old = catalog.statement().load("t", "live")
    old.checkpoint()
    catalog.insert("t", "b")
    old.list()
    other.procedure("rollback_to_version", version=3)
    fresh = catalog.statement().load("t", "live")

    assert fresh.path != old.path
    assert any("checkpoint" in name for name, _, _ in fresh.list())
    assert catalog.statement().load("t", "live").path == fresh.path
    assert fresh.files() == {"f1", "f2", "a"}


def test_stream_of_a_rolled_back_table_is_told(catalog: Catalog, other: Catalog) -> None:
    """Its position is that of a log which is gone: an error with the way out, never other rows."""
    catalog.insert("t", "a")
    stream = _stream(catalog.bridge, catalog.statement().load("t", "live"))
    stream.list()
    other.procedure("rollback_to_version", version=2)
    other.insert("t", "c")
    raises_kind("UNSUPPORTED", stream.list)

    again = _stream(catalog.bridge, catalog.statement().load("t", "live"))
    assert again.files() == {"f1", "f2", "c"}


def test_delta_notices_an_ended_transaction(catalog: Catalog) -> None:
    """The live view showed a staged entry; after ROLLBACK another one has its number."""
    live = catalog.statement().load("t", "live")
    catalog.procedure("begin")
    catalog.insert("t", "staged")
    seen = _what_delta_compares(live)
    catalog.procedure("rollback")
    catalog.insert("t", "real")

    assert live.files() == {"f1", "f2", "real"}
    assert _what_delta_compares(live) != seen


def test_growing_chain_looks_unchanged(catalog: Catalog) -> None:
    """An ordinary commit keeps commit 0 as it was, so that Delta's cache stays warm."""
    live = catalog.statement().load("t", "live")
    first = live.list()[0]
    catalog.insert("t", "a")

    assert live.list()[0] == first


def test_table_dropped_under_a_handle(catalog: Catalog, other: Catalog) -> None:
    """A handle or stream of a dropped, renamed or re-created table is told so."""
    live = catalog.statement().load("t", "live")
    stream = _stream(catalog.bridge, live)
    live.list()
    other.statement().call("table_drop", table="t")
    other.create("t", "new")

    for log in (live, stream):
        raises_kind("OBJECT_NOT_FOUND", log.list)


def test_long_entries_come_as_files(catalog: Catalog, tmp_path: Any) -> None:
    """Past 8,000 characters the bridge hands over a file."""
    from trinitylake_spark.delta.entry import encode_entry

    path = tmp_path / "entry"
    path.write_bytes(encode_entry(appending(*(f"n{i}" for i in range(500)))))
    log = catalog.statement().load("t", "write")
    catalog.bridge.call(
        "log_write",
        path=f"{log.path}/_delta_log/{1:020d}.json",
        file=str(path),
        overwrite=False,
    )

    assert len(catalog.files("t")) == 502


def test_engine_asks_the_storage_as_little_as_it_can(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warm: a statement is one probe for a newer version; listing and resolving are free."""
    from trinitylake_spark.storage.local import LocalStorage

    catalog.files("t")
    calls: list[tuple[str, str]] = []
    for name in ("read", "exists", "list", "create", "write"):
        original = getattr(LocalStorage, name)

        def spy(self: Any, *args: Any, _name: str = name, _original: Any = original) -> Any:
            calls.append((_name, args[0] if args else ""))
            return _original(self, *args)

        monkeypatch.setattr(LocalStorage, name, spy)
    statement = catalog.statement()
    log = statement.load("t")
    assert [name for name, _ in calls] == ["read"]
    log.list()
    log.resolve("00000000000000000000.json")
    log.resolve("00000000000000000000.crc")
    log.resolve("_last_checkpoint")
    statement.load("t", "write").list()
    assert len(calls) == 1


def test_other_names_are_not_log_files(catalog: Catalog) -> None:
    """The engine takes commits and hints only."""
    log = catalog.statement().load("t", "write")
    raises_kind("UNSUPPORTED", lambda: log.write_file("compacted.json", b"{}"))


def test_path_of_nobody(catalog: Catalog) -> None:
    """A view that the engine does not know is an error that says what to do."""
    log = Log(catalog.bridge, "trinity://wnobody/file/-/x", {})
    raises_kind("ENGINE", log.list)


def test_wrong_number_in_a_writing_view(catalog: Catalog) -> None:
    """Delta never writes over an entry of its own; the engine would not let it."""
    log = catalog.statement().load("t", "write")
    raises_kind("OBJECT_ALREADY_EXISTS", lambda: log.write(0, replacing("f1", "f2")))


def test_entry_that_makes_no_table(catalog: Catalog) -> None:
    """An entry 0 without metadata is refused, and the name stays free."""
    log = catalog.statement().stage("n")
    raises_kind("CORRUPT", lambda: log.commit(appending("x")))
    catalog.create("n", "y")
    assert catalog.files("n") == {"y"}


def test_overwrite_of_a_grown_table(catalog: Catalog, other: Catalog) -> None:
    """INSERT OVERWRITE also replaces what was committed since its statement began."""
    log = catalog.statement().load("t", "write")
    other.insert("t", "f3")
    log.commit(overwriting("o", "f1", "f2"))

    assert other.files("t") == {"o"}


def test_unstaged_creation_is_forgotten(catalog: Catalog) -> None:
    """A CTAS that fails leaves no name and no view."""
    statement = catalog.statement()
    log = statement.stage("n")
    statement.call("table_unstage", path=log.path)
    raises_kind("ENGINE", lambda: log.commit(creation("x")))
    raises_kind("TABLE_NOT_FOUND", lambda: catalog.files("n"))
