"""Choosing what answers, once the work has begun: logins, keys of nobody we know, servers without a model."""

import tomllib
from pathlib import Path

import pytest
from textual.widgets import Static

from devtools.simulator import Simulator

from ..models.browser import visit
from ..models.ollama import ollama
from ..models.test_bad_input import oauth
from ..providers_oauth.authorization_server import AuthorizationServer
from .screens import screens

pytestmark = pytest.mark.anyio
ALONE = "local_servers = []\n"


async def test_a_login_in_the_browser_ends_at_a_model(tmp_path: Path) -> None:
    async with (
        AuthorizationServer() as server,
        Simulator([]) as sim,
        screens(tmp_path, [], config=ALONE + oauth(server, sim)) as seen,
    ):
        await seen.write("/login")
        await seen.until_shown("What should answer?", "2  Log in to mine", "in your browser")
        await seen.pilot.press("2", "enter")
        await seen.until_shown("Open this address and allow the access:", "Waiting for the browser")
        shown = str(seen.app.screen.query_one(".text", Static).content)
        await visit(shown.rsplit(maxsplit=1)[-1])
        await seen.until(lambda: seen.view.info and seen.view.info.settings.model.startswith("mine/claude"))
        assert tomllib.loads((seen.house.home / "config.toml").read_text())["model"].startswith("mine/claude")


async def test_a_login_that_nobody_finishes_can_be_left(tmp_path: Path) -> None:
    async with (
        AuthorizationServer() as server,
        Simulator([]) as sim,
        screens(tmp_path, [], config=ALONE + oauth(server, sim)) as seen,
    ):
        await seen.write("/login")
        await seen.until_shown("2  Log in to mine")
        await seen.pilot.press("2", "enter")
        await seen.until_shown("Waiting for the browser")
        await seen.write("nonsense")
        await seen.until(lambda: seen.app.screen.query(".said.bad"))
        await seen.pilot.press("escape")
        await seen.until_shown("2  Log in to mine")
        await seen.pilot.press("escape")
        await seen.until_shown("message, @file")


async def test_whose_an_unknown_key_is_has_to_be_said(tmp_path: Path) -> None:
    async with Simulator([], require_key="mine-0123456789") as sim:
        config = f'{ALONE}[providers.openai]\nbase_url = "{sim.base_url}/v1"\n'
        async with screens(tmp_path, [], config=config) as seen:
            await seen.write("/login")
            await seen.until_shown("2  Paste an API key")
            await seen.pilot.press("2", "enter")
            await seen.until_shown("Enter tries it")
            await seen.write("mine-0123456789")
            await seen.until_shown("Whose key is it?", "1  Anthropic", "2  OpenAI")
            await seen.pilot.press("2", "enter")
            await seen.until(lambda: seen.view.info and seen.view.info.settings.model.startswith("openai/"))


async def test_a_server_without_a_model_says_how_to_get_one(tmp_path: Path) -> None:
    with ollama(None, models=0) as port:
        async with screens(tmp_path, [], config=f'local_servers = ["ollama:{port}"]\n') as seen:
            await seen.write("/login")
            await seen.until_shown("Ollama", "no model yet: ollama pull qwen3", "1  compatible")
            await seen.pilot.press("4", "enter")
            await seen.until_shown("no model yet", "What should answer?")
            await seen.pilot.press("escape")
            await seen.until_shown("message, @file")
