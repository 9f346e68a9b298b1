"""``tree``: draw the node tree of a version, with how full its nodes and buffers are."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from rich.text import Text
from rich.tree import Tree

from trinitylake_spark.cli.options import at_arguments, snapshot_of, target_arguments

if TYPE_CHECKING:
    from trinitylake_spark.cli.options import Moment, Target
    from trinitylake_spark.cli.output import Output
    from trinitylake_spark.tree.picture import NodePicture

_BAR = 16
_KIB = 1024


@click.command("tree")
@target_arguments
@click.option(
    "--breadth", type=click.IntRange(min=0), default=8, show_default=True, help="Children drawn."
)
@click.option(
    "--depth", type=click.IntRange(min=0), default=4, show_default=True, help="Levels drawn."
)
@at_arguments
def tree_command(target: Target, output: Output, moment: Moment, breadth: int, depth: int) -> None:
    """Draw the node tree: keys and fill, messages in the write buffer, bytes of each node."""
    from trinitylake_spark.tree.picture import picture

    lake = target.open()
    snapshot = snapshot_of(lake, moment)
    drawn = picture(
        lake.services.nodes,
        snapshot.root.node,
        order=snapshot.layout.order,
        breadth=breadth,
        depth=depth,
    )
    data = {"version": snapshot.version, "order": snapshot.layout.order, "root": asdict(drawn)}
    label = Text(f"root of version {snapshot.version}", style="bold")
    output.show(_branch(drawn, label), data)


def _branch(node: NodePicture, label: Text) -> Tree:
    tree = Tree(Text.assemble(label, "  ", _measures(node)))
    for child in node.children:
        name = child.path.rpartition("-node-")[2].partition("-")[0]
        tree.children.append(_branch(child, Text(name or child.path)))
    if node.hidden:
        tree.add(Text(f"… {node.hidden} more", style="dim"))
    return tree


def _measures(node: NodePicture) -> Text:
    filled = round(_BAR * node.keys / node.capacity)
    text = Text("█" * filled, style="green")
    text.append("░" * (_BAR - filled), style="dim")
    text.append(f" {node.keys}/{node.capacity} keys", style="default")
    if node.messages:
        text.append(f", {node.messages} messages ({_size(node.buffer_bytes)})", style="yellow")
    text.append(f", {_size(node.bytes)}", style="default")
    return text


def _size(count: int) -> str:
    return f"{count} B" if count < _KIB else f"{count / _KIB:.1f} KiB"
