"""The workspace's files at the left: opened folder by folder, a file goes into the input."""

import asyncio
import os

from rich.text import Text
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from openagent.client.text import clean
from openagent.tui.completion import FileChosen

MOST = 500
"""Entries of a folder that are shown."""


class FilePanel(Tree[str]):
    DEFAULT_CSS = """
    FilePanel { width: 32; display: none; background: $background; border-right: solid $panel; padding: 0 1; }
    FilePanel.shown { display: block; }
    """

    def __init__(self, folder: str) -> None:
        super().__init__(Text(clean(os.path.basename(folder) or folder)), folder)
        self._folder = folder
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
        self.root.remove_children()
        await self._fill(self.root)

    async def _fill(self, node: TreeNode[str]) -> None:
        path = node.data or self._folder
        entries = await asyncio.to_thread(_entries, path)
        for name, is_folder in entries[:MOST]:
            inside = os.path.join(path, name)
            node.add(self._label(name, inside), inside, allow_expand=is_folder)
        if len(entries) > MOST:
            node.add_leaf(Text(f"… {len(entries) - MOST} more", "dim"), "")

    def _label(self, name: str, path: str) -> Text:
        state = self.changed.get(os.path.relpath(path, self._folder), "")
        return Text.assemble(clean(name), (f" {state}" if state else "", "yellow"))

    def on_tree_node_selected(self, event: Tree.NodeSelected[str]) -> None:
        event.stop()
        if event.node.data and not event.node.allow_expand:
            self.post_message(FileChosen(os.path.relpath(event.node.data, self._folder)))


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Folders first. A link to a folder is shown and not walked into: it may lead in a circle."""
    try:
        with os.scandir(folder) as found:
            entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found if entry.name != ".git"]
    except OSError:
        return []
    return sorted(entries, key=lambda entry: (not entry[1], entry[0].lower()))
