"""Opening remote storages: what is found in URLs, options, environment and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from hypothesis import given
from hypothesis import strategies as st

from trinitylake_spark.errors import CorruptError, InvalidInputError, UnsupportedError
from trinitylake_spark.storage import open_storage
from trinitylake_spark.storage.hdfs import HdfsStorage
from trinitylake_spark.storage.local import LocalStorage
from trinitylake_spark.storage.location import split_url
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.storage.namenodes import web_addresses
from trinitylake_spark.storage.paths import escape, unescape

if TYPE_CHECKING:
    from pathlib import Path


def _addresses(url: str, given_address: str | None = None) -> list[str]:
    return web_addresses(split_url(url, "…"), given_address, https=url.startswith("swebhdfs"))


# --- HDFS: where the NameNode's web server is ---------------------------------------------------


@pytest.mark.parametrize(
    ("url", "option", "addresses"),
    [
        ("webhdfs://nn:50070/x", None, ["http://nn:50070"]),
        ("swebhdfs://nn/x", None, ["https://nn:9871"]),
        ("hdfs://nn:8020/x", None, ["http://nn:9870"]),
        ("hdfs://cluster/x", "a:1, b", ["http://a:1", "http://b:9870"]),
    ],
)
def test_namenodes_from_url_and_option(
    monkeypatch: pytest.MonkeyPatch, url: str, option: str | None, addresses: list[str]
) -> None:
    """The option wins; else the URL's host, at the default port of the web server."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    assert _addresses(url, option) == addresses


def _configure(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    text = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in settings.items()
    )
    (folder / "hdfs-site.xml").write_text(f"<configuration>{text}</configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(folder))


def test_nameservice_of_hadoop_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A nameservice has several NameNodes, and Hadoop's files name them."""
    _configure(
        tmp_path,
        monkeypatch,
        **{
            "dfs.ha.namenodes.cluster": "nn1, nn2",
            "dfs.namenode.http-address.cluster.nn1": "one:9870",
            "dfs.namenode.http-address.cluster.nn2": "two:9870",
        },
    )
    assert _addresses("hdfs://cluster/x") == ["http://one:9870", "http://two:9870"]


def test_wildcard_address_of_hadoop_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server listens on all addresses, its host is the URL's."""
    _configure(tmp_path, monkeypatch, **{"dfs.namenode.http-address": "0.0.0.0:50070"})
    assert _addresses("hdfs://nn:8020/x") == ["http://nn:50070"]


def test_broken_hadoop_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the file."""
    (tmp_path / "core-site.xml").write_text("<configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(CorruptError, match="core-site"):
        _addresses("hdfs://nn/x")


# --- fsspec -------------------------------------------------------------------------------------


def test_local_filesystem_is_our_own(tmp_path: Path) -> None:
    """The local create of fsspec races, so ours takes its place."""
    storage = open_storage(f"file://{tmp_path}/lake", fs=fsspec.filesystem("file"))
    assert isinstance(storage, LocalStorage)
    assert storage.url == f"file://{tmp_path}/lake/"


def test_wrapped_filesystem_is_unwrapped(tmp_path: Path) -> None:
    """A filesystem of one folder is that folder of the filesystem below."""
    fs = DirFileSystem(str(tmp_path), fsspec.filesystem("file"))
    storage = open_storage("lake", fs=fs)
    storage.create("a", b"1")
    assert (tmp_path / "lake" / "a").read_bytes() == b"1"


def test_memory_filesystem_is_our_own() -> None:
    """So is its memory."""
    assert isinstance(open_storage("memory://x", {"client": "fsspec"}), MemoryStorage)


def test_webhdfs_filesystem_is_our_own() -> None:
    """Its address and user are taken over."""
    fs = fsspec.filesystem("webhdfs", host="nn", port=9870, user="me", skip_instance_cache=True)
    storage = open_storage("webhdfs://nn:9870/lake", fs=fs)
    assert isinstance(storage, HdfsStorage)
    assert storage.url == "webhdfs://nn:9870/lake/"


def test_other_filesystems_are_refused_by_name() -> None:
    """A filesystem whose create nobody knows to be exclusive takes no lakehouse."""
    fs: Any = fsspec.filesystem("data")
    with pytest.raises(UnsupportedError, match="DataFileSystem"):
        open_storage("data://x", fs=fs)


def test_options_besides_a_filesystem() -> None:
    """Options would have no effect, so they are refused."""
    with pytest.raises(InvalidInputError, match="key"):
        open_storage("file:///x", {"key": "1"}, fs=fsspec.filesystem("file"))


def test_asynchronous_filesystem_is_refused() -> None:
    """Its methods work inside an event loop only."""
    fs = fsspec.filesystem("s3", asynchronous=True, skip_instance_cache=True)
    with pytest.raises(UnsupportedError, match="asynchronous"):
        open_storage("s3://b/lake", fs=fs)


# --- names that a service would change ----------------------------------------------------------


@given(st.text(alphabet=st.sampled_from("%:25CA3\\a/é"), max_size=12), st.sampled_from([":", "\\"]))
def test_escape_is_undone(path: str, characters: str) -> None:
    """Escaping hides the characters, loses nothing, and keeps prefixes prefixes."""
    escaped = escape(path, characters)
    assert not set(characters) & set(escaped)
    assert unescape(escaped, characters) == path
    assert all(escaped.startswith(escape(path[:n], characters)) for n in range(len(path)))
