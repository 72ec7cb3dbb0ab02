"""The vendors people have keys of: how such a key begins, which variable holds it, and which model to begin with."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from openagent.config.settings import ProviderSettings


class Vendor(Struct, frozen=True):
    name: str
    """The provider's name."""
    title: str
    """What people call it."""
    model: str
    """What answers when nobody chose."""
    family: str
    """How the names of models begin that would do as well."""
    prefixes: tuple[str, ...] = ()
    """How its keys begin."""
    variable: str = ""
    """The environment variable that holds its key, of vendors that speak another one's format."""
    base_url: str = ""
    """Of the same."""
    key_path: str = ""
    """What to ask for to try a key, where everybody may list the models."""
    small: str = ""
    """What `auto` uses for steps that need little thought."""
    begins: tuple[str, ...] = ()
    """How the names of its own models begin."""


VENDORS = (
    Vendor(
        "anthropic",
        "Anthropic",
        "claude-sonnet-5-5",
        "claude-sonnet",
        ("sk-ant-",),
        small="claude-haiku-4-5",
        begins=("claude",),
    ),
    Vendor(
        "openai",
        "OpenAI",
        "gpt-5",
        "gpt-5",
        ("sk-proj-", "sk-svcacct-", "sk-"),
        small="gpt-5-mini",
        begins=("gpt-", "o1", "o3", "o4"),
    ),
    Vendor(
        "gemini",
        "Google Gemini",
        "gemini-2.5-pro",
        "gemini-2.5-pro",
        ("AIza", "AQ."),
        small="gemini-2.5-flash",
        begins=("gemini",),
    ),
    Vendor(
        "openrouter",
        "OpenRouter",
        "openrouter/auto",
        "openrouter/auto",
        ("sk-or-",),
        "OPENROUTER_API_KEY",
        "https://openrouter.ai/api/v1",
        "/key",
    ),
    Vendor(
        "groq",
        "Groq",
        "openai/gpt-oss-120b",
        "openai/gpt-oss",
        ("gsk_",),
        "GROQ_API_KEY",
        "https://api.groq.com/openai/v1",
        small="openai/gpt-oss-20b",
    ),
    Vendor(
        "mistral",
        "Mistral",
        "devstral-medium-latest",
        "devstral",
        variable="MISTRAL_API_KEY",
        base_url="https://api.mistral.ai/v1",
        begins=("mistral", "devstral", "codestral", "magistral"),
    ),
    Vendor(
        "deepseek",
        "DeepSeek",
        "deepseek-chat",
        "deepseek",
        variable="DEEPSEEK_API_KEY",
        base_url="https://api.deepseek.com/v1",
        begins=("deepseek",),
    ),
    Vendor("github", "GitHub Models", "openai/gpt-4.1", "openai/gpt", ("ghp_", "gho_", "github_pat_")),
    Vendor("xai", "xAI", "grok-4", "grok-4", ("xai-",), "XAI_API_KEY", "https://api.x.ai/v1", begins=("grok",)),
)
BY_NAME = {vendor.name: vendor for vendor in VENDORS}
SETTINGS: Mapping[str, ProviderSettings] = {
    vendor.name: ProviderSettings(kind="compatible", base_url=vendor.base_url) for vendor in VENDORS if vendor.base_url
}
"""Those that speak another one's format, as they are without any configuration."""


def vendor_of(key: str) -> Vendor | None:
    """Whose key it is, by its beginning."""
    begun = [(len(prefix), vendor) for vendor in VENDORS for prefix in vendor.prefixes if key.startswith(prefix)]
    return max(begun, key=lambda each: each[0])[1] if begun else None


def vendor_of_model(model: str) -> Vendor | None:
    """Who makes it, by the beginning of its name."""
    return next((vendor for vendor in VENDORS if vendor.begins and model.startswith(vendor.begins)), None)


def key_of(name: str, settings: ProviderSettings, env: Mapping[str, str]) -> str:
    """The environment's, for the vendor's own address and no other server."""
    vendor = BY_NAME.get(name)
    if vendor is None or not vendor.variable or settings.base_url != vendor.base_url:
        return ""
    return env.get(vendor.variable, "")


def model_to_begin_with(vendor: Vendor, listed: Iterable[str]) -> str:
    """The usual one where the vendor lists it, or the newest of its family."""
    names = list(listed)
    if not names or vendor.model in names:
        return vendor.model
    return max((name for name in names if name.startswith(vendor.family)), default=vendor.model)
