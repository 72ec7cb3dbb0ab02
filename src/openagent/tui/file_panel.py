"""The workspace's files at the left: opened folder by folder, a file goes into the input."""

import os
from collections.abc import Awaitable, Callable

from rich.text import Text
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from openagent.client.text import clean
from openagent.protocol.files import FileEntries
from openagent.tui.completion import FileChosen

MOST = 500
"""Entries of a folder that are shown."""
List = Callable[[str], Awaitable[FileEntries | None]]
"""What is in a folder, by its path from the workspace's root. None: that could not be learned, and was told."""


class FilePanel(Tree[str]):
    DEFAULT_CSS = """
    FilePanel { width: 32; display: none; background: $background; border-right: solid $panel; padding: 0 1; }
    FilePanel.shown { display: block; }
    """

    def __init__(self, folder: str, list_: List) -> None:
        super().__init__(Text(clean(os.path.basename(folder) or folder)), ".")
        self._list = list_
        self.guide_depth = 2
        self.changed: dict[str, str] = {}
        """What the session changed: path to A, M, D or R."""

    def on_mount(self) -> None:
        self.root.expand()

    async def on_tree_node_expanded(self, event: Tree.NodeExpanded[str]) -> None:
        if not event.node.children:
            await self._fill(event.node)

    async def read_again(self, changed: dict[str, str]) -> None:
        self.changed = changed
        await self._fill(self.root)

    async def _fill(self, node: TreeNode[str]) -> None:
        found = await self._list(node.data or ".")
        if found is None:
            return
        node.remove_children()
        entries = [entry for entry in found.entries if entry.name != ".git"]
        for entry in entries[:MOST]:
            # A link to a folder is shown and not walked into: it may lead in a circle.
            node.add(self._label(entry.name, entry.path), entry.path, allow_expand=entry.kind == "directory")
        if (more := max(len(entries) - MOST, 0) + found.left_out) > 0:
            node.add_leaf(Text(f"… {more} more", "dim"), "")

    def _label(self, name: str, path: str) -> Text:
        state = self.changed.get(path, "")
        return Text.assemble(clean(name), (f" {state}" if state else "", "yellow"))

    def on_tree_node_selected(self, event: Tree.NodeSelected[str]) -> None:
        event.stop()
        if event.node.data and not event.node.allow_expand:
            self.post_message(FileChosen(event.node.data))
