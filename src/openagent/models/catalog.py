"""From a model's name to the provider that answers for it..

Around each adapter, from the inside out: secrets masked in its errors, a circuit breaker, retries, the response cache;
around those the fallback chain, and around all of it the choice that `auto` makes.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from openagent import config
from openagent.config.problems import did_you_mean
from openagent.config.settings import ProviderSettings
from openagent.core.runtime import ResolvedModel
from openagent.plugins.loading import PluginLoader, ProviderOptions
from openagent.plugins.provider import (
    AuthenticationFailed,
    ModelInfo,
    ModelRequest,
    Provider,
    ProviderError,
    StreamItem,
)
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.locations import FORWARDED_ENV
from openagent.providers.build import (
    DEFAULT_SETTINGS,
    build_provider,
    default_providers,
    key_variables,
    make_resilient,
)
from openagent.providers.cache import CachingProvider
from openagent.providers.failover import FailoverPolicy, FailoverProvider, ModelChoice
from openagent.providers.http import Credential
from openagent.providers.local import LocalProvider, installed_models
from openagent.providers.retry import RetryPolicy
from openagent.providers.routing import DEFAULT_RULES, RoutingProvider, RoutingRule
from openagent.providers.vendors import VENDORS
from openagent.providers.wire import AUTH, WireProfile
from openagent.telemetry.windows import ModelFacts

NO_MODEL = "Run `openagent login` and choose one, or set a key such as ANTHROPIC_API_KEY."
DEFAULT_MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-5",
    "gemini": "gemini-2.5-pro",
    "local": "smollm2",
}
_REMEMBERED = 512


class CredentialSource(Protocol):
    """What is known of keys and logins beside the config and the environment."""

    version: int
    """Grows whenever an entry comes or goes."""

    def names(self) -> Sequence[str]: ...

    def credential(self, name: str, settings: ProviderSettings) -> Credential | None: ...

    def learn(self, secret: str) -> None:
        """It must never be shown."""
        ...


class Place(NamedTuple):
    """Whose settings hold: of a workspace and of a client's environment."""

    cwd: Path | None
    env: Mapping[str, str]


_OFFLINE = ProviderSettings(kind="local")


class ModelCatalog:
    """One provider object, and so one connection pool, for each distinct setting of a provider."""

    def __init__(
        self,
        load: Callable[[Path | None, Mapping[str, str]], config.Config],
        environment: Callable[[Mapping[str, str]], dict[str, str]],
        *,
        credentials: CredentialSource,
        redact: Callable[[str], str],
        facts: ModelFacts,
        offline: Path,
        plugins: PluginLoader,
    ) -> None:
        """`offline` is where offline models are installed."""
        self._load = load
        self._environment = environment
        self._credentials = credentials
        self._redact = redact
        self._facts = facts
        self._offline = offline
        self._plugins = plugins
        self._plain: dict[tuple[str, bytes], Provider] = {}
        self._wrapped: dict[bytes, Provider] = {}
        self._resolved: dict[tuple[str, str, tuple[tuple[str, str], ...]], tuple[object, int, ResolvedModel]] = {}

    def resolve(self, model: str, *, env: Mapping[str, str], cwd: Path) -> ResolvedModel:
        loaded = self._load(cwd, env)
        key = (model, str(cwd), tuple(sorted(env.items())))
        known = self._resolved.get(key)
        if known and known[0] is loaded and known[1] == self._credentials.version:
            return known[2]
        place = Place(cwd, env)
        resolved = self._resolve(self._name(model, place), loaded.settings, place)
        if len(self._resolved) >= _REMEMBERED:
            self._resolved.clear()
        self._resolved[key] = (loaded, self._credentials.version, resolved)
        return resolved

    def answering(self, model: str, env: Mapping[str, str], cwd: Path | None) -> str:
        """The name of what answers who chose this model, or none; empty: nothing is set up."""
        try:
            return self._name(model, Place(cwd, env))
        except OpenAgentError:
            return ""

    def _name(self, model: str, place: Place) -> str:
        return model or self._load(place.cwd, place.env).settings.model or _first_available(self.known(place))

    def forget(self) -> None:
        """Something outside the settings changed: an offline model was installed, or the price list loaded."""
        self._resolved.clear()

    def known(self, place: Place) -> dict[str, ProviderSettings]:
        """The providers that can be used now, by name."""
        settings = self._load(place.cwd, place.env).settings
        found = default_providers(self._environment(place.env))
        for name in self._credentials.names():
            if name not in found and name in DEFAULT_SETTINGS:
                found[name] = DEFAULT_SETTINGS[name]
        if installed_models(self._offline):
            found["local"] = _OFFLINE
        return found | settings.providers

    def provider(self, name: str, place: Place) -> Provider:
        """As it is: no retries, no detours."""
        provider = self._find(name, place)
        if provider.kind == "plugin":
            return self._of_plugin(name, provider)
        if provider.kind == "local":
            return self._remember(name, b"", lambda: LocalProvider(name, self._offline))
        env = self._environment(place.env)
        credential = None if provider.api_key else self._credentials.credential(name, provider)
        profiles = self._load(place.cwd, place.env).settings.wire_profiles
        relevant = sorted((key, value) for key, value in env.items() if key in FORWARDED_ENV)
        identity = msgspec.json.encode((provider, relevant, profiles, credential is None))

        def build() -> Provider:
            self._learn_secrets(place)
            own = {profile: _wire_profile(profile, lines.headers) for profile, lines in profiles.items()}
            built = build_provider(name, provider, env, profiles=own, credential=credential)
            return built if built.scripted else RedactingProvider(built, self._redact)

        return self._remember(name, identity, build)

    def trial(self, name: str, key: str, place: Place) -> Provider:
        """The provider as it would be with this key, which is kept nowhere. Whoever asks for it closes it."""
        settings = msgspec.structs.replace(self._find(name, place), api_key=key, auth="key")
        if settings.kind in ("plugin", "local", "demo"):
            raise OpenAgentError("invalid_argument", f"{name} takes no key.", hint="Name another provider.")
        profiles = self._load(place.cwd, place.env).settings.wire_profiles
        own = {profile: _wire_profile(profile, lines.headers) for profile, lines in profiles.items()}
        return RedactingProvider(
            build_provider(name, settings, self._environment(place.env), profiles=own), self._redact
        )

    def _of_plugin(self, name: str, given: ProviderSettings) -> Provider:
        def build() -> Provider:
            options = ProviderOptions(name, given.api_key, given.base_url, given.headers)
            built = self._plugins.provider(given.plugin)(options)
            return built if built.scripted else RedactingProvider(built, self._redact)

        return self._remember(name, msgspec.json.encode(given), build)

    def kind_of(self, name: str, place: Place) -> str:
        return self._find(name, place).kind

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        return self._environment(env)

    def model_of(self, name: str, place: Place) -> str:
        """The model a provider is tried with: the configured one, or its kind's usual one; empty when there is none."""
        settings = self._load(place.cwd, place.env).settings
        wanted = [settings.model, settings.auto.strong, settings.auto.cheap, *settings.fallback.chain]
        for full_name in wanted:
            provider, _, model = full_name.partition("/")
            if provider == name and model:
                return model
        return DEFAULT_MODELS.get(self._find(name, place).kind, "")

    def providers_of(self, model: str, place: Place) -> set[str]:
        """The names of all providers that a session with this model may ask."""
        settings = self._load(place.cwd, place.env).settings
        name = self._name(model, place)
        asked = [settings.auto.strong, settings.auto.cheap] if name == "auto" else [name]
        return {full_name.partition("/")[0] for full_name in (*asked, *settings.fallback.chain)}

    async def close(self) -> None:
        for provider in self._plain.values():
            await provider.close()

    def _resolve(self, name: str, settings: config.Settings, place: Place) -> ResolvedModel:
        if name == "auto":
            return self._auto(settings, place)
        choice = self._choice(name, settings, place)
        return ResolvedModel(
            choice.provider,
            choice.model,
            name,
            context_window=self._facts.window(self._find(choice.provider.name, place).kind, choice.model),
            max_output_tokens=self._facts.longest_answer(choice.model),
        )

    def _auto(self, settings: config.Settings, place: Place) -> ResolvedModel:
        auto = settings.auto
        if not auto.strong or not auto.cheap:
            raise OpenAgentError(
                "config_error",
                'The model is "auto", but [auto] names no models to choose from.',
                hint="Set `strong` and `cheap` under [auto] in the config.",
            )
        strong, cheap = self._resolve(auto.strong, settings, place), self._resolve(auto.cheap, settings, place)
        rules = [msgspec.convert(msgspec.to_builtins(rule), RoutingRule) for rule in auto.rules] or DEFAULT_RULES
        provider = RoutingProvider(
            ModelChoice(strong.provider, strong.model), ModelChoice(cheap.provider, cheap.model), rules
        )
        windows = [each.context_window for each in (strong, cheap) if each.context_window]
        # Under the dearer one's name, so that enough money is set aside before the choice is made.
        return ResolvedModel(provider, strong.model, strong.name, context_window=min(windows, default=0))

    def _choice(self, full_name: str, settings: config.Settings, place: Place) -> ModelChoice:
        name, model = _split(full_name)
        first = self._resilient(name, settings, place)
        fallback = settings.fallback
        if first.scripted or not (fallback.chain or fallback.on_quota == "wait"):
            return ModelChoice(first, model)
        chain = [
            ModelChoice(self._resilient(other, settings, place), other_model)
            for other, other_model in map(_split, fallback.chain)
        ]
        # One object for as long as nothing changes: it remembers which sessions are on a detour.
        identity = msgspec.json.encode((id(first), [(id(each.provider), each.model) for each in chain], fallback))
        if identity not in self._wrapped:
            self._wrapped[identity] = FailoverProvider(first, chain, FailoverPolicy(on_quota=fallback.on_quota))
        return ModelChoice(self._wrapped[identity], model)

    def _resilient(self, name: str, settings: config.Settings, place: Place) -> Provider:
        plain = self.provider(name, place)
        if plain.scripted:
            return plain
        policy = RetryPolicy.from_env(self._environment(place.env))
        identity = msgspec.json.encode((id(plain), policy, settings.cache.responses))
        if identity not in self._wrapped:
            resilient = make_resilient(plain, policy)
            self._wrapped[identity] = CachingProvider(resilient) if settings.cache.responses else resilient
        return self._wrapped[identity]

    def _find(self, name: str, place: Place) -> ProviderSettings:
        known = self.known(place)
        if name in known:
            return known[name]
        if name in DEFAULT_SETTINGS:
            # There is no key for it yet: whoever asks is told how to give it one.
            return DEFAULT_SETTINGS[name]
        if name == "local":
            return _OFFLINE
        near = did_you_mean(name, {*known, *DEFAULT_SETTINGS, "local"})
        guess = f"Did you mean {near!r}? " if near else ""
        raise OpenAgentError(
            "config_error",
            f"There is no provider named {name!r}.",
            hint=f"{guess}Configured are: {', '.join(sorted(known)) or 'none'}. Add it under [providers.{name}] in the "
            "config.",
        )

    def _remember(self, name: str, identity: bytes, build: Callable[[], Provider]) -> Provider:
        key = (name, identity)
        if key not in self._plain:
            self._plain[key] = build()
        return self._plain[key]

    def _learn_secrets(self, place: Place) -> None:
        """All of them: a vendor or a proxy may repeat another's."""
        settings, env = self._load(place.cwd, place.env).settings, self._environment(place.env)
        for secret in (*config.secrets_of(settings), *(env.get(variable, "") for variable in key_variables())):
            self._credentials.learn(secret)


class RedactingProvider:
    """Wraps an adapter. What a vendor says in an error may repeat what it was sent: known secrets are masked."""

    scripted = False

    def __init__(self, inner: Provider, redact: Callable[[str], str]) -> None:
        self.name = inner.name
        self._inner = inner
        self._redact = redact

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        try:
            async with aclosing(self._inner.stream(request)) as items:
                async for item in items:
                    yield item
        except ProviderError as problem:
            self._mask(problem)
            raise

    async def models(self) -> list[ModelInfo]:
        try:
            return await self._inner.models()
        except ProviderError as problem:
            self._mask(problem)
            raise

    def _mask(self, problem: ProviderError) -> None:
        info = problem.info
        problem.info = ErrorInfo(info.code, self._redact(info.message), self._redact(info.hint), info.recoverable)
        problem.args = (problem.info.message,)
        if isinstance(problem, AuthenticationFailed):
            problem.said = self._redact(problem.said)

    async def close(self) -> None:
        await self._inner.close()


def _split(full_name: str) -> tuple[str, str]:
    provider, _, model = full_name.partition("/")
    if not model:
        raise OpenAgentError("config_error", f"{full_name!r} is not a model.", hint="Write it as provider/model.")
    return provider, model


def _wire_profile(name: str, lines: Sequence[str]) -> WireProfile:
    headers = [AUTH if line == AUTH[0] else _header(line) for line in lines]
    return WireProfile(name, {"*": headers})


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name, value.strip()


def _first_available(known: Mapping[str, ProviderSettings]) -> str:
    for kind, model in DEFAULT_MODELS.items():
        for name, each in known.items():
            if each.kind == kind:
                return f"{name}/{model}"
        if kind == "gemini":  # before the offline model: the vendors that speak another one's format
            for vendor in VENDORS:
                if vendor.name in known and vendor.base_url:
                    return f"{vendor.name}/{vendor.model}"
    raise OpenAgentError("model_not_found", "No model is set up.", hint=NO_MODEL)
