import pytest

from openagent.tools.mcp import host


@pytest.fixture(autouse=True)
def servers_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first turn waits five seconds for its servers; beside a busy machine they may need longer to start."""
    monkeypatch.setattr(host, "SETTLE", 60.0)
