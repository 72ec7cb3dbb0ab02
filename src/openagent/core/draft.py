"""The answer being streamed right now, as far as it has come."""

from openagent.protocol.messages import Part, TextPart, ThinkingPart
from openagent.protocol.sessions import LiveAnswer


class Draft:
    def __init__(self, message_number: int) -> None:
        self.message_number = message_number
        self._runs: list[tuple[type[TextPart] | type[ThinkingPart], list[str]]] = []

    def add(self, kind: type[TextPart] | type[ThinkingPart], text: str) -> None:
        if not self._runs or self._runs[-1][0] is not kind:
            self._runs.append((kind, []))
        self._runs[-1][1].append(text)

    def clear(self) -> None:
        self._runs.clear()

    @property
    def parts(self) -> list[Part]:
        return [kind("".join(chunks)) for kind, chunks in self._runs]

    def so_far(self) -> LiveAnswer:
        return LiveAnswer(message_number=self.message_number, parts=self.parts)
