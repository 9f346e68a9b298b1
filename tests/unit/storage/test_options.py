"""Options of storages, and the parts of a URL."""

from __future__ import annotations

import pytest

from trinitylake_spark.errors import InvalidInputError, Kind
from trinitylake_spark.storage import open_storage
from trinitylake_spark.storage.location import split_url
from trinitylake_spark.storage.options import Options


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30.0),
        ("30s", 30.0),
        ("1.5 s", 1.5),
        ("500ms", 0.5),
        ("2m", 120.0),
        ("2 minutes", 120),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """A time is written with or without its unit."""
    assert Options({"timeout": text}).seconds("timeout", 1.0) == seconds


def test_defaults_and_values() -> None:
    """Names count in any case; what was not given has its default."""
    options = Options({"AWS_Region": "eu", "retries": 3, "tls": True})
    assert options.text("aws_region", "region") == "eu"
    assert options.integer("retries", 5) == 3
    assert options.flag("tls")
    assert not options.flag("other")
    assert options.seconds("timeout", 30.0) == 30.0
    options.finish("s3")


@pytest.mark.parametrize(
    "options",
    [{"timeout": "soon"}, {"max_retries": "-1"}, {"hdfs_https": "maybe"}, {"colour": "red"}],
)
def test_wrong_options_are_refused_by_name(options: dict[str, str]) -> None:
    """A misspelt name or value is told, not ignored."""
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        open_storage("webhdfs://host:9870/lake", options)


@pytest.mark.parametrize("url", ["s3://b/lake", "gs://b/lake", "az://c/lake"])
def test_unknown_options_of_object_stores(url: str) -> None:
    """The clients' own options pass through, others are refused."""
    options = {"azure_storage_account_name": "a"} if url.startswith("az") else {}
    with pytest.raises(InvalidInputError, match="colour"):
        open_storage(url, {**options, "colour": "red"})


@pytest.mark.parametrize(
    ("url", "shown", "prefix"),
    [
        ("s3://b", "s3://b/", ""),
        ("s3://b/a/c/", "s3://b/a/c/", "a/c/"),
        (
            "abfs://c@account.dfs.core.windows.net/x",
            "abfs://c@account.dfs.core.windows.net/x/",
            "x/",
        ),
        ("redis://u:secret@h:1/0/x", "redis://h:1/0/x/", "0/x/"),
        ("S3://b/größe %20?#", "s3://b/größe %20?#/", "größe %20?#/"),
    ],
)
def test_urls(url: str, shown: str, prefix: str) -> None:
    """The text is taken as it is, passwords are not shown, and roots end in a slash."""
    location = split_url(url, "…")
    assert location.url == shown
    assert location.prefix == prefix


@pytest.mark.parametrize("url", ["s3://", "s3:///x", "bucket/x"])
def test_urls_without_a_place(url: str) -> None:
    """The message shows the form that would have been right."""
    with pytest.raises(InvalidInputError, match="s3://<bucket>/<prefix>") as caught:
        split_url(url, "s3://<bucket>/<prefix>")
    assert caught.value.kind is Kind.INVALID_URL
