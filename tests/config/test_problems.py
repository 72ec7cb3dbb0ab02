"""Every mistake in a file is named with its line, and with what was probably meant."""

from pathlib import Path

import pytest

from .places import Place

USER = ".config/openagent/config.toml"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('modle = "a/b"', "1: `modle` is not a setting; did you mean `model`?"),
        ("[bugdet]\nday_usd = 1", "1: `bugdet` is not a setting; did you mean `budget`?"),
        ("[jail]\n\nnetwrok = 'off'", "3: `jail.netwrok` is not a setting; did you mean `jail.network`?"),
        ("\njail.netwrok = 'off'", "2: `jail.netwrok` is not a setting; did you mean `jail.network`?"),
        (
            "jail = {memory = '1g',\tnetwrok = 'off'}",
            "1: `jail.netwrok` is not a setting; did you mean `jail.network`?",
        ),
        ("session_usd = 5", "1: `session_usd` is not a setting; did you mean `budget.session_usd`?"),
        (
            "[log]\nxyzzy = 1",
            "2: `log.xyzzy` is not a setting; the keys in `log` are level, stderr.",
        ),
        (
            '[providers.a]\nkind = "openai"\n[providers.b]\nkind = "openai"\napikey = "x"',
            "5: `providers.b.apikey` is not a setting; did you mean `providers.b.api_key`?",
        ),
        (
            '[[auto.rules]]\nuse = "cheap"\n[[auto.rules]]\nuse = "cheap"\nnew_trun = true',
            "5: `auto.rules[1].new_trun` is not a setting; did you mean `auto.rules[1].new_turn`?",
        ),
        ("[[auto.rules]]\nnew_turn = true", "1: `auto.rules[0]` lacks the key `use`."),
        ("auto.rules = 3", "1: `auto.rules` must be an array of tables, each starting [[auto.rules]]."),
        ("model = 3", '1: `model` must be "provider/model" or "auto", not 3.'),
        ('model = "gpt-5"', '1: `model` must be "provider/model" or "auto".'),
        ("jail = 'bwrap'", "1: `jail` must be a table, not text in quotes."),
        (
            "jail.kind = 'dcker'",
            '1: `jail.kind` must be one of "bwrap", "docker", "host", "plugin", not "dcker"; did you mean "docker"?',
        ),
        ("jail.memory = 2048", '1: `jail.memory` must be a size such as "512m" or "2g", not 2048.'),
        ("jail.processes = 1.5", "1: `jail.processes` must be a whole number of at least 1, not 1.5."),
        ("jail.processes = true", "1: `jail.processes` must be a whole number of at least 1, not true."),
        ("budget.day_usd = nan", "1: `budget.day_usd` must be a number from 0 to 1,000,000, not nan."),
        (
            "budget.day_tokens = 1979-05-27",
            "1: `budget.day_tokens` must be a whole number of at least 1, not a date or time.",
        ),
        ("budget.warn_at = 101", "1: `budget.warn_at` must be a number from 1 to 100, not 101."),
        ('web.enabled = "yes"', "1: `web.enabled` must be true or false, not text in quotes."),
        ('rules.files = "A.md"', "1: `rules.files` must be a list, each item text in quotes, not text in quotes."),
        (
            'fallback.chain = [\n  "openai/gpt-5",\n  "oops",\n]',
            '3: `fallback.chain` must be a list, each item "provider/model".',
        ),
        ('prices."openai/gpt-5" = { input = 1 }', '1: `prices."openai/gpt-5"` lacks the key `output`.'),
        (
            'providers.openai.base_url = "api.openai.com"',
            "1: `providers.openai.base_url` must be an http:// or https:// address.",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line_and_remedy(place: Place, text: str, problem: str) -> None:
    place.user(text)
    assert place.problems() == [f"{USER}:{problem}"]


def test_all_mistakes_of_a_file_are_reported_together_in_its_order(place: Place) -> None:
    place.user('modle = "a/b"\n[jail]\nmemory = "lots"\n[providers.mine]\napi_key = 3\n[web]\nport = -1\n')
    assert [problem.split(": ")[0] for problem in place.problems()] == [f"{USER}:{line}" for line in (1, 3, 4, 5, 7)]


@pytest.mark.parametrize(
    ("text", "place_and_reason"),
    [
        ('mode = "ask"\nmodel = \n', "2:9: the file is not well-formed TOML: Invalid value."),
        ("[jail\n", "1:6: the file is not well-formed TOML: Expected ']' at the end of a table declaration."),
        ('mode = "ask"\nmode = "plan"\n', "2:14: the file is not well-formed TOML: Cannot overwrite a value."),
        ('mode = "ask', "1:12: the file is not well-formed TOML: Unterminated string."),
    ],
)
def test_malformed_toml_is_named_with_line_column_and_reason(place: Place, text: str, place_and_reason: str) -> None:
    place.user(text)
    assert place.problems() == [f"{USER}:{place_and_reason}"]


def test_a_file_that_is_not_text_is_named_with_the_line(place: Place) -> None:
    place.user("")
    place.user_file.write_bytes(b'mode = "ask"\n# caf\xe9\n')
    assert place.problems() == [f"{USER}:2: the file is not UTF-8 text."]


def test_a_file_that_cannot_be_read_is_named(place: Place) -> None:
    place.user_file.mkdir(parents=True)
    assert place.problems() == [f"{USER}:1: the file cannot be read: Is a directory."]


@pytest.mark.parametrize("bytes_before", [b"", b"\xef\xbb\xbf"])
def test_windows_line_ends_and_a_byte_order_mark_change_nothing(place: Place, bytes_before: bytes) -> None:
    place.user("")
    place.user_file.write_bytes(bytes_before + b'mode = "plan"\r\n\r\n[jail]\r\nkind = "host"\r\n')
    config = place.load()
    assert config.settings.jail.kind == "host"
    assert config.sources["jail.kind"].line == 4


def test_a_variable_is_replaced_anywhere_in_a_text(place: Place) -> None:
    place.env |= {"REGION": "eu", "PORT": "8123", "EMPTY": ""}
    place.user(
        'providers.azure.base_url = "https://${REGION}.example.com/${PATH_PART:-v1}"\n'
        'providers.azure.organization = "$${REGION} costs $5"\n'
        'web.port = "${PORT}"\n'
        'jail.network = ["${REGION}.example.com", "${EMPTY:-other}.example.com"]\n'
    )
    tree = place.load().settings
    assert tree.providers["azure"].base_url == "https://eu.example.com/v1"
    assert tree.providers["azure"].organization == "${REGION} costs $5"
    assert tree.web.port == 8123
    assert tree.jail.network == ["eu.example.com", "other.example.com"]


def test_a_key_whose_variable_is_not_set_is_absent_with_a_note(place: Place) -> None:
    place.user('providers.openai.api_key = "${OPENAI_API_KEY}"')
    config = place.load()
    assert config.settings.providers["openai"].api_key == ""
    assert config.notes == [
        f"{place.user_file}:1: OPENAI_API_KEY is not set, so `providers.openai.api_key` has no value."
    ]
    assert "providers.openai.api_key" not in config.sources


def test_any_other_unset_variable_is_an_error(place: Place) -> None:
    place.user('mode = "ask"\nproviders.openai.base_url = "${GATEWAY}/v1"\njail.memory = "${MEMORY"\n')
    assert place.problems() == [
        f"{USER}:2: `providers.openai.base_url` refers to GATEWAY, which is not set; "
        "set it, or give a default with ${GATEWAY:-…}.",
        f"{USER}:3: `jail.memory` has a reference that should read ${{NAME}} or ${{NAME:-default}}.",
    ]


def test_a_value_from_a_variable_is_never_quoted_in_an_error(place: Place) -> None:
    place.env["KEY"] = "sk-0123456789"
    place.user('mode = "${KEY}"\nproviders.openai.api_key = ["sk-0123456789"]')
    assert len(place.problems()) == 2
    assert "sk-0" not in "".join(place.problems())


def test_another_users_project_file_is_left_alone(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.in_project('mode = "full"')
    below = place.project / "below"
    below.mkdir()
    monkeypatch.setattr("os.getuid", lambda: 4242)
    real_stat = Path.stat

    def stat_of_a_stranger(path: Path, **options: bool) -> object:
        return _Owned(real_stat(path, **options), 4343 if path == place.project_file else 4242)

    monkeypatch.setattr(Path, "stat", stat_of_a_stranger)
    config = place.load(below)
    assert config.settings.usual_mode == "auto"
    assert config.notes == [f"{place.project_file}: left alone, because it belongs to another user."]


class _Owned:
    def __init__(self, real: object, owner: int) -> None:
        self._real = real
        self.st_uid = owner

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)
