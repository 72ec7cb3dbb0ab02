"""Line numbers hold for every way of writing TOML."""

import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openagent.config.line_numbers import key_lines
from openagent.config.source import KeyPath

_key = st.one_of(
    st.text("abz09_-", min_size=1, max_size=6),
    st.sampled_from(['"a.b"', '"sp ace"', "'it]em'", '"quote\\"d"', '"#"', '"\\u00e9"', '""']),
)
_noise = st.sampled_from(
    [
        "",
        "# [not.a.table]",
        "# key = 1",
        '#"',
        "   ",
        "noise{} = '''\n[x]\ny = 1\n'''",
        'noise{} = """\n[x] \\" = ""\n"""""',
    ]
)
_wrapped = st.sampled_from(["{}", "[{}]", "[ 'a]', {} ]", "{{ x = {}, 'y.z' = [1, 2] }}", "[[1, '''\n'''], {}, # ]\n]"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Tables in every notation. Each interesting number stands on the line that its key starts on."""
    lines: list[str] = []
    number = 1000

    def statement(name: str) -> str:
        nonlocal number
        number += 1
        separator = draw(st.sampled_from([" = ", "=", "\t=  "]))
        return f"{name}{separator}{draw(_wrapped).format(number)} # {draw(st.sampled_from(['', 'x = 1', ']']))}"

    for table in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["[t{}.{}]", "[ t{} . {} ]", "[[l.{1}]]", "[[l]]"]))
        if table:
            lines.append(kind.format(table, draw(_key)))
        for index in range(draw(st.integers(0, 4))):
            prefix = draw(st.sampled_from(["k{}", "k{}.{}", "k{} . {}.x"])).format(index, draw(_key))
            lines.append(statement(prefix))
            lines.append(draw(_noise).format(index))
    return "\n".join(lines)


@given(documents())
def test_every_value_is_found_on_the_line_it_is_written_on(document: str) -> None:
    try:
        parsed = tomllib.loads(document)
    except tomllib.TOMLDecodeError:
        return
    lines, text = key_lines(document), document.split("\n")
    for path, number in _numbers(parsed, ()):
        assert str(number) in text[lines[path] - 1], path


def _numbers(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    if isinstance(value, dict):
        for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _numbers(item, (*path, str(key)))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for index, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from _numbers(item, (*path, index))
    elif isinstance(value, int) and value > 1000:
        yield path, value
