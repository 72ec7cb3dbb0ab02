"""What every test starts from: asyncio, and none of the caller's keys or settings."""

import signal

import pytest
from hypothesis import HealthCheck, settings

from openagent.jail.certificates import INHERITED
from openagent.protocol.locations import FORWARDED_ENV

# How long an example takes to think up says how busy the machine is, and nothing about the code.
settings.register_profile("patient", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("patient")

# A shell that starts the tests in the background ignores these signals, and what a test starts inherits that.
for ending, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(ending) == signal.SIG_IGN:
        signal.signal(ending, usual)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("PIP_NO_INDEX", "UV_OFFLINE"):  # nothing is fetched but from folders that a test made
        monkeypatch.setenv(name, "1")
    for name in (
        *FORWARDED_ENV,
        *INHERITED,
        "OPENAGENT_HOME",
        "OPENAGENT_SOCKET",
        "OPENAGENT_CONFIG",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
