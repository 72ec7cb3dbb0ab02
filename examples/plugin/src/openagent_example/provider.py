"""A provider turns a request into chunks and one answer. This one repeats what it was told."""

from collections.abc import AsyncGenerator

from openagent.plugins.loading import ProviderOptions
from openagent.plugins.provider import Answer, ModelInfo, ModelRequest, StreamItem, TextChunk
from openagent.protocol.messages import TextPart
from openagent.protocol.usage import Usage


class EchoProvider:
    scripted = False

    def __init__(self, options: ProviderOptions) -> None:
        self.name = options.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        said = next((message.text for message in reversed(request.messages) if message.text), "nothing")
        text = f"You said: {said}"
        yield TextChunk(text)
        words = sum(len(message.text.split()) for message in request.messages) + len(request.system.split())
        usage = Usage(input_tokens=words, output_tokens=len(text.split()))
        yield Answer([TextPart(text)], "end", usage, request.model)

    async def models(self) -> list[ModelInfo]:
        return [ModelInfo("parrot", context_window=8_000)]

    async def close(self) -> None:
        pass
