"""The contract suites for plugin authors, on what comes with the program."""

from pathlib import Path
from typing import Any

import pytest

from openagent.collectors.registry import built_in_collectors
from openagent.jail.bwrap import BwrapJail
from openagent.jail.host import HostJail
from openagent.plugins.collector import Collector
from openagent.plugins.jail import Jail
from openagent.plugins.provider import Provider
from openagent.plugins.testing.collector_contract import CollectorContract
from openagent.plugins.testing.jail_contract import JailContract
from openagent.plugins.testing.provider_contract import ProviderContract
from openagent.plugins.testing.tool_contract import ToolContract
from openagent.plugins.tool import Tool
from openagent.providers.demo import DemoProvider
from openagent.tools.list_dir import list_dir
from openagent.tools.todo import todo


class TestListDir(ToolContract):
    @pytest.fixture
    def tool(self) -> Tool:
        return list_dir

    @pytest.fixture
    def arguments(self) -> dict[str, Any]:
        return {"path": "."}


class TestTodo(ToolContract):
    @pytest.fixture
    def tool(self) -> Tool:
        return todo

    @pytest.fixture
    def arguments(self) -> dict[str, Any]:
        return {"plan": [{"text": "write", "state": "active"}]}


class TestDemo(ProviderContract):
    @pytest.fixture
    def provider(self) -> Provider:
        return DemoProvider("demo")

    @pytest.fixture
    def model(self) -> str:
        return "tour"


@pytest.mark.parametrize("name", list(built_in_collectors()))
class TestBuiltInCollectors(CollectorContract):
    @pytest.fixture
    def collector(self, name: str) -> Collector:
        return built_in_collectors()[name]


class TestHost(JailContract):
    @pytest.fixture
    def jail(self, tmp_path: Path) -> Jail:
        return HostJail(log_dir=tmp_path / "logs")


class TestBwrap(JailContract):
    @pytest.fixture
    def jail(self, tmp_path: Path) -> Jail:
        return BwrapJail(log_dir=tmp_path / "logs")
