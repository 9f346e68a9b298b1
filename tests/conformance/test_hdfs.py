"""HDFS: a real NameNode and DataNode, through WebHDFS."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

import pytest

from tests.servers.fault_proxy import Effect, Fault, FaultProxy, http_answer
from tests.servers.hdfs import Hdfs
from tests.support.store_suite import Answers, ServerSuite
from trinitylake_spark.storage import open_storage
from trinitylake_spark.storage.hdfs import HdfsStorage

if TYPE_CHECKING:
    from tests.servers.base import Server
    from trinitylake_spark.storage import Storage


def _exception(status: str, name: str) -> bytes:
    body = {"RemoteException": {"exception": name, "javaClassName": name, "message": "a fault"}}
    return http_answer(status, json.dumps(body).encode(), "application/json")


@pytest.mark.servers
class TestHdfs(ServerSuite):
    """A folder of an HDFS."""

    kind = Hdfs
    answers = Answers(
        throttled=_exception("403 Forbidden", "RetriableException"),
        denied=_exception("403 Forbidden", "AccessControlException"),
        broken=http_answer("503 Service Unavailable", b"<html>restarting</html>", "text/html"),
        foreign=http_answer("404 Not Found", b"<html>no such page</html>", "text/html"),
    )
    creates = rb"op=RENAME"
    roots = rb"op=RENAME\S*_[01]{32}\.ipc"
    stranger: ClassVar[dict[str, str] | None] = {"hdfs_user": "stranger"}

    def reads_of_a_stranger(self) -> tuple[str, ...]:
        """Everybody may read; only the owner may write."""
        return ()

    def test_lost_rename_is_settled(
        self, storage: Storage, shaky: Storage, proxy: FaultProxy
    ) -> None:
        """The temporary file tells what became of a rename, so its outcome is never unknown."""
        proxy.break_with(Fault(Effect.DROP_REPLY, self.creates))
        shaky.create("applied", b"mine")
        assert storage.read("applied") == b"mine"
        proxy.break_with(Fault(Effect.DROP_REQUEST, self.creates))
        assert _kind(shaky, "dropped") == "TRINITYLAKE_STORAGE"
        assert not storage.exists("dropped")

    def test_no_temporary_file_stays(
        self, storage: Storage, shaky: Storage, proxy: FaultProxy
    ) -> None:
        """Winning, losing and failing creates and writes leave nothing in ``.tmp``."""
        storage.create("a", b"1")
        storage.write("a", b"2")
        assert _kind(storage, "a") == "TRINITYLAKE_OBJECT_ALREADY_EXISTS"
        proxy.break_with(Fault(Effect.ANSWER, self.creates, answer=self.answers.denied))
        assert _kind(shaky, "b") == "TRINITYLAKE_STORAGE"
        assert storage.list(".tmp/") == []

    @pytest.mark.parametrize("trouble", ["standby", "gone"])
    def test_other_namenode(
        self, server: Server, prefix: str, proxy: FaultProxy, trouble: str
    ) -> None:
        """A NameNode that is on standby or down is passed over for one that is active."""
        standby = _exception("403 Forbidden", "StandbyException")
        proxy.break_with(Fault(Effect.ANSWER, answer=standby))
        if trouble == "gone":
            proxy.close()
        addresses = {"hdfs_http_address": f"{proxy.address},{server.address}"}
        with open_storage(
            f"hdfs://nameservice/{prefix}", {**self.options(server), **addresses}
        ) as storage:
            storage.create("a", b"1")
            assert storage.read("a") == b"1"
            assert storage.list() == ["a"]

    def test_folder_that_vanishes(self, storage: Storage) -> None:
        """A folder that was there before and was deleted by somebody is made again."""
        assert isinstance(storage, HdfsStorage)
        storage.create("folder/a", b"1")
        storage.client.ask("DELETE", "DELETE", storage.key("folder"), recursive="true")
        storage.create("folder/b", b"2")
        assert storage.list() == ["folder/b"]


def _kind(storage: Storage, path: str) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the kind is what is asked for
        storage.create(path, b"x")
    return str(getattr(caught.value, "kind", caught.value))
