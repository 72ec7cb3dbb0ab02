"""What a session is told of its workspace's code by itself: a map at its start, and the pieces a message is about.

Only where an index has been built: nobody's first message waits for one. What has changed on disk since then is not
shown, and all of it is bounded.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from openagent.config.settings import IndexSettings
from openagent.index.walk import decoded, read
from openagent.plugins.context import text_tokens
from openagent.plugins.gate import Admission, FrontGate, Gate, Scene
from openagent.plugins.index import Index
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.index import CodeHit
from openagent.protocol.messages import NotePart

_CANDIDATES = 8
_MAX_LINES = 40
_MIN_WORDS = 3
"""Fewer say too little to find code by: `go on`, `yes`, `why?`."""
_MAP = "The definitions of this workspace that are used most, by file:\n"
_CODE = "Code of this workspace that may have to do with this message (found by search, not chosen by the user):\n"


class CodeGate(FrontGate):
    """Adds what the index knows to what another gate lets in."""

    def __init__(
        self,
        gate: Gate,
        index: Index,
        settings: Callable[[Path], IndexSettings],
        was_shown: Callable[[str, Path], None],
    ) -> None:
        super().__init__(gate)
        self._index = index
        self._settings = settings
        self._was_shown = was_shown

    async def admit(self, scene: Scene, text: str) -> Admission:
        admission = await self._gate.admit(scene, text)
        if admission.blocked:
            return admission
        try:
            notes = await self._notes(scene, text)
        except OpenAgentError:  # never indexed, or not readable just now: the turn goes on without
            return admission
        return msgspec.structs.replace(admission, notes=[*admission.notes, *notes]) if notes else admission

    async def _notes(self, scene: Scene, text: str) -> list[NotePart]:
        settings = self._settings(scene.workspace)
        if not self._index.is_built(scene.workspace):
            return []
        notes: list[NotePart] = []
        if scene.info.turn_count <= 1 and settings.map_tokens:
            drawn = await self._index.repository_map(scene.workspace, settings.map_tokens)
            notes += [NotePart("map", _MAP + drawn)] if drawn else []
        if settings.retrieved_tokens and len(text.split()) >= _MIN_WORDS and not text.lstrip().startswith(("/", "!")):
            notes += await self._retrieved(scene, scene.query or text, settings.retrieved_tokens)
        return notes

    async def _retrieved(self, scene: Scene, text: str, most: int) -> list[NotePart]:
        found = await self._index.search(scene.workspace, text, _CANDIDATES)
        shown: list[CodeHit] = []
        pieces: list[str] = []
        for hit in await asyncio.to_thread(_still_there, scene.workspace, found):
            piece = _piece(hit)
            if text_tokens("\n\n".join([*pieces, piece])) > most:
                break
            shown.append(hit)
            pieces.append(piece)
        if not shown:
            return []
        await self._index.shown(scene.workspace, scene.info.id, "", text, shown)
        self._was_shown(scene.info.id, scene.workspace)
        return [NotePart("code", _CODE + "\n\n".join(pieces))]


def _still_there(workspace: Path, hits: Sequence[CodeHit]) -> list[CodeHit]:
    there: list[CodeHit] = []
    for hit in hits:
        content = read(workspace, hit.path)
        if content is not None and content[0] is not None and hit.text.strip() in decoded(content[0]):
            there.append(hit)
    return there


def _piece(hit: CodeHit) -> str:
    lines = hit.text.splitlines()
    more = [f"[{len(lines) - _MAX_LINES} more lines]"] if len(lines) > _MAX_LINES else []
    return "\n".join([f"{hit.path}:{hit.start_line}-{hit.end_line}", *lines[:_MAX_LINES], *more])
