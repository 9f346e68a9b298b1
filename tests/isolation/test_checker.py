"""The checker itself: histories with one planted anomaly each, and sound ones."""

from __future__ import annotations

import random

import pytest

from tests.support.list_append import APPEND, READ, Op, Txn, check


def _txn(number: int, *ops: str, committed: bool = True, when: float = 0.0) -> Txn:
    """A transaction of ops like ``a+1`` (append 1 to a) and ``a=1,2`` (read [1, 2] of a)."""
    parsed = []
    for op in ops:
        kind = APPEND if "+" in op else READ
        key, _, values = op.partition("+" if kind == APPEND else "=")
        parsed.append(Op(kind, key, tuple(int(v) for v in values.split(",") if v)))
    return Txn(number, parsed, committed=committed, begun=when, ended=when + 10)


PLANTED = {
    "G1a": ([_txn(1, "a+1", committed=False), _txn(2, "a=1")], {"a": [1]}),
    "G1b": ([_txn(1, "a+1", "a+2"), _txn(2, "a=1")], {"a": [1, 2]}),
    "made up": ([_txn(1, "a=7")], {"a": [7]}),
    "duplicate": ([_txn(1, "a+1")], {"a": [1, 1]}),
    "internal": ([_txn(1, "a+1", "a=")], {"a": [1]}),
    "unrepeatable": ([_txn(1, "a+1"), _txn(2, "a=", "a=1")], {"a": [1]}),
    "lost": ([_txn(1, "a+1"), _txn(2, "a+2")], {"a": [2]}),
    "incompatible order": (
        [_txn(1, "a+1"), _txn(2, "a+2"), _txn(3, "a=2,1")],
        {"a": [1, 2]},
    ),
    "stale": ([_txn(1, "a+1"), _txn(2, "a=", when=20)], {"a": [1]}),
    "G0": (
        [_txn(1, "a+1", "b+1"), _txn(2, "a+2", "b+2")],
        {"a": [1, 2], "b": [2, 1]},
    ),
    "G1c": (
        [_txn(1, "a+1", "b=1"), _txn(2, "b+1", "a=1")],
        {"a": [1], "b": [1]},
    ),
    "G-single": (
        [_txn(1, "a+1", "b+1"), _txn(2, "a=", "b=1")],
        {"a": [1], "b": [1]},
    ),
    "lost update": (
        [_txn(1, "a=", "a+1"), _txn(2, "a=", "a+2")],
        {"a": [1, 2]},
    ),
    "G-nonadjacent": (
        # Two readers see two independent writes in opposite orders.
        [_txn(1, "a+1"), _txn(2, "b+1"), _txn(3, "a=1", "b="), _txn(4, "a=", "b=1")],
        {"a": [1], "b": [1]},
    ),
}
_KINDS = {"unrepeatable": "internal", "lost update": "G-single"}

WRITE_SKEW = (
    [_txn(1, "a=", "b=", "a+1"), _txn(2, "a=", "b=", "b+1")],
    {"a": [1], "b": [1]},
)
READ_ONLY_SKEW = (
    [
        _txn(1, "a=", "b=", "a+1"),
        _txn(2, "b+1"),
        _txn(3, "a=", "b=1"),
    ],
    {"a": [1], "b": [1]},
)


@pytest.mark.parametrize("level", ["snapshot", "serializable"])
@pytest.mark.parametrize("name", list(PLANTED))
def test_planted_anomaly_is_found(name: str, level: str) -> None:
    """What no level permits is found at both, under its name."""
    txns, final = PLANTED[name]

    assert {a.kind for a in check(txns, final, level)} == {_KINDS.get(name, name)}


@pytest.mark.parametrize("history", [WRITE_SKEW, READ_ONLY_SKEW], ids=["items", "reader"])
def test_write_skew_is_g2(history: tuple[list[Txn], dict[str, list[int]]]) -> None:
    """Two anti-dependencies in a row: allowed at SNAPSHOT, forbidden at SERIALIZABLE."""
    assert check(*history, "snapshot") == []
    assert [a.kind for a in check(*history, "serializable")] == ["G2"]


def test_rows_are_no_list() -> None:
    """Two transactions that add a row each write nothing in common; who read is what counts."""
    blind = ([_txn(1, "a=", "b+1"), _txn(2, "b+2", "a+3")], {"a": [3], "b": [2, 1]})
    assert {a.kind for a in check(*blind, "snapshot")} == {"G-single"}
    assert check(*blind, "serializable", sets={"b"}) == []

    fork = (
        [_txn(1, "a+1"), _txn(2, "a+2", "b+2"), _txn(3, "b+3"), _txn(4, "a=1,2", "b=")],
        {"a": [1, 2], "b": [3, 2]},
    )
    assert {a.kind for a in check(*fork, "snapshot", sets={"a", "b"})} == {"G-single"}


def _serial(seed: int, number: int) -> tuple[list[Txn], dict[str, list[int]]]:
    """A random history, one transaction after the other."""
    chance = random.Random(seed)
    state: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    txns = []
    for name in range(number):
        ops = []
        committed = chance.random() < 0.8
        view = {key: list(values) for key, values in state.items()}
        for step in range(chance.randint(1, 5)):
            key = chance.choice("abc")
            if chance.random() < 0.5:
                view[key].append(name * 10 + step)
                ops.append(Op(APPEND, key, (view[key][-1],)))
            else:
                ops.append(Op(READ, key, tuple(view[key])))
        if committed:
            state = view
        txns.append(Txn(name, ops, committed=committed, begun=name, ended=name + 0.5))
    return txns, state


@pytest.mark.parametrize("seed", range(5))
def test_serial_history_is_sound(seed: int) -> None:
    """Nothing is found where nothing is wrong, however the transactions are listed."""
    txns, final = _serial(seed, 300)
    random.Random(seed).shuffle(txns)

    assert check(txns, final, "serializable") == []


@pytest.mark.parametrize("seed", range(5))
def test_anomaly_in_a_long_history_is_found(seed: int) -> None:
    """One lost update among hundreds of sound transactions is found and named."""
    txns, final = _serial(seed, 300)
    seen = tuple(final["a"])
    for number, value in ((1000, 100001), (1001, 100002)):
        ops = [Op(READ, "a", seen), Op(APPEND, "a", (value,))]
        txns.append(Txn(number, ops, committed=True, begun=number, ended=5000))
        final["a"].append(value)

    (found,) = check(txns, final, "snapshot")
    assert found.kind == "G-single"
    assert "T1000" in found.text
    assert "T1001" in found.text


def test_long_cycle_is_found() -> None:
    """A cycle through hundreds of transactions is one as well."""
    number = 400
    txns = [_txn(n, f"k{n}=", f"k{(n + 1) % number}+1") for n in range(number)]
    final = {f"k{n}": [1] for n in range(number)}

    assert check(txns, final, "snapshot") == []
    (found,) = check(txns, final, "serializable")
    assert found.kind == "G2"
    assert found.text.count("->") == number
