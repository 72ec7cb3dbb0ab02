"""Where things live, from the environment alone, so that a client and its daemon always agree.

Imports nothing but the standard library's lightest parts: the fast path of `openagent run` starts here.
"""

from __future__ import annotations

from os.path import abspath, expanduser, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SOCKET_NAME = "daemon.sock"
_SOCKET_PATH_LIMIT = 100
"""Linux allows 107 bytes, macOS 103."""

_NAMED_PLACES = (
    "OPENAGENT_HOME",
    "OPENAGENT_CONFIG",
    "OPENAGENT_SOCKET",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "LEDGER_PATH",
)

FORWARDED_ENV = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "OPENAI_ORG_ID",
    "OPENAI_MODEL",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "GEMINI_MODEL",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "AZURE_OPENAI_ENDPOINT",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_KEY",
    "AZURE_OPENAI_API_VERSION",
    "AZURE_OPENAI_DEPLOYMENT",
    "AZURE_OPENAI_DEPLOYMENT_NAME",
    "GITHUB_TOKEN",
    "OLLAMA_HOST",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "XAI_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "AI_RETRY_TOTAL",
    "AI_RETRY_ATTEMPTS",
    "AI_RETRY_BASE_DELAY",
    "AI_RETRY_MAX_DELAY",
    "AI_RETRY_LOG_SILENT",
    "AI_REQUEST_INTERVAL",
    "OPENAGENT_MODEL",
    "OPENAGENT_MODE",
    "OPENAGENT_LIMITS_MAX_STEPS",
    "OPENAGENT_LIMITS_TURN_TIMEOUT",
    "OPENAGENT_BUDGET_SESSION_USD",
    "OPENAGENT_BUDGET_SESSION_TOKENS",
    "OPENAGENT_BUDGET_DAY_USD",
    "OPENAGENT_BUDGET_DAY_TOKENS",
    "OPENAGENT_CONFIG",
)
"""What a client passes on from its own environment, because the daemon may have been started with another."""


def passed_on(env: Mapping[str, str]) -> dict[str, str]:
    """Paths as they are meant here: the daemon works in another folder."""
    return {**{key: env[key] for key in FORWARDED_ENV if key in env}, **_absolute(env, ("OPENAGENT_CONFIG",))}


def data_home(env: Mapping[str, str]) -> str:
    if home := env.get("OPENAGENT_HOME"):
        return abspath(expanduser(home))
    base = env.get("XDG_DATA_HOME") or join(_user_home(env), ".local", "share")
    return abspath(join(base, "openagent"))


def config_file(env: Mapping[str, str]) -> str:
    if path := env.get("OPENAGENT_CONFIG"):
        return abspath(expanduser(path))
    base = env.get("XDG_CONFIG_HOME") or join(_user_home(env), ".config")
    return join(base, "openagent", "config.toml")


def socket_path(env: Mapping[str, str]) -> str:
    """Where OPENAGENT_SOCKET says, or beside the data, unless that path is too long for a socket."""
    if path := env.get("OPENAGENT_SOCKET"):
        return abspath(expanduser(path))
    home = data_home(env)
    beside = join(home, SOCKET_NAME)
    if len(beside.encode()) <= _SOCKET_PATH_LIMIT:
        return beside
    from hashlib import sha256
    from os import getuid

    digest = sha256(home.encode()).hexdigest()[:16]
    private = env.get("XDG_RUNTIME_DIR") or join(env.get("TMPDIR") or "/tmp", f"openagent-{getuid()}")  # noqa: S108
    return join(private, f"openagent-{digest}.sock")


def wherever_we_are(env: Mapping[str, str]) -> dict[str, str]:
    """The daemon works in the root folder, where paths relative to this one would mean something else."""
    return _absolute(env, _NAMED_PLACES)


def _absolute(env: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: abspath(expanduser(env[name])) for name in names if env.get(name)}


def _user_home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or expanduser("~")
