"""Markdown with front matter, and templates written in it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openagent.agents.template_files import read_template, template_in, write_template
from openagent.agents.templates import starters
from openagent.plugins.front_matter import parse_front_matter
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.templates import Template

CLAUDE_CODE = """\
---
name: code-reviewer
description: Expert reviewer. Use PROACTIVELY after changes: bugs, "smells", style.
tools: Read, Grep, Glob, Bash(git diff:*)
model: inherit
color: blue
permissionMode: plan
---

You are a senior reviewer.

## How
- look
"""


def test_a_claude_code_agent_file_is_a_template() -> None:
    template = read_template(CLAUDE_CODE, "x.md")
    assert template == Template(
        name="code-reviewer",
        description='Expert reviewer. Use PROACTIVELY after changes: bugs, "smells", style.',
        tools=["read_file", "grep", "glob", "shell"],
        mode="plan",
        prompt="You are a senior reviewer.\n\n## How\n- look",
    )


def test_of_a_file_for_another_program_what_is_understood_counts_and_the_rest_is_told() -> None:
    text = (
        "---\nname: a b\nmode: yolo\nmodle: x/y\ndisallowedTools: Write, Edit\nmcpServers:\n  - slack:\n      url: u\n"
        "effort: high\ncolor: red\nmaxTurns: 5\n---\nDo."
    )
    read = template_in(text, "a.md")
    assert read.template == Template("a-b", prompt="Do.", max_steps=5, disabled_tools=["write_file", "edit_file"])
    assert read.notes("a.md") == [
        "a.md:3: 'yolo' is no mode.",
        "a.md:4: there is no key `modle`.",
        "a.md: `mcpServers`, `effort` are not used here.",
    ]


def test_lists_blocks_quotes_and_comments_are_read() -> None:
    text = (
        "---\n# a comment\nname: 'it''s'\ndescription: >\n  two\n  lines\n\nprompt: |\n  one\n  two\ntools:\n  - grep\n"
        '- glob\nmcp_servers: ["a, b", c]  \nmax_steps: 7 # few\n---\nbody'
    )
    entries = {key: entry.value for key, entry in parse_front_matter(text, "f").entries.items()}
    assert entries == {
        "name": "it's",
        "description": "two lines",
        "prompt": "one\ntwo",
        "tools": ["grep", "glob"],
        "mcp_servers": ["a, b", "c"],
        "max_steps": "7",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nname: x\n", "a.md:1: the front matter that begins here has no end."),
        ("---\nname: x\nnonsense\n---\n", "a.md:3: 'nonsense' is not `key: value`."),
        ("---\nname: x\nname: y\n---\n", "a.md:3: `name` stands there a second time."),
        ("---\nname: 'x\n---\n", "a.md:2: the quotes of 'x do not match."),
        ("---\ntools: [a, b\n---\n", "a.md:2: the list has no closing bracket."),
        ("---\n\nmodle: a/b\n---\nx", "a.md:3: there is no key `modle`."),
        ("---\nmode: yolo\n---\nx", "a.md:2: 'yolo' is no mode."),
        ("---\nmodel: gpt\n---\nx", "a.md:2: 'gpt' is no model."),
        ("---\nmax_steps: many\n---\nx", "a.md:2: `max_steps` must be a number, not 'many'."),
        ("---\nbudget_usd: 0\n---\nx", "a.md:2: `budget_usd` must be more than 0 and less than 1,000,000."),
        ("---\nname: a b\n---\nx", "a.md:2: 'a b' is no name for a template."),
        ("---\nname: x\n---\n", "a.md:2: it says nothing."),
    ],
)
def test_bad_front_matter_is_one_sentence_that_names_file_and_line(text: str, said: str) -> None:
    with pytest.raises(OpenAgentError) as refused:
        read_template(text, "a.md")
    assert refused.value.info.message == said
    assert refused.value.info.hint


words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1).map(str.strip).filter(bool)
names = st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True)


@given(
    st.builds(
        Template,
        name=names,
        description=words,
        role=words,
        prompt=words.filter(lambda text: text != "---"),
        model=st.sampled_from(["", "auto", "openai/gpt-5", "mine/a:b/c"]),
        tools=st.none() | st.lists(names, unique=True, min_size=1),
        disabled_tools=st.lists(names, unique=True),
        mcp_servers=st.none() | st.lists(names, unique=True),
        mode=st.sampled_from([None, "plan", "ask", "edits", "full"]),
        max_steps=st.none() | st.integers(1, 500),
        timeout=st.none() | st.integers(1, 5000).map(float),
        budget_usd=st.none() | st.integers(1, 500).map(lambda cents: cents / 100),
    )
)
def test_what_is_exported_is_imported_again(template: Template) -> None:
    assert read_template(write_template(template), "other.md") == template


def test_the_starters_are_complete_and_short_enough_to_be_offered() -> None:
    found = {template.name: template for template in starters()}
    assert set(found) == {"architect", "coder", "reviewer", "tester", "researcher"}
    for template in found.values():
        assert len(template.prompt) > 500
        assert 60 < len(template.description) < 240
    assert {name for name, template in found.items() if template.mode == "plan"} == {
        "architect",
        "reviewer",
        "researcher",
    }
    assert msgspec.json.encode(found["coder"])
