"""Settings as one turn finds them."""

import asyncio
from pathlib import Path

import pytest

from openagent.config.cache import ConfigCache

ENV = {"OPENAI_BASE_URL": "http://127.0.0.1:1"}


@pytest.fixture
def configs(tmp_path: Path) -> ConfigCache:
    (tmp_path / "config.toml").write_text('model = "a/one"\n')
    return ConfigCache({"OPENAGENT_CONFIG": str(tmp_path / "config.toml"), "OPENAGENT_HOME": str(tmp_path)})


def test_a_turn_finds_the_same_settings_however_it_asks(configs: ConfigCache, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    configs.origin_of = lambda workspace: tmp_path if workspace == copy else workspace
    with configs.freeze(tmp_path, ENV).here():
        (tmp_path / "config.toml").write_text('model = "a/two"\n')
        configs.forget()
        found = [configs.load(tmp_path), configs.load(tmp_path, ENV), configs.load(copy, {}), configs.load(tmp_path)]
        assert all(each is found[0] for each in found)
        assert found[0].settings.model == "a/one"
        assert configs.load(None).settings.model == "a/two"
        assert configs.load(tmp_path, {"OPENAI_BASE_URL": "http://127.0.0.1:2"}).settings.model == "a/two"
    assert configs.load(tmp_path).settings.model == "a/two"


@pytest.mark.anyio
async def test_what_a_turn_left_running_finds_the_settings_as_they_are(configs: ConfigCache, tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def left_running() -> str:
        await ended.wait()
        return configs.load(tmp_path).settings.model

    frozen = configs.freeze(tmp_path, {})
    with frozen.here():
        task = asyncio.create_task(left_running())
    (tmp_path / "config.toml").write_text('model = "a/two"\n')
    configs.forget()
    frozen.thaw()
    ended.set()
    assert await task == "a/two"
