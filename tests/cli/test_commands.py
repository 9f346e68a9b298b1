"""The commands that need no Spark: what they print, change, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from trinitylake_spark.lakehouse.lakehouse import Lakehouse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result


def test_init_makes_a_lakehouse_with_the_fields_given(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    """A plain path is a folder, and any field of the definition can be set."""
    result = run("init", str(tmp_path / "new"), "--set", "order=16", "--json")

    assert result.code == 0
    assert result.json == {"url": (tmp_path / "new").as_uri(), "version": 0}
    assert Lakehouse.open(str(tmp_path / "new")).snapshot().layout.order == 16


def test_init_refuses_an_existing_lakehouse(run: Callable[..., Result], url: str) -> None:
    """Exit code 1, the condition on standard error, nothing on standard output."""
    result = run("init", url)

    assert (result.code, result.out) == (1, "")
    assert "TRINITYLAKE_LAKEHOUSE_ALREADY_EXISTS" in result.err


def test_log_shows_who_did_what_newest_first(run: Callable[..., Result], url: str) -> None:
    """Versions, authors, messages and changes, for programs and for people."""
    log = run("log", url, "--json").json

    assert [(row["version"], row["author"], row["message"]) for row in log] == [
        (3, "ben", "close"),
        (2, "anna", "describe"),
        (1, "anna", "begin"),
        (0, "anna", ""),
    ]
    assert log[2]["changes"] == ["CREATE namespace sales", "CREATE namespace stock"]
    text = run("log", url).out
    assert "DROP namespace stock" in text
    assert "describe" in text


def test_log_can_be_limited(run: Callable[..., Result], url: str) -> None:
    """``-n`` gives the newest versions only."""
    assert [row["version"] for row in run("log", url, "-n", "2", "--json").json] == [3, 2]


def test_show_has_everything_about_a_version(run: Callable[..., Result], url: str) -> None:
    """One version, with the facts that ``system.versions`` has."""
    version = run("show", url, "1", "--json").json

    assert list(version) == [
        "version",
        "created_at",
        "time_version",
        "kind",
        "transaction_id",
        "isolation_level",
        "author",
        "message",
        "rolled_back_to",
        "changes",
    ]
    assert (version["version"], version["kind"]) == (1, "logical")


def test_diff_names_what_differs(run: Callable[..., Result], url: str) -> None:
    """Added, removed and changed objects, in either direction."""
    assert run("diff", url, "0", "3", "--json").json == [
        {"change": "added", "kind": "namespace", "name": "sales"}
    ]
    assert run("diff", url, "3", "1", "--json").json == [
        {"change": "changed", "kind": "namespace", "name": "sales"},
        {"change": "added", "kind": "namespace", "name": "stock"},
    ]


def test_ls_lists_now_and_then(run: Callable[..., Result], url: str) -> None:
    """Names of the newest version, or of any other."""
    assert run("ls", url).out.split() == ["namespace", "sales"]
    assert run("ls", url, "--version", "1", "--json").json == [
        {"namespace": "sales"},
        {"namespace": "stock"},
    ]
    assert run("ls", url, "sales", "--json").json == []


def test_tree_draws_every_node(run: Callable[..., Result], tmp_path: Path) -> None:
    """Fill and buffer of each node, the same numbers as JSON."""
    lake = Lakehouse.create(str(tmp_path), order=4)
    with lake.transaction() as tx:
        for number in range(20):
            tx.create_namespace(f"n{number:02}")
    lake.compact_tree()
    with lake.transaction() as tx:
        tx.create_namespace("last")
    with lake.transaction() as tx:
        tx.drop_namespace("n03")
    lake.compact_tree()
    data = run("tree", str(tmp_path), "--json").json

    assert data["order"] == 4
    assert data["root"]["capacity"] == 3
    assert data["root"]["messages"] == 1
    assert data["root"]["children"]
    picture = run("tree", str(tmp_path)).out
    assert "root of version 5" in picture
    assert "1 messages" in picture
    assert f"{data['root']['keys']}/3 keys" in picture
    assert "more" in run("tree", str(tmp_path), "--breadth", "1").out


def test_set_changes_a_field(run: Callable[..., Result], url: str) -> None:
    """A field of the definition, in a new version."""
    assert run("set", url, "order", "8", "--json").json == {"version": 4, "order": "8"}
    assert Lakehouse.open(url).snapshot().layout.order == 8


def test_check_of_a_sound_lakehouse(run: Callable[..., Result], url: str) -> None:
    """Nothing is found, and the exit code is 0."""
    result = run("check", url, "--deep", "--json")

    assert (result.code, result.json["problems"]) == (0, [])


def test_check_names_a_damaged_file(run: Callable[..., Result], url: str, tmp_path: Path) -> None:
    """A definition that is gone is a problem, and the exit code is 1."""
    victim = next((tmp_path / "lake").rglob("*-namespace-sales-*"))
    victim.unlink()
    result = run("check", url, "--deep", "--json")

    assert result.code == 1
    assert any(victim.name in problem["path"] for problem in result.json["problems"])


def test_rollback_needs_a_yes(
    run: Callable[..., Result], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without ``--yes`` it asks, and a no changes nothing."""
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    result = run("rollback", url, "--to-version", "1")

    assert result.code == 1
    assert Lakehouse.open(url).version == 3


def test_rollback_brings_an_older_version_back(run: Callable[..., Result], url: str) -> None:
    """A new version with the old content; the history keeps the reason."""
    result = run("rollback", url, "--to-version", "1", "--yes", "--message", "oops", "--json")

    assert result.json == {"version": 4, "previous_version": 3, "rolled_back_to": 1}
    lake = Lakehouse.open(url)
    assert lake.namespaces() == ["sales", "stock"]
    assert lake.versions(1)[0].message == "oops"


def test_rollback_to_a_time(run: Callable[..., Result], url: str) -> None:
    """The version that was the newest then."""
    time = Lakehouse.open(url).at(version=2).created_at.isoformat()

    assert run("rollback", url, "--to-timestamp", time, "--yes", "--json").json["version"] == 4
    assert Lakehouse.open(url).versions(1)[0].rolled_back_to == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["ls"],
        ["show", "URL", "minus-one"],
        ["rollback", "URL"],
        ["rollback", "URL", "--to-version", "1", "--to-timestamp", "2026-01-01"],
        ["ls", "URL", "--version", "1", "--snapshot", "q3"],
        ["ls", "URL", "--timestamp", "yesterday"],
        ["ls", "URL", "-o", "nothing"],
        ["nonsense"],
    ],
)
def test_wrong_use_ends_with_2(run: Callable[..., Result], url: str, arguments: list[str]) -> None:
    """Wrong use is told from refusal, and changes nothing."""
    result = run(*(url if word == "URL" else word for word in arguments))

    assert (result.code, result.out) == (2, "")
    assert "Error" in result.err
    assert Lakehouse.open(url).version == 3


@pytest.mark.parametrize(
    ("arguments", "condition"),
    [
        (["ls", "/nothing/here"], "TRINITYLAKE_LAKEHOUSE_NOT_FOUND"),
        (["ls", "nosuch://a/b"], "TRINITYLAKE_INVALID_URL"),
        (["ls", "URL", "nobody"], "TRINITYLAKE_NAMESPACE_NOT_FOUND"),
        (["show", "URL", "99"], "TRINITYLAKE_VERSION_NOT_FOUND"),
        (["ls", "URL", "--snapshot", "q3"], "TRINITYLAKE_SNAPSHOT_NOT_FOUND"),
        (["ls", "URL", "--timestamp", "2001-01-01"], "TRINITYLAKE_TIMESTAMP_OUT_OF_RANGE"),
        (["set", "URL", "order", "two"], "TRINITYLAKE_INVALID_ARGUMENT"),
        (["rollback", "URL", "--to-version", "3", "--yes"], "TRINITYLAKE_INVALID_VERSION"),
    ],
)
def test_a_refusal_ends_with_1_and_its_condition(
    run: Callable[..., Result], url: str, arguments: list[str], condition: str
) -> None:
    """With ``--json`` the error is JSON too, with kind, SQLSTATE, message and fields."""
    typed = [url if word == "URL" else word for word in arguments]
    result = run(*typed)

    assert (result.code, result.out) == (1, "")
    assert condition in result.err
    as_json = run(*typed, "--json")
    assert f'"kind": "{condition}"' in as_json.err
    assert Lakehouse.open(url).version == 3


def test_every_command_has_a_help_page(run: Callable[..., Result]) -> None:
    """The list of commands is complete, and each explains itself."""
    overview = run("--help").out
    for name in [
        "init",
        "log",
        "show",
        "diff",
        "ls",
        "tree",
        "rollback",
        "check",
        "set",
        "doctor",
        "spark-conf",
        "sql",
    ]:
        assert name in overview
        assert "URL" in run(name, "--help").out


def test_transactions_shows_what_is_prepared(run: Callable[..., Result], url: str) -> None:
    """Name, state and changes of each, and what became of those that are over."""
    assert run("transactions", url, "--json").json == []
    with Lakehouse.open(url) as lake:
        for name in ("first", "second"):
            tx = lake.begin(message="load", author="eva")
            tx.create_namespace(name)
            tx.prepare(name)
        lake.commit_prepared("first")
    first, second = run("transactions", url, "--json").json

    assert (first["name"], first["state"], first["version"]) == ("first", "committed", 4)
    assert (second["name"], second["state"], second["version"]) == ("second", "prepared", None)
    assert second["changes"] == ["CREATE namespace second"]
    assert "prepared" in run("transactions", url).out
