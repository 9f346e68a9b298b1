"""The lakehouses that one engine has open."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from trinitylake_spark.errors import Kind, NotFoundError
from trinitylake_spark.lakehouse.lakehouse import Lakehouse
from trinitylake_spark.spark.lakes import Lake, Lakes

if TYPE_CHECKING:
    from pathlib import Path

_SOON = 60.0


def _get(lakes: Lakes, root: Path, *, create: bool = True) -> Lake:
    return lakes.get(root.as_uri(), None, {}, create=create)


def test_jobs_that_create_the_same_lakehouse(tmp_path: Path) -> None:
    """Of jobs that start at once with create=true one creates, and all have it open."""
    jobs = 6
    for round_ in range(3):
        start = threading.Barrier(jobs)

        def job(root: Path, start: threading.Barrier = start) -> Lake:
            lakes = Lakes()
            start.wait(_SOON)
            return _get(lakes, root)

        with ThreadPoolExecutor(jobs) as pool:
            found = list(pool.map(job, [tmp_path / str(round_)] * jobs))
        with found[0].lakehouse.transaction() as tx:
            tx.create_namespace("n")
        assert [lake.lakehouse.namespaces() for lake in found] == [["n"]] * jobs


def test_somebody_creates_it_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lakehouse that appears between looking and creating is opened."""
    create = Lakehouse.create

    def beaten(root: str, **settings: Any) -> Lakehouse:
        with create(root).transaction() as tx:
            tx.create_namespace("theirs")
        return create(root, **settings)

    monkeypatch.setattr(Lakehouse, "create", beaten)
    assert _get(Lakes(), tmp_path / "lake").lakehouse.namespaces() == ["theirs"]


def test_one_slow_root_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one root is opened others open; who asks for the same one waits and shares it."""
    lakes, opened = Lakes(), []
    begun, go_on = threading.Event(), threading.Event()
    open_lakehouse = Lakehouse.open

    def slow(root: str, **settings: Any) -> Lakehouse:
        opened.append(root)
        if root.endswith("slow"):
            begun.set()
            assert go_on.wait(_SOON)
        return open_lakehouse(root, **settings)

    monkeypatch.setattr(Lakehouse, "open", slow)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(_get, lakes, tmp_path / "slow")
        assert begun.wait(_SOON)
        second = pool.submit(_get, lakes, tmp_path / "slow")
        quick = pool.submit(_get, lakes, tmp_path / "quick")
        try:
            assert quick.result(_SOON / 4).lakehouse.version == 0
        finally:
            go_on.set()
        assert first.result(_SOON) is second.result(_SOON)
    assert opened.count((tmp_path / "slow").as_uri()) == 1


def test_a_root_that_failed_is_tried_again(tmp_path: Path) -> None:
    """An error is not remembered."""
    lakes = Lakes()
    with pytest.raises(NotFoundError) as caught:
        _get(lakes, tmp_path / "lake", create=False)
    assert caught.value.kind is Kind.LAKEHOUSE_NOT_FOUND
    opener = partial(_get, lakes, tmp_path / "lake")
    assert opener() is opener(create=False)
