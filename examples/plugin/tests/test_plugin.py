"""The contract suites of OpenAgent, on what this package adds."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from openagent_example.collector import DropOldest
from openagent_example.command import hello
from openagent_example.jail import PlainJail
from openagent_example.provider import EchoProvider
from openagent_example.tools import word_count

from openagent.plugins.loading import JailOptions, ProviderOptions
from openagent.plugins.testing.collector_contract import CollectorContract
from openagent.plugins.testing.jail_contract import JailContract
from openagent.plugins.testing.provider_contract import ProviderContract
from openagent.plugins.testing.tool_contract import LoneContext, ToolContract
from openagent.plugins.tool import Tool


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class TestWordCount(ToolContract):
    @pytest.fixture
    def tool(self) -> Tool:
        return word_count

    @pytest.fixture
    def arguments(self) -> dict[str, Any]:
        return {"path": "a.txt"}


@pytest.mark.anyio
async def test_words_are_counted(tmp_path: Path) -> None:
    context = LoneContext(tmp_path)
    (context.workspace / "a.txt").write_text("one two three")
    assert (await word_count.run(context, {"path": "a.txt"})).text == "a.txt has 3 words."


class TestEcho(ProviderContract):
    @pytest.fixture
    def provider(self) -> EchoProvider:
        return EchoProvider(ProviderOptions("echo"))

    @pytest.fixture
    def model(self) -> str:
        return "parrot"


class TestDropOldest(CollectorContract):
    @pytest.fixture
    def collector(self) -> DropOldest:
        return DropOldest()


class TestPlainJail(JailContract):
    @pytest.fixture
    def jail(self, tmp_path: Path) -> PlainJail:
        return PlainJail(JailOptions("on", 0, 0, [], tmp_path / "scratch", 120.0, lambda _session, _command: None))


def test_the_command_says_hello() -> None:
    assert CliRunner().invoke(hello, ["plugins"]).output == "Hello, plugins.\n"
