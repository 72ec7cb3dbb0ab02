"""Defaults, user's file, project's file, environment: who wins, and what is said about it."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.config import Config, ConfigError, load
from openagent.protocol.configuration import ConfigValue

from .places import Place

USER = ".config/openagent/config.toml"
PROJECT = "project/.openagent/config.toml"

WHOLE_FILE = """\
model = "anthropic/claude-sonnet-4-5"
mode = "ask"

[providers.anthropic]
kind = "anthropic"
api_key = "${ANTHROPIC_API_KEY}"
base_url = "https://api.anthropic.com"
wire_profile = "native"

[fallback]
chain = ["openai/gpt-5", "gemini/gemini-2.5-pro"]

[budget]
session_usd = 5.0
day_usd = 50.0
warn_at = 80

[jail]
kind = "bwrap"
network = ["api.example.com"]
memory = "2g"
processes = 512

[context]
collector = "hybrid"
threshold = 80
keep_turns = 5

[store]
url = "postgresql://localhost/agents"
"""


def test_without_files_every_value_is_a_default(place: Place) -> None:
    config = place.load()
    assert config.settings.usual_mode == "auto"
    assert config.settings.jail.kind == "bwrap"
    assert config.settings.model == ""
    assert config.settings.store.url == f"sqlite:///{place.home}/.local/share/openagent/openagent.db"
    assert {str(source) for source in config.sources.values()} == {"default"}
    assert (config.files, config.notes) == ([], [])


def test_the_documented_file_is_read_whole(place: Place) -> None:
    place.env["ANTHROPIC_API_KEY"] = "sk-ant-0123456789"
    place.user(WHOLE_FILE)
    tree = place.load().settings
    assert tree.model == "anthropic/claude-sonnet-4-5"
    assert tree.providers["anthropic"].api_key == "sk-ant-0123456789"
    assert tree.fallback.chain == ["openai/gpt-5", "gemini/gemini-2.5-pro"]
    assert (tree.budget.session_usd, tree.budget.day_usd, tree.budget.warn_at) == (5.0, 50.0, 80.0)
    assert (tree.jail.network, tree.jail.memory, tree.jail.processes) == (["api.example.com"], "2g", 512)
    assert (tree.context.collector, tree.context.threshold, tree.context.keep_turns) == ("hybrid", 80.0, 5)
    assert tree.store.url == "postgresql://localhost/agents"


LAYERED: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "model": ("OPENAGENT_MODEL", st.text("abc0.-", min_size=1).map("provider/{}".format)),
    "mode": ("OPENAGENT_MODE", st.sampled_from(["plan", "ask", "edits", "auto", "full"])),
    "budget.session_usd": ("OPENAGENT_BUDGET_SESSION_USD", st.integers(0, 10**6).map(float)),
    "budget.day_tokens": ("OPENAGENT_BUDGET_DAY_TOKENS", st.integers(1, 10**9)),
    "fallback.chain": ("OPENAGENT_FALLBACK_CHAIN", st.lists(st.sampled_from(["a/b", "c/d", "e/f"]), min_size=1)),
    "jail.kind": ("OPENAGENT_JAIL_KIND", st.sampled_from(["bwrap", "docker", "host"])),
    "context.keep_turns": ("OPENAGENT_CONTEXT_KEEP_TURNS", st.integers(0, 100)),
}
Values = dict[str, Any]
layer = st.fixed_dictionaries({}, optional={key: values for key, (_, values) in LAYERED.items()})


@settings(max_examples=60, deadline=None)
@given(user=layer, project=layer, environment=layer)
def test_the_strongest_layer_that_sets_a_key_wins_and_is_named(
    user: Values, project: Values, environment: Values
) -> None:
    with TemporaryDirectory() as directory:
        place = Place(Path(directory))
        place.user(_toml(user))
        place.in_project(_toml(project))
        place.env |= {LAYERED[key][0]: _as_variable(value) for key, value in environment.items()}
        defaults, config = load({"HOME": str(place.home), "OPENAGENT_CONFIG": "/dev/null"}), place.load()
        for key, (variable, _) in LAYERED.items():
            if key in environment:
                expected, source = environment[key], f"${variable}"
            elif key in project:
                expected, source = project[key], f"{place.project_file}:{list(project).index(key) + 1}"
            elif key in user:
                expected, source = user[key], f"{place.user_file}:{list(user).index(key) + 1}"
            else:
                expected, source = _value(defaults, key), "default"
            assert (_value(config, key), str(config.sources[key])) == (expected, source)


def _toml(values: Values) -> str:
    return "".join(f"{key} = {_as_toml(value)}\n" for key, value in values.items())


def _as_toml(value: Any) -> str:
    return repr(value)


def _as_variable(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _value(config: Config, key: str) -> Any:
    value: Any = config.settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


def test_a_provider_may_be_described_by_two_layers(place: Place) -> None:
    place.user('[providers.team]\nkind = "compatible"\napi_key = "0123456789abcdef"\nheaders = { A = "1", B = "2" }')
    place.in_project('providers.team.base_url = "http://127.0.0.1:8000/v1"\nproviders.team.headers.B = "3"')
    team = place.load().settings.providers["team"]
    assert (team.kind, team.base_url) == ("compatible", "http://127.0.0.1:8000/v1")
    assert team.headers == {"A": "1", "B": "3"}


def test_a_provider_named_like_a_kind_is_of_that_kind(place: Place) -> None:
    place.user("[providers.gemini]\n[providers.mine]\n")
    assert place.problems() == [f"{USER}:2: `providers.mine` lacks the key `kind`."]
    place.user("[providers.gemini]\n")
    assert place.load().settings.providers["gemini"].kind == "gemini"


def test_the_project_file_is_found_from_below_but_not_beyond_the_repository(place: Place) -> None:
    below = place.project / "src" / "deep"
    below.mkdir(parents=True)
    place.in_project('mode = "plan"')
    assert place.load(below).settings.mode == "plan"
    inner = place.project / "vendored"
    (inner / ".git").mkdir(parents=True)
    assert place.load(inner).settings.usual_mode == "auto"


def test_outside_repository_and_home_only_the_directory_itself_is_looked_at(place: Place, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "below"
    (elsewhere.parent / ".openagent").mkdir(parents=True)
    (elsewhere.parent / ".openagent" / "config.toml").write_text('mode = "full"')
    elsewhere.mkdir()
    assert place.load(elsewhere).settings.usual_mode == "auto"
    assert place.load(elsewhere.parent).settings.mode == "full"


def test_without_a_directory_no_project_file_is_read(place: Place) -> None:
    place.in_project('mode = "plan"')
    assert load(place.env).settings.usual_mode == "auto"


def test_a_project_cannot_set_what_belongs_to_the_whole_daemon(place: Place) -> None:
    place.in_project('mode = "plan"\n[store]\nurl = "sqlite:////elsewhere.db"\n[log]\nlevel = "debug"\n')
    expected = "is a matter of the whole daemon, so a project cannot set it; move it to your own file."
    assert place.problems() == [f"{PROJECT}:2: `store` {expected}", f"{PROJECT}:4: `log` {expected}"]


def test_the_file_named_by_the_environment_replaces_the_users(place: Place, tmp_path: Path) -> None:
    place.user('mode = "plan"')
    other = tmp_path / "other.toml"
    other.write_text('mode = "full"')
    place.env["OPENAGENT_CONFIG"] = str(other)
    assert place.load().settings.mode == "full"
    other.unlink()
    assert place.problems() == [f"$OPENAGENT_CONFIG: there is no file {other}."]


def test_one_file_in_both_roles_is_read_once(place: Place) -> None:
    place.in_project('mode = "plan"\nlog.level = "debug"')
    place.env["OPENAGENT_CONFIG"] = str(place.project_file)
    assert place.load().files == [str(place.project_file)]


def test_the_session_database_variable_names_a_sqlite_file(place: Place) -> None:
    place.user('store.url = "postgresql://localhost/agents"')
    place.env["OPENAGENT_SESSION_DB"] = "/somewhere/sessions.db"
    config = place.load()
    assert config.settings.store.url == "sqlite:////somewhere/sessions.db"
    assert str(config.sources["store.url"]) == "$OPENAGENT_SESSION_DB"


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("OPENAGENT_LOG_LEVEL", "DEBUG", "log.level", "debug"),
        ("OPENAGENT_WEB_ENABLED", "true", "web.enabled", True),
        ("OPENAGENT_WEB_PORT", "0", "web.port", 0),
        ("OPENAGENT_JAIL_NETWORK", "on", "jail.network", "on"),
        ("OPENAGENT_JAIL_NETWORK", "api.example.com, example.com", "jail.network", ["api.example.com", "example.com"]),
        ("OPENAGENT_LIMITS_TURN_TIMEOUT", "2.5", "limits.turn_timeout", 2.5),
        ("OPENAGENT_MODE", "", "mode", None),
    ],
)
def test_every_key_can_be_set_by_a_variable(place: Place, variable: str, text: str, key: str, value: Any) -> None:
    place.env[variable] = text
    assert _value(place.load(), key) == value


def test_a_wrong_variable_is_an_error_and_a_misspelt_one_a_note(place: Place) -> None:
    place.env |= {"OPENAGENT_MODE": "yolo", "OPENAGENT_WEB_PORT": "70000", "OPENAGENT_BUDGET_DAY_USD": "nan"}
    assert place.problems() == [
        "$OPENAGENT_BUDGET_DAY_USD: `budget.day_usd` must be a number from 0 to 1,000,000.",
        '$OPENAGENT_MODE: `mode` must be one of "ask", "auto", "edits", "full", "plan", not "yolo".',
        "$OPENAGENT_WEB_PORT: `web.port` must be a whole number from 0 to 65535.",
    ]
    place.env = {"HOME": str(place.home), "OPENAGENT_MODLE": "a/b", "OPENAGENT_SOMETHING_ELSE_ENTIRELY": "1"}
    assert place.load().notes == ["$OPENAGENT_MODLE is not a setting; did you mean $OPENAGENT_MODEL?"]


def test_what_is_shown_masks_secrets_and_names_sources(place: Place) -> None:
    place.user(
        'providers.openai.api_key = "sk-0123456789abcdefWXYZ"\n'
        'providers.azure.api_key = "short"\n'
        'providers.azure.headers = { Authorization = "Bearer 0123456789", X-Team = "blue" }\n'
        'store.url = "postgresql://me:hunter2@localhost/agents"\n'
    )
    config = place.load()
    shown = {value.key: value for value in config.values()}
    assert shown["providers.openai.api_key"] == ConfigValue("providers.openai.api_key", "…WXYZ", f"{place.user_file}:1")
    assert shown["providers.azure.api_key"].value == "set"
    assert shown["providers.azure.headers.Authorization"].value == "…6789"
    assert shown["providers.azure.headers.X-Team"].value == "blue"
    assert shown["store.url"].value == "postgresql://me:…@localhost/agents"
    assert shown["limits.max_steps"] == ConfigValue("limits.max_steps", 200, "default")
    for secret in ("sk-01", "short", "0123456789", "hunter2"):
        assert secret not in repr(config)


def test_loading_needs_nothing_heavy() -> None:
    check = (
        "import sys; from openagent.config import load; load({'HOME': '/nonexistent'});"
        "print(sorted({'asyncio', 'sqlalchemy', 'httpx2', 'click', 'difflib', 'logging'} & sys.modules.keys()))"
    )
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_all_problems_come_in_one_error_that_says_what_to_do(place: Place) -> None:
    place.user('mode = "yolo"\nmodle = "a/b"\n')
    place.in_project("budget.warn_at = 0\n")
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert caught.value.info.code == "config_error"
    assert caught.value.info.message.startswith("The configuration has 3 problems:\n")
    assert "openagent help configuration" in caught.value.info.hint
