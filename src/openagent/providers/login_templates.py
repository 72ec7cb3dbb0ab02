"""What the usual providers document of logging in to them. Whoever logs in brings a client id of their own."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from openagent.config.settings import OAuthSettings as Configured
from openagent.config.settings import ProviderKind
from openagent.protocol.errors import OpenAgentError
from openagent.providers.oauth import OAuthSettings, ask_server, check_address

_ENTRA = "https://login.microsoftonline.com/organizations/oauth2/v2.0"


class LoginTemplate(Struct, frozen=True, kw_only=True):
    name: str
    title: str
    """What people call it."""
    provider: str
    """The name its provider usually has."""
    kind: ProviderKind
    base_url: str = ""
    register: str
    """Where a client id is to be had."""
    oauth: Configured


TEMPLATES: Mapping[str, LoginTemplate] = {
    template.name: template
    for template in (
        LoginTemplate(
            name="google",
            title="Google (Gemini)",
            provider="gemini",
            kind="gemini",
            register="https://console.cloud.google.com/apis/credentials",
            oauth=Configured(
                authorize_url="https://accounts.google.com/o/oauth2/v2/auth",
                token_url="https://oauth2.googleapis.com/token",  # noqa: S106 - an address
                revoke_url="https://oauth2.googleapis.com/revoke",
                device_url="https://oauth2.googleapis.com/device/code",
                scopes=["https://www.googleapis.com/auth/cloud-platform"],
                authorize_params={"access_type": "offline", "prompt": "consent"},
            ),
        ),
        LoginTemplate(
            name="microsoft",
            title="Microsoft Entra (Azure OpenAI)",
            provider="azure",
            kind="azure",
            register="https://entra.microsoft.com",
            oauth=Configured(
                authorize_url=f"{_ENTRA}/authorize",
                token_url=f"{_ENTRA}/token",
                device_url=f"{_ENTRA}/devicecode",
                redirect_uri="http://localhost/callback",
                scopes=["https://cognitiveservices.azure.com/.default", "offline_access"],
            ),
        ),
        LoginTemplate(
            name="github",
            title="GitHub (GitHub Models)",
            provider="github",
            kind="github",
            register="https://github.com/settings/apps",
            oauth=Configured(
                authorize_url="https://github.com/login/oauth/authorize",
                token_url="https://github.com/login/oauth/access_token",  # noqa: S106 - an address
                device_url="https://github.com/login/device/code",
            ),
        ),
        LoginTemplate(
            name="huggingface",
            title="Hugging Face",
            provider="huggingface",
            kind="compatible",
            base_url="https://router.huggingface.co/v1",
            register="https://huggingface.co/settings/applications/new",
            oauth=Configured(
                authorize_url="https://huggingface.co/oauth/authorize",
                token_url="https://huggingface.co/oauth/token",  # noqa: S106 - an address
                device_url="https://huggingface.co/oauth/device",
                scopes=["openid", "inference-api"],
            ),
        ),
    )
}


def can_log_in(given: Configured) -> bool:
    whole = _filled(given)
    return bool(whole.client_id and (whole.issuer or (whole.token_url and (whole.authorize_url or whole.device_url))))


async def login_settings(provider: str, given: Configured) -> OAuthSettings:
    """All that a login needs. What neither the config nor a template says is asked of the issuer."""
    whole = _filled(given)
    if whole.issuer and not (whole.token_url and (whole.authorize_url or whole.device_url)):
        whole = await _discovered(provider, whole)
    return OAuthSettings(
        provider=provider,
        client_id=whole.client_id,
        client_secret=whole.client_secret,
        authorize_url=whole.authorize_url,
        token_url=whole.token_url,
        revoke_url=whole.revoke_url,
        device_url=whole.device_url,
        redirect_uri=whole.redirect_uri,
        scopes=tuple(whole.scopes),
        authorize_params=whole.authorize_params,
    )


def _filled(given: Configured) -> Configured:
    template = TEMPLATES.get(given.template or "")
    return _first(given, template.oauth) if template else given


def _first(given: Configured, otherwise: Configured) -> Configured:
    left_out = {name: value for name, value in structs.asdict(otherwise).items() if not getattr(given, name)}
    return structs.replace(given, **left_out)


async def _discovered(provider: str, given: Configured) -> Configured:
    issuer = given.issuer.rstrip("/")
    check_address(issuer, provider)

    async def ask(client: Any) -> Any:
        for name in ("openid-configuration", "oauth-authorization-server"):
            response = await client.request("GET", f"{issuer}/.well-known/{name}", withhold_token=True)
            if response.status_code == 200:
                break
        response.raise_for_status()
        return response.json()

    bare = OAuthSettings(provider=provider, client_id=given.client_id, authorize_url="", token_url=issuer)
    answer = await ask_server(bare, ask)
    said = answer if isinstance(answer, dict) else {}
    found = _first(
        given,
        Configured(
            authorize_url=_text(said, "authorization_endpoint"),
            token_url=_text(said, "token_endpoint"),
            revoke_url=_text(said, "revocation_endpoint"),
            device_url=_text(said, "device_authorization_endpoint"),
        ),
    )
    if not (found.token_url and (found.authorize_url or found.device_url)):
        raise OpenAgentError(
            "config_error",
            f"{issuer} does not say where to log in to {provider}.",
            hint=f"Set authorize_url and token_url under [providers.{provider}.oauth].",
        )
    return found


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""
