"""A lakehouse on disk, and a way to run commands on it without a new process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from trinitylake_spark.cli.main import main
from trinitylake_spark.lakehouse.lakehouse import Lakehouse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Result:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The printed JSON document."""
        return json.loads(self.out)


Run = "Callable[..., Result]"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run ``trinitylake`` with these arguments."""

    def command(*arguments: str) -> Result:
        with pytest.raises(SystemExit) as end:
            main(arguments)
        printed = capsys.readouterr()
        return Result(int(end.value.code or 0), printed.out, printed.err)

    return command


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A lakehouse of four versions: created, two namespaces, one more property, one fewer."""
    root = (tmp_path / "lake").as_uri()
    lake = Lakehouse.create(root, author="anna", order=4)
    with lake.transaction(message="begin") as tx:
        for name in ("sales", "stock"):
            tx.create_namespace(name)
    with lake.transaction(message="describe") as tx:
        tx.set_namespace_properties("sales", {"owner": "anna"})
    with lake.transaction(author="ben", message="close") as tx:
        tx.drop_namespace("stock")
    return root
