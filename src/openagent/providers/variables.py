"""Every environment variable that concerns providers. The table in docs/providers.md is made from this."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Whose = Literal["client", "daemon"]


class Variable(Struct, frozen=True):
    name: str
    of: str
    """The provider, or what else it concerns."""
    meaning: str
    read_by: Whose = "client"
    """`client`: it counts in the shell where a command is typed, and is passed on to the daemon. `daemon`: only where
    the daemon was started."""


VARIABLES = (
    Variable("ANTHROPIC_API_KEY", "anthropic", "the key"),
    Variable("ANTHROPIC_AUTH_TOKEN", "anthropic", "a token sent as `Authorization: Bearer`, as gateways want it"),
    Variable("ANTHROPIC_BASE_URL", "anthropic", "another address than Anthropic's"),
    Variable("ANTHROPIC_MODEL", "anthropic", "the model that answers when none is chosen"),
    Variable("OPENAI_API_KEY", "openai", "the key"),
    Variable("OPENAI_BASE_URL", "openai", "another address; what is there becomes the provider `compatible`, too"),
    Variable("OPENAI_API_BASE", "openai", "the same, under its older name"),
    Variable("OPENAI_ORG_ID", "openai", "whom usage is attributed to"),
    Variable("OPENAI_MODEL", "openai", "the model that answers when none is chosen, also at `OPENAI_BASE_URL`"),
    Variable("GEMINI_API_KEY", "gemini", "the key"),
    Variable("GOOGLE_API_KEY", "gemini", "the same; `GEMINI_API_KEY` comes first"),
    Variable("GOOGLE_GEMINI_BASE_URL", "gemini", "another address than Google's"),
    Variable("GEMINI_MODEL", "gemini", "the model that answers when none is chosen"),
    Variable("GOOGLE_APPLICATION_CREDENTIALS", "gemini", "a service account's JSON file, for Vertex"),
    Variable("GOOGLE_CLOUD_PROJECT", "gemini", "for Vertex: the project"),
    Variable("GOOGLE_CLOUD_LOCATION", "gemini", "for Vertex: the region"),
    Variable("AZURE_OPENAI_ENDPOINT", "azure", "the resource's address"),
    Variable("AZURE_OPENAI_API_KEY", "azure", "the key"),
    Variable("AZURE_OPENAI_KEY", "azure", "the same"),
    Variable("AZURE_OPENAI_API_VERSION", "azure", "the `api-version` to ask for"),
    Variable("AZURE_OPENAI_DEPLOYMENT", "azure", "the deployment that answers when none is chosen"),
    Variable("AZURE_OPENAI_DEPLOYMENT_NAME", "azure", "the same"),
    Variable("GITHUB_TOKEN", "github", "a token for GitHub Models, which answers only if chosen"),
    Variable("OLLAMA_HOST", "ollama", "where Ollama listens"),
    Variable("OPENROUTER_API_KEY", "openrouter", "the key"),
    Variable("GROQ_API_KEY", "groq", "the key"),
    Variable("XAI_API_KEY", "xai", "the key"),
    Variable("MISTRAL_API_KEY", "mistral", "the key"),
    Variable("DEEPSEEK_API_KEY", "deepseek", "the key"),
    Variable("AI_RETRY_TOTAL", "all", "seconds over which a failed request is retried in total (600)"),
    Variable("AI_RETRY_ATTEMPTS", "all", "attempts at a request, the first included (as many as fit in the total)"),
    Variable("AI_RETRY_BASE_DELAY", "all", "seconds before the second attempt, at most (1); doubled every time"),
    Variable("AI_RETRY_MAX_DELAY", "all", "no pause is longer (30), unless the provider asks for it"),
    Variable("AI_RETRY_LOG_SILENT", "all", "`1`: retries are not logged"),
    Variable("AI_REQUEST_INTERVAL", "all", "least seconds between two requests to one provider (0)"),
    Variable("SSL_CERT_FILE", "all", "the certificates to trust, such as those of a company's proxy", "daemon"),
    Variable("SSL_CERT_DIR", "all", "a folder of them", "daemon"),
    Variable("HTTPS_PROXY", "all", "the proxy for https; `HTTP_PROXY` and `ALL_PROXY` likewise", "daemon"),
    Variable("NO_PROXY", "all", "hosts that are reached without it", "daemon"),
)
"""Those of the whole program, such as `OPENAGENT_HOME`, are on the page about configuration."""

MODEL_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_MODEL",),
    "openai": ("OPENAI_MODEL",),
    "compatible": ("OPENAI_MODEL",),
    "gemini": ("GEMINI_MODEL",),
    "azure": ("AZURE_OPENAI_DEPLOYMENT", "AZURE_OPENAI_DEPLOYMENT_NAME"),
}
"""Which model answers when none is chosen, by the provider's kind."""


def chosen_model(kind: str, env: Mapping[str, str]) -> str:
    return next((env[name] for name in MODEL_VARIABLES.get(kind, ()) if env.get(name)), "")


def what_is_missing(env: Mapping[str, str]) -> str:
    """A sentence for who exported something that is not enough to answer; empty: nothing of the kind is there."""
    if env.get("AZURE_OPENAI_ENDPOINT") or env.get("AZURE_OPENAI_API_KEY") or env.get("AZURE_OPENAI_KEY"):
        if not env.get("AZURE_OPENAI_ENDPOINT"):
            return "There is a key of Azure, and no address: set AZURE_OPENAI_ENDPOINT."
        if not (env.get("AZURE_OPENAI_API_KEY") or env.get("AZURE_OPENAI_KEY")):
            return "There is the address of an Azure resource, and no key: set AZURE_OPENAI_API_KEY."
        return "For Azure, name the deployment: set AZURE_OPENAI_DEPLOYMENT, or choose the model azure/DEPLOYMENT."
    if env.get("OPENAI_BASE_URL") or env.get("OPENAI_API_BASE"):
        return "OPENAI_BASE_URL is set: name a model there with OPENAI_MODEL, or choose compatible/MODEL."
    if env.get("OLLAMA_HOST"):
        return "OLLAMA_HOST is set: choose one of its models, as ollama/MODEL."
    if env.get("GITHUB_TOKEN"):
        return "GITHUB_TOKEN is set: the model github/openai/gpt-4.1 would answer with it."
    return ""
