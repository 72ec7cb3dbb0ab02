"""GitHub Models: Chat Completions under GitHub's own paths, with a catalogue of its own."""

import msgspec
from msgspec import Struct

from openagent.plugins.provider import ModelInfo, ModelRequest
from openagent.providers.chat import ChatProvider
from openagent.providers.http import Endpoint

_VERSION = ("X-GitHub-Api-Version", "2022-11-28")


class GithubProvider(ChatProvider):
    def __init__(self, endpoint: Endpoint) -> None:
        """With an organization, usage is attributed to it."""
        headers = (_VERSION, *endpoint.headers)
        super().__init__(msgspec.structs.replace(endpoint, organization="", headers=headers), legacy_max_tokens=True)
        self._owner = f"/orgs/{endpoint.organization}" if endpoint.organization else ""

    def path(self, request: ModelRequest) -> str:
        return f"{self._owner}/inference/chat/completions"

    async def models(self) -> list[ModelInfo]:
        catalogue = await self.get("/catalog/models", list[_Model])
        return [
            ModelInfo(model.id, model.limits.max_input_tokens or 0, model.limits.max_output_tokens or 0)
            for model in catalogue
        ]


class _Limits(Struct, frozen=True):
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None


class _Model(Struct):
    id: str
    limits: _Limits = _Limits()
