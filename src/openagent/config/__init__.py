"""Settings: layers, types, and where each value came from.

Defaults, then the user's file, then the project's file, then the environment: the later one wins, key by key.
"""

from openagent.config.load import Config, load
from openagent.config.problems import ConfigError, Problem
from openagent.config.secrets import secrets_of
from openagent.config.settings import (
    AutoRule,
    AutoSettings,
    BudgetSettings,
    CacheSettings,
    ContextSettings,
    FallbackSettings,
    JailSettings,
    LimitSettings,
    LogSettings,
    OAuthSettings,
    PriceSettings,
    ProviderKind,
    ProviderSettings,
    Settings,
    StoreSettings,
    WebSettings,
    WireProfileSettings,
    size_in_bytes,
)
from openagent.config.source import Source

__all__ = [
    "AutoRule",
    "AutoSettings",
    "BudgetSettings",
    "CacheSettings",
    "Config",
    "ConfigError",
    "ContextSettings",
    "FallbackSettings",
    "JailSettings",
    "LimitSettings",
    "LogSettings",
    "OAuthSettings",
    "PriceSettings",
    "Problem",
    "ProviderKind",
    "ProviderSettings",
    "Settings",
    "Source",
    "StoreSettings",
    "WebSettings",
    "WireProfileSettings",
    "load",
    "secrets_of",
    "size_in_bytes",
]
