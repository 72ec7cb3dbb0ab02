"""One reader for each agent whose sessions can be brought. A new one is named here."""

from openagent.history.readers.aider import AiderReader
from openagent.history.readers.claude import ClaudeReader
from openagent.history.readers.codex import CodexReader
from openagent.history.readers.gemini import GeminiReader
from openagent.history.readers.goose import GooseReader
from openagent.history.readers.opencode import OpencodeReader
from openagent.history.reading import Reader
from openagent.protocol.origin import ForeignAgent

READERS: dict[ForeignAgent, Reader] = {
    reader.agent: reader
    for reader in (ClaudeReader(), CodexReader(), GeminiReader(), OpencodeReader(), GooseReader(), AiderReader())
}
"""aider comes last: where it was used is known best when the others were read."""
