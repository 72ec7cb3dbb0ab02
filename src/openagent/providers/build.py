"""From settings to providers. Data comes in; nothing here reads configuration or the process's environment by itself.

`env` is the environment people already have; `variables.py` lists what counts of it.
"""

from collections.abc import Mapping
from typing import get_args

from msgspec.structs import replace

from openagent.config.settings import ProviderKind, ProviderSettings
from openagent.dialects.tongue import Tongues
from openagent.plugins.provider import Provider
from openagent.plugins.provider_limits import ProviderLimits
from openagent.protocol.errors import OpenAgentError
from openagent.providers import vendors
from openagent.providers.anthropic import AnthropicProvider
from openagent.providers.breaker import CircuitBreaker
from openagent.providers.chat import ChatProvider
from openagent.providers.demo import DemoProvider
from openagent.providers.gemini import GeminiProvider
from openagent.providers.github import GithubProvider
from openagent.providers.http import Credential, Endpoint
from openagent.providers.responses import ResponsesProvider
from openagent.providers.retry import RetryingProvider, RetryPolicy
from openagent.providers.several_endpoints import SeveralEndpoints
from openagent.providers.vertex import ServiceAccount
from openagent.providers.wire import BUILT_IN, AuthKind, WireProfile

_OPENAI = "https://api.openai.com/v1"
_BASE_URLS: Mapping[ProviderKind, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": _OPENAI,
    "gemini": "https://generativelanguage.googleapis.com",
    "github": "https://models.github.ai",
}
_BASE_URL_VARIABLES: Mapping[ProviderKind, str] = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "azure": "AZURE_OPENAI_ENDPOINT",
    "compatible": "OPENAI_BASE_URL",
}
_KEY_VARIABLES: Mapping[ProviderKind, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "azure": ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_KEY"),
    "github": ("GITHUB_TOKEN",),
}
_AZURE_CHAT_VERSION = "2024-10-21"
_OLLAMA_PORT = 11434


DEFAULT_SETTINGS: Mapping[str, ProviderSettings] = {
    **{kind: ProviderSettings(kind=kind) for kind in get_args(ProviderKind) if kind not in ("demo", "local", "plugin")},
    **vendors.SETTINGS,
}
"""Every kind as it is without any configuration, under its own name, and the vendors that speak another's format."""


def key_variables_of(kind: str, name: str = "") -> list[str]:
    """The environment variables that hold keys for it. `name` is the provider's."""
    own = next((names for known, names in _KEY_VARIABLES.items() if known == kind), ())
    vendor = vendors.BY_NAME.get(name)
    also = (vendor.variable,) if vendor and vendor.variable else ()
    return [*own, *(("ANTHROPIC_AUTH_TOKEN",) if kind == "anthropic" else ()), *also]


def key_variables() -> list[str]:
    others = [vendor.variable for vendor in vendors.VENDORS if vendor.variable]
    return [*(name for kind in _KEY_VARIABLES for name in key_variables_of(kind)), *others]


def default_providers(env: Mapping[str, str]) -> dict[str, ProviderSettings]:
    """What is there without any configuration: whatever the environment has a key or an address for, and the demo.

    The order is the one in which a default model would be looked for."""
    found: dict[str, ProviderSettings] = {}
    if env.get("ANTHROPIC_API_KEY") or env.get("ANTHROPIC_AUTH_TOKEN"):
        found["anthropic"] = ProviderSettings(kind="anthropic")
    if env.get("OPENAI_API_KEY"):
        found["openai"] = ProviderSettings(kind="openai")
    if any(env.get(name) for name in (*_KEY_VARIABLES["gemini"], "GOOGLE_APPLICATION_CREDENTIALS")):
        found["gemini"] = ProviderSettings(kind="gemini")
    if env.get("AZURE_OPENAI_ENDPOINT") and _key_from(env, "azure"):
        found["azure"] = ProviderSettings(kind="azure")
    if address_of("compatible", env):
        found["compatible"] = ProviderSettings(kind="compatible")
    if env.get("OLLAMA_HOST"):
        found["ollama"] = ProviderSettings(kind="compatible", base_url=_ollama_url(env["OLLAMA_HOST"]))
    for vendor in vendors.VENDORS:
        if vendor.variable and env.get(vendor.variable):
            found[vendor.name] = vendors.SETTINGS[vendor.name]
    if env.get("GITHUB_TOKEN"):
        found["github"] = ProviderSettings(kind="github")
    found["demo"] = ProviderSettings(kind="demo")
    return found


def make_resilient(provider: Provider, policy: RetryPolicy, limits: ProviderLimits | None = None) -> Provider:
    """Retries around a circuit breaker around the provider."""
    return RetryingProvider(CircuitBreaker(provider, waits=policy.attempts - 1), policy, limits=limits)


def build_provider(
    name: str,
    settings: ProviderSettings,
    env: Mapping[str, str],
    *,
    profiles: Mapping[str, WireProfile] | None = None,
    credential: Credential | None = None,
) -> Provider:
    """`env` fills in what the settings leave open. `credential` comes before both: a key from the vault, or a function
    that gives a token which is kept fresh."""
    if settings.kind == "demo":
        return DemoProvider(name)
    if settings.base_urls:
        others = [replace(settings, base_url=url, base_urls=[]) for url in settings.base_urls]
        own = [replace(settings, base_urls=[])] if settings.base_url else []
        built = [
            (each.base_url, build_provider(name, each, env, profiles=profiles, credential=credential))
            for each in (*own, *others)
        ]
        return SeveralEndpoints(built, nearest=settings.nearest)
    profile = _profile(name, settings, profiles or {})
    if settings.kind == "gemini" and (account := _service_account(name, settings, env, credential)):
        return _vertex(name, settings, env, profile, account)
    return _adapter(settings, _endpoint(name, settings, env, profile, credential), env)


def _adapter(settings: ProviderSettings, endpoint: Endpoint, env: Mapping[str, str]) -> Provider:
    match settings.kind:
        case "anthropic":
            return AnthropicProvider(endpoint)
        case "gemini":
            return GeminiProvider(endpoint)
        case "azure":
            return _azure(settings, endpoint, env)
        case "github":
            return GithubProvider(endpoint)
        case _:
            return _openai(settings, endpoint)


def _openai(settings: ProviderSettings, endpoint: Endpoint) -> Provider:
    own = endpoint.base_url.startswith(_OPENAI)
    if settings.api == "responses" or (settings.api is None and own and settings.kind == "openai"):
        return ResponsesProvider(endpoint)
    return ChatProvider(endpoint, echo_reasoning=not own, legacy_max_tokens=not own)


def _azure(settings: ProviderSettings, endpoint: Endpoint, env: Mapping[str, str]) -> Provider:
    if settings.api == "responses":
        query = f"?api-version={settings.api_version}" if settings.api_version else ""
        return ResponsesProvider(endpoint, prefix="/openai/v1", query=query)
    version = settings.api_version or env.get("AZURE_OPENAI_API_VERSION") or _AZURE_CHAT_VERSION
    return ChatProvider(endpoint, query=f"?api-version={version}", deployment_paths=True)


def _service_account(
    name: str, settings: ProviderSettings, env: Mapping[str, str], credential: Credential | None
) -> ServiceAccount | None:
    """A key comes first: it needs no project."""
    path = settings.credentials_file
    if not path and not (credential or settings.api_key or _key_from(env, "gemini")):
        path = env.get("GOOGLE_APPLICATION_CREDENTIALS", "")
    project = settings.project or env.get("GOOGLE_CLOUD_PROJECT", "")
    return ServiceAccount(name, path, project=project) if path else None


def _vertex(
    name: str, settings: ProviderSettings, env: Mapping[str, str], profile: WireProfile, account: ServiceAccount
) -> Provider:
    location = settings.location or env.get("GOOGLE_CLOUD_LOCATION") or "global"
    host = "aiplatform.googleapis.com" if location == "global" else f"{location}-aiplatform.googleapis.com"
    endpoint = Endpoint(
        name=name,
        base_url=settings.base_url or f"https://{host}",
        credential=account.token,
        auth="oauth",
        profile=profile,
        headers=tuple(settings.headers.items()),
        stall_timeout=settings.timeout,
        tongues=Tongues(settings.dialect, settings.dialects),
    )
    return GeminiProvider(endpoint, place=lambda: f"projects/{account.project}/locations/{location}")


def _endpoint(
    name: str,
    settings: ProviderSettings,
    env: Mapping[str, str],
    profile: WireProfile,
    credential: Credential | None,
) -> Endpoint:
    auth: AuthKind = settings.auth
    own = _key_from(env, settings.kind) or vendors.key_of(name, settings, env)
    key: Credential = credential or settings.api_key or own
    if not key and settings.kind == "anthropic" and env.get("ANTHROPIC_AUTH_TOKEN"):
        key, auth = env["ANTHROPIC_AUTH_TOKEN"], "oauth"
    if settings.kind == "compatible" and not key and not settings.base_url:
        # The environment's key belongs to the environment's address, and to no other server.
        key = env.get("OPENAI_API_KEY", "")
    if settings.kind == "azure" and auth == "key":
        auth = "azure-key"
    return Endpoint(
        name=name,
        base_url=_base_url(name, settings, env),
        credential=key,
        auth=auth,
        key_variable=next(iter(_KEY_VARIABLES.get(settings.kind, ())), ""),
        profile=profile,
        organization=settings.organization or (env.get("OPENAI_ORG_ID", "") if settings.kind == "openai" else ""),
        headers=tuple(settings.headers.items()),
        needs_key=settings.kind != "compatible",
        traced=settings.traced,
        stall_timeout=settings.timeout,
        tongues=Tongues(settings.dialect, settings.dialects),
    )


def _base_url(name: str, settings: ProviderSettings, env: Mapping[str, str]) -> str:
    variable = _BASE_URL_VARIABLES.get(settings.kind, "")
    base_url = settings.base_url or address_of(settings.kind, env) or _BASE_URLS.get(settings.kind, "")
    if not base_url:
        raise OpenAgentError(
            "config_error",
            f"The provider {name} has no base_url.",
            hint=f"Set base_url in [providers.{name}], or {variable}.",
        )
    return base_url


def address_of(kind: ProviderKind, env: Mapping[str, str]) -> str:
    """What the environment says of it."""
    variable = _BASE_URL_VARIABLES.get(kind, "")
    return env.get(variable, "") or (env.get("OPENAI_API_BASE", "") if variable == "OPENAI_BASE_URL" else "")


def _key_from(env: Mapping[str, str], kind: ProviderKind) -> str:
    return next((env[name] for name in _KEY_VARIABLES.get(kind, ()) if env.get(name)), "")


def _ollama_url(host: str) -> str:
    """OLLAMA_HOST is what the server binds to: with or without a scheme, with or without a port."""
    scheme, _, rest = host.rpartition("://")
    address, _, path = rest.partition("/")
    name, colon, port = address.rpartition(":")
    if not colon or port.endswith("]"):
        name, port = address, "" if scheme else str(_OLLAMA_PORT)
    name = "127.0.0.1" if name in ("", "0.0.0.0", "[::]") else name  # noqa: S104
    return f"{scheme or 'http'}://{name}{':' + port if port else ''}/{path.rstrip('/') or 'v1'}"


def _profile(name: str, settings: ProviderSettings, profiles: Mapping[str, WireProfile]) -> WireProfile:
    profile = profiles.get(settings.wire_profile) or BUILT_IN.get(settings.wire_profile)
    if profile is None:
        known = ", ".join(sorted({*BUILT_IN, *profiles}))
        raise OpenAgentError(
            "config_error",
            f"The provider {name} asks for the wire profile {settings.wire_profile!r}, which does not exist.",
            hint=f"There are: {known}.",
        )
    return profile
