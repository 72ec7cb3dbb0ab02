"""One key of a person's file is changed, and every other byte stays."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openagent.config.edit import set_value, unset_table
from openagent.protocol.errors import OpenAgentError

FILE = """\
# mine
model = "a/b" # the good one

[tools]
# why: slow
off = [
  "git", # never
  "shell",
]
schema_share = 5.0

[budget]
day_usd = 3
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[tools]\noff = ["x"]\n'),
        ('model = "a/b"', 'model = "a/b"\n\n[tools]\noff = ["x"]\n'),
        ("[tools]\r\nschema_share = 5.0\r\n", '[tools]\noff = ["x"]\nschema_share = 5.0\r\n'),
        ("[tools]", '[tools]\noff = ["x"]\n'),
        ('tools.off = ["y"] # none\n', 'tools.off = ["x"]\n'),
        (FILE, FILE.replace(FILE[FILE.index("off") : FILE.index("schema")], 'off = ["x"]\n')),
    ],
)
def test_only_the_key_changes(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(before.encode())
    file.chmod(0o640)
    set_value(file, ("tools", "off"), ["x"])
    assert file.read_bytes().decode() == after
    assert file.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["config.toml"]


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    set_value(tmp_path / "new" / "config.toml", ("tools", "off"), [])
    assert (tmp_path / "new" / "config.toml").read_text() == "[tools]\noff = []\n"


@pytest.mark.parametrize("text", ['tools = { off = ["y"] }\n', "not = [toml\n"])
def test_what_cannot_be_changed_safely_is_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(OpenAgentError, match="left alone"):
        set_value(file, ("tools", "off"), ["x"])
    assert file.read_text() == text


@given(names=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)))
def test_any_names_are_written_as_they_are(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    file = tmp_path_factory.mktemp("config") / "config.toml"
    file.write_text(FILE)
    set_value(file, ("tools", "off"), names)
    assert tomllib.loads(file.read_text())["tools"] == {"off": names, "schema_share": 5.0}


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        ("", ("model",), "a/b", 'model = "a/b"\n'),
        ("[tools]\n", ("model",), "a/b", 'model = "a/b"\n[tools]\n'),
        ('mode = "ask"\nmodel = "c/d"\n[web]\n', ("model",), "a/b", 'mode = "ask"\nmodel = "a/b"\n[web]\n'),
        (
            '[providers.x]\nkind = "openai"\n',
            ("providers", "llama.cpp", "kind"),
            "compatible",
            '[providers.x]\nkind = "openai"\n\n[providers."llama.cpp"]\nkind = "compatible"\n',
        ),
        ("[web]\n", ("web", "port"), 8080, "[web]\nport = 8080\n"),
        ("[web]\n", ("web", "enabled"), True, "[web]\nenabled = true\n"),
    ],
)
def test_a_value_of_any_kind_finds_its_table(
    tmp_path: Path, before: str, path: tuple[str, ...], value: str | int | bool, after: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(before)
    set_value(file, path, value)
    assert file.read_text() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[providers.x]\nkind = "a"\n', ""),
        (
            '# top\n[providers.x]\nkind = "a"\n# of y\n[providers.y]\nkind = "b"\n',
            '# top\n# of y\n[providers.y]\nkind = "b"\n',
        ),
        ('[providers.x]\nkind = "a"\n[jail]\ncpus = 1\n[providers.x.oauth]\nclient_id = "i"\n', "[jail]\ncpus = 1\n"),
        ('[providers.y]\nkind = "b"\n', '[providers.y]\nkind = "b"\n'),
    ],
)
def test_a_table_is_taken_out_and_all_else_stays(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(before)
    unset_table(file, ("providers", "x"))
    assert file.read_text() == after


def test_a_table_that_is_written_another_way_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('providers = { x = { kind = "a" } }\n')
    with pytest.raises(OpenAgentError, match="left alone"):
        unset_table(file, ("providers", "x"))
    assert file.read_text() == 'providers = { x = { kind = "a" } }\n'
