"""From a model's name to the provider that answers for it..

Around each adapter, from the inside out: secrets masked in its errors, a clock, a circuit breaker, retries, the
response cache; around those the fallback chain, and around all of it the choice that `auto` makes.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import msgspec

from openagent import config
from openagent.config.problems import did_you_mean
from openagent.config.settings import ProviderSettings
from openagent.core.runtime import ResolvedModel
from openagent.models.model_facts import ServedModels, configured
from openagent.plugins.loading import PluginLoader, ProviderOptions
from openagent.plugins.provider import (
    AuthenticationFailed,
    ModelInfo,
    ModelRequest,
    Provider,
    ProviderError,
    StreamItem,
)
from openagent.plugins.provider_limits import ProviderLimits
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.locations import FORWARDED_ENV
from openagent.providers.build import (
    DEFAULT_SETTINGS,
    build_provider,
    default_providers,
    key_variables,
    key_variables_of,
    make_resilient,
)
from openagent.providers.cache import CachingProvider
from openagent.providers.chat import ChatProvider
from openagent.providers.failover import FailoverPolicy, FailoverProvider, ModelChoice
from openagent.providers.http import Credential, HttpProvider
from openagent.providers.local import LocalProvider, installed_models
from openagent.providers.retry import RetryPolicy
from openagent.providers.routing import DEFAULT_RULES, RoutingProvider, RoutingRule
from openagent.providers.several_credentials import Held, SeveralCredentials
from openagent.providers.several_endpoints import SeveralEndpoints
from openagent.providers.variables import chosen_model, what_is_missing
from openagent.providers.vendors import BY_NAME, vendor_of_model
from openagent.providers.wire import AUTH, WireProfile
from openagent.telemetry.windows import longest_answer, window

NO_MODEL = "Run `openagent login` and choose one, or set a key such as ANTHROPIC_API_KEY."
DEFAULT_MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-5",
    "gemini": "gemini-2.5-pro",
    "local": "smollm2",
}
_REMEMBERED = 512


class NamedCredential(NamedTuple):
    entry: str
    """Its name in the vault: of the provider, and after an @ which of several."""
    auth: Literal["key", "oauth"]
    give: Credential


class CredentialSource(Protocol):
    """What is known of keys and logins beside the config and the environment."""

    version: int
    """Grows whenever an entry comes or goes."""

    def names(self) -> Sequence[str]: ...

    def look_again(self) -> None:
        """Another daemon that shares the vault may have changed it."""
        ...

    def names_of(self, holder: str) -> Sequence[str]:
        """The providers that this person or team has a key of their own for."""
        ...

    def own(self, name: str, whose: Sequence[str]) -> NamedCredential | None:
        """The key for a provider of the first of these who has one."""
        ...

    def credentials(self, name: str, settings: ProviderSettings, first: str) -> Sequence[NamedCredential]:
        """What there is for a provider, in the order in which it is tried; empty: look elsewhere. `first` names the one
        that was chosen."""
        ...

    def usable(self, entry: str) -> bool: ...

    def worked(self, entry: str) -> None: ...

    def failed(self, entry: str, problem: ProviderError) -> None: ...

    def learn(self, secret: str) -> None:
        """It must never be shown."""
        ...


class Place(NamedTuple):
    """Whose settings hold: of a workspace and of a client's environment."""

    cwd: Path | None
    env: Mapping[str, str]
    whose: tuple[str, ...] = ()
    """The person and the team whose own keys come first."""


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
        offline: Path,
        plugins: PluginLoader,
        look_again: Callable[[], None],
        watch: Callable[[Provider], Provider],
        limits: ProviderLimits | None,
    ) -> None:
        """`offline` is where offline models are installed; `look_again` has settings read anew; `watch` times what a
        provider is asked; `limits` are those that others ask by too."""
        self._watch = watch
        self._limits = limits
        self._look_again = look_again
        self._load = load
        self._environment = environment
        self._credentials = credentials
        self._redact = redact
        self._offline = offline
        self._plugins = plugins
        self._served = ServedModels()
        self._plain: dict[tuple[str, bytes], Provider] = {}
        self._wrapped: dict[bytes, Provider] = {}
        self._resolved: dict[
            tuple[str, str, tuple[tuple[str, str], ...], tuple[str, ...]], tuple[object, int, ResolvedModel]
        ] = {}

    def resolve(self, model: str, *, env: Mapping[str, str], cwd: Path, whose: tuple[str, ...] = ()) -> ResolvedModel:
        loaded = self._load(cwd, env)
        if whose:
            self._credentials.look_again()
        key = (model, str(cwd), tuple(sorted(env.items())), whose)
        known = self._resolved.get(key)
        if known and known[0] is loaded and known[1] == self._credentials.version:
            return known[2]
        place = Place(cwd, env, whose)
        resolved = self._resolve(self._name(model, place), loaded.settings, place)
        if len(self._resolved) >= _REMEMBERED:
            self._resolved.clear()
        self._resolved[key] = (loaded, self._credentials.version, resolved)
        return resolved

    async def learn(self, model: str, *, env: Mapping[str, str], cwd: Path, whose: tuple[str, ...] = ()) -> None:
        """Servers that speak OpenAI's format are asked what their models can, so that `resolve` knows it. Whatever goes
        wrong is left to the turn to tell."""
        place = Place(cwd, env, whose)
        try:
            settings = self._load(cwd, env).settings
            name = self._name(model, place)
            asked = self._auto_pair(settings, place) if name == "auto" else [name]
            pairs = [_split(each) for each in asked]
            servers = [(self.provider(one, place), other) for one, other in pairs if self._is_open(one, other, place)]
        except OpenAgentError:
            return
        if any([await self._served.learn(server, model) for server, model in servers]):
            self.forget()

    def _is_open(self, provider: str, model: str, place: Place) -> bool:
        """Nothing but its server knows the model's window."""
        settings = self._find(provider, place)
        if settings.kind != "compatible":
            return False
        return provider not in BY_NAME or not window(settings.kind, model)

    def described(self, name: str, told: ModelInfo, place: Place) -> ModelInfo:
        """All that is known of a model that its provider told this of."""
        provider, model = _split(name)
        given = configured(self._load(place.cwd, place.env).settings.models, name)
        return ModelInfo(
            told.name,
            given.context_window or told.context_window or window(self._find(provider, place).kind, model),
            given.max_output_tokens or told.max_output_tokens or longest_answer(model) or 0,
            told.tools if given.tools is None else given.tools,
            told.images,
        )

    def check(self, model: str, *, env: Mapping[str, str], cwd: Path, whose: tuple[str, ...] = ()) -> ResolvedModel:
        """Like `resolve`, for a name that somebody just chose: a provider that has no key yet is refused, too."""
        place = Place(cwd, env, whose)
        resolved = self.resolve(model, env=env, cwd=cwd, whose=whose)
        for name in self.providers_of(model, place) if model == "auto" else {_split(model)[0]}:
            if name not in self.known(place) and name != "local":
                variables = key_variables_of(self._find(name, place).kind, name)
                where = f", or set {variables[0]}" if variables else ""
                raise AuthenticationFailed(
                    f"There is no API key for {name}, so {model} cannot answer.",
                    hint=f"Add one with `openagent auth add {name}`{where}, or choose another model.",
                )
        return resolved

    def answering(self, model: str, env: Mapping[str, str], cwd: Path | None) -> str:
        """The name of what answers who chose this model, or none; empty: nothing is set up."""
        try:
            return self._name(model, Place(cwd, env))
        except OpenAgentError:
            return ""

    def _name(self, model: str, place: Place) -> str:
        return model or self._load(place.cwd, place.env).settings.model or self._first_available(place)

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
        for name in (each for holder in place.whose for each in self._credentials.names_of(holder)):
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
        settings = self._load(place.cwd, place.env).settings
        chosen, profiles = settings.credentials.get(name, ""), settings.wire_profiles
        held: Sequence[NamedCredential] = ()
        if (own_key := self._credentials.own(name, place.whose)) is not None:
            provider, held = msgspec.structs.replace(provider, api_key="", auth="key"), [own_key]
        elif not provider.api_key:
            held = self._credentials.credentials(name, provider, chosen)
        relevant = sorted((key, value) for key, value in env.items() if key in FORWARDED_ENV)
        identity = msgspec.json.encode((provider, relevant, profiles, [each[:2] for each in held]))
        own = {profile: _wire_profile(profile, lines.headers) for profile, lines in profiles.items()}

        def build_with(auth: Literal["key", "oauth"], credential: Credential | None) -> Provider:
            given = msgspec.structs.replace(provider, auth=auth)
            built = build_provider(name, given, env, profiles=own, credential=credential)
            return built if built.scripted else RedactingProvider(built, self._redact)

        def build() -> Provider:
            self._learn_secrets(place)
            several = [Held(entry, build_with(auth, give)) for entry, auth, give in held]
            if len(several) > 1:
                return SeveralCredentials(several, self._credentials)
            return several[0].provider if several else build_with(provider.auth, None)

        return self._remember(name, identity, build)

    def trial(self, name: str, key: str, place: Place) -> Provider:
        """The provider as it would be with this key, which is kept nowhere. Whoever asks for it closes it."""
        return self.trial_of(name, msgspec.structs.replace(self._find(name, place), api_key=key, auth="key"), place)

    def trial_of(self, name: str, settings: ProviderSettings, place: Place) -> Provider:
        """The same, of settings that are not kept either."""
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
        return _usual_model(name, self._find(name, place).kind, self._environment(place.env))

    def providers_of(self, model: str, place: Place) -> set[str]:
        """The names of all providers that a session with this model may ask."""
        settings = self._load(place.cwd, place.env).settings
        name = self._name(model, place)
        asked = self._auto_pair(settings, place) if name == "auto" else [name]
        return {full_name.partition("/")[0] for full_name in (*asked, *settings.fallback.chain)}

    async def close(self) -> None:
        await self._served.close()
        for provider in self._plain.values():
            await provider.close()

    def _resolve(self, name: str, settings: config.Settings, place: Place) -> ResolvedModel:
        if name == "auto":
            return self._auto(settings, place)
        choice = self._choice(name, settings, place)
        told = self._served.known(self.provider(_split(name)[0], place), choice.model)
        known = self.described(name, told or ModelInfo(choice.model), place)
        given = configured(settings.models, name)
        return ResolvedModel(
            choice.provider,
            choice.model,
            name,
            context_window=known.context_window,
            max_output_tokens=known.max_output_tokens or None,
            temperature=given.temperature,
            thinking=given.thinking,
            tools=known.tools is not False,
        )

    def _auto(self, settings: config.Settings, place: Place) -> ResolvedModel:
        strong, cheap = (self._resolve(each, settings, place) for each in self._auto_pair(settings, place))
        given = settings.auto.rules
        rules = [msgspec.convert(msgspec.to_builtins(rule), RoutingRule) for rule in given] or DEFAULT_RULES
        provider = RoutingProvider(
            ModelChoice(strong.provider, strong.model), ModelChoice(cheap.provider, cheap.model), rules
        )
        windows = [each.context_window for each in (strong, cheap) if each.context_window]
        # Under the dearer one's name, so that enough money is set aside before the choice is made.
        return msgspec.structs.replace(
            strong, provider=provider, context_window=min(windows, default=0), tools=strong.tools and cheap.tools
        )

    def _auto_pair(self, settings: config.Settings, place: Place) -> tuple[str, str]:
        """The strong one and the cheap one. What [auto] leaves out is the model that answers without it, and the
        smaller one of the same vendor."""
        usual = settings.model if settings.model != "auto" else ""
        strong = settings.auto.strong or usual or self._first_available(place)
        vendor = BY_NAME.get(strong.partition("/")[0])
        small = f"{vendor.name}/{vendor.small}" if vendor and vendor.small else strong
        return strong, settings.auto.cheap or small

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
        if often := self._find(name, place).requests_per_minute:
            policy = msgspec.structs.replace(policy, interval=max(policy.interval, 60 / often))
        identity = msgspec.json.encode((id(plain), policy, settings.cache.responses))
        if identity not in self._wrapped:
            resilient = make_resilient(self._watch(plain), policy, self._limits)
            self._wrapped[identity] = CachingProvider(resilient) if settings.cache.responses else resilient
        return self._wrapped[identity]

    def _find(self, name: str, place: Place) -> ProviderSettings:
        known = self.known(place)
        if name not in known and name not in DEFAULT_SETTINGS:
            self._look_again()  # it may have been written a moment ago
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

    def _first_available(self, place: Place) -> str:
        known, env = self.known(place), self._environment(place.env)
        for kind in ("anthropic", "openai", "gemini", "azure", "compatible", "local"):
            for name, each in known.items():
                if each.kind == kind and (model := _usual_model(name, kind, env)):
                    return f"{name}/{model}"
        raise OpenAgentError("model_not_found", "No model is set up.", hint=what_is_missing(env) or NO_MODEL)

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

    async def describe(self, model: str) -> ModelInfo | None:
        """Only servers that speak OpenAI's format tell more than the names of their models."""
        inner = self._asked_first
        return await inner.describe(model) if isinstance(inner, ChatProvider) else None

    async def get(self, path: str) -> None:
        """Asks for one thing of a provider that is spoken to over HTTP, and sees whether it is refused."""
        inner = self._asked_first
        if isinstance(inner, HttpProvider):
            try:
                await inner.get(path, dict)
            except ProviderError as problem:
                self._mask(problem)
                raise

    @property
    def _asked_first(self) -> Provider:
        return self._inner.first if isinstance(self._inner, SeveralEndpoints) else self._inner

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
        vendor = vendor_of_model(full_name)
        meant = f", such as {vendor.name}/{full_name}" if vendor else ""
        raise OpenAgentError(
            "config_error",
            f"{full_name!r} does not say whose model it is.",
            hint=f"Write it as provider/model{meant}. `openagent models list` shows what there is.",
        )
    return provider, model


def _wire_profile(name: str, lines: Sequence[str]) -> WireProfile:
    headers = [AUTH if line == AUTH[0] else _header(line) for line in lines]
    return WireProfile(name, {"*": headers})


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name, value.strip()


def _usual_model(name: str, kind: str, env: Mapping[str, str]) -> str:
    """What answers when nobody chose. What the environment names is meant for the server that it names."""
    vendor = BY_NAME.get(name)
    if kind == "compatible" and name != "compatible":
        return vendor.model if vendor else ""
    return chosen_model(kind, env) or DEFAULT_MODELS.get(kind, "")
