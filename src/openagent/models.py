"""From a model's name to the provider that answers for it. Part of the composition root."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from openagent import config
from openagent.core.runtime import ResolvedModel
from openagent.plugins.provider import Provider
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.locations import FORWARDED_ENV
from openagent.providers.build import ProviderSettings, build_provider, default_providers

NO_MODEL = (
    "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or name one with --model; "
    "`openagent demo` shows a scripted tour without any."
)
DEFAULT_MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-5",
    "gemini": "gemini-2.5-pro",
}


class ModelCatalog:
    """One provider object, and so one connection pool, for each distinct setting of a provider."""

    def __init__(
        self,
        load: Callable[[Path | None, Mapping[str, str]], config.Config],
        environment: Callable[[Mapping[str, str]], dict[str, str]],
    ) -> None:
        self._load = load
        self._environment = environment
        self._providers: dict[tuple[str, bytes], Provider] = {}

    def resolve(self, model: str, *, env: Mapping[str, str], cwd: Path) -> ResolvedModel:
        settings = self._load(cwd, env).settings
        full = self._environment(env)
        known = {
            **default_providers(full),
            **{name: _convert(name, given) for name, given in settings.providers.items()},
        }
        name = model or settings.model or _first_available(known)
        provider_name, _, model_name = name.partition("/")
        if not model_name:
            raise OpenAgentError("config_error", f"{name!r} is not a model.", hint="Write it as provider/model.")
        if provider_name not in known:
            raise OpenAgentError(
                "config_error",
                f"There is no provider named {provider_name!r}.",
                hint=f"Configured are: {', '.join(sorted(known))}.",
            )
        provider = self._provider(provider_name, known[provider_name], full)
        return ResolvedModel(provider, model_name, name, context_window=0)

    def _provider(self, name: str, settings: ProviderSettings, env: Mapping[str, str]) -> Provider:
        relevant = {key: value for key, value in env.items() if key in FORWARDED_ENV}
        key = (name, msgspec.json.encode((settings, sorted(relevant.items()))))
        if key not in self._providers:
            self._providers[key] = build_provider(name, settings, env)
        return self._providers[key]

    async def close(self) -> None:
        for provider in self._providers.values():
            await provider.close()


def _convert(name: str, given: config.ProviderSettings) -> ProviderSettings:
    if given.kind == "local":
        raise OpenAgentError("config_error", f"The provider {name} is local, and no offline model is installed.")
    return ProviderSettings(
        kind=given.kind,
        base_url=given.base_url,
        api_key=given.api_key,
        auth="key" if given.auth == "key" else "oauth",
        wire_profile=given.wire_profile,
        organization=given.organization,
        api=given.api or None,
        api_version=given.api_version,
        project=given.project,
        location=given.location,
        credentials_file=given.credentials_file,
        headers=given.headers,
        timeout=given.timeout,
    )


def _first_available(known: Mapping[str, ProviderSettings]) -> str:
    for kind, model in DEFAULT_MODELS.items():
        for name, settings in known.items():
            if settings.kind == kind:
                return f"{name}/{model}"
    raise OpenAgentError("config_error", "No model is configured.", hint=NO_MODEL)
