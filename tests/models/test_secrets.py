"""A planted key shows up nowhere: not in logs, events, errors, files, the jail, or a repr."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.app import ConfigCache
from openagent.client import Client
from openagent.models.catalog import ModelCatalog, Place
from openagent.models.provider_credentials import CredentialBook
from openagent.plugins.loading import PluginLoader
from openagent.protocol.auth import AuthAdd, AuthLoginFinish
from openagent.protocol.codec import encode_event
from openagent.protocol.daemon import Hello
from openagent.vault.redact import Redactor
from openagent.vault.vault import Vault

from ..e2e.binary import Binary, binary
from .place import turn

pytestmark = pytest.mark.anyio

STORED = "sk-ant-planted-in-the-vault-0123456789"
IN_CONFIG = "planted-in-the-config-and-shaped-like-nothing"
IN_ENVIRONMENT = "planted-in-the-environment-0123456789"
PLANTED = (STORED, IN_CONFIG, IN_ENVIRONMENT)


def shell(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "arguments": {"command": command}}]}


def holds_planted(text: str | bytes) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    return [secret for secret in PLANTED if secret.encode() in data]


async def test_planted_keys_are_found_nowhere_but_on_the_wire(tmp_path: Path) -> None:
    looking = "env; cat /proc/self/environ /proc/$PPID/environ /proc/1/environ 2>/dev/null | tr '\\0' '\\n'; true"
    echo = f"Incorrect API key provided: {STORED} {IN_CONFIG} {IN_ENVIRONMENT}"
    script = {
        "conversations": [
            {"match": "look", "steps": [shell(looking), {"text": "Nothing."}]},
            {"match": "refuse", "steps": [{"fault": {"name": "403", "message": echo}}]},
            {"match": "break", "steps": [{"fault": {"name": "500", "message": echo}}]},
        ]
    }
    with ThreadedSimulator(script) as sim, binary(tmp_path, sim.base_url) as program:
        settings = tmp_path / "config.toml"
        settings.write_text(
            f'[providers.stored]\nkind = "anthropic"\nbase_url = "{sim.base_url}"\n'
            f'[providers.written]\nkind = "compatible"\nbase_url = "{sim.base_url}/v1"\napi_key = "{IN_CONFIG}"\n'
            '[log]\nlevel = "debug"\n'
        )
        program.env |= {
            "OPENAGENT_CONFIG": str(settings),
            "OPENAI_API_KEY": IN_ENVIRONMENT,
            "AI_RETRY_ATTEMPTS": "2",
            "AI_RETRY_BASE_DELAY": "0.01",
        }
        program.env.pop("OPENAGENT_JAIL_KIND")
        program.serve()
        async with await program.client() as client:
            await client.request(AuthAdd(id=client.next_id(), name="stored", key=STORED))
            heard = await everything_heard(program, client)
        offered = [dict(request.headers) for request in sim.requests]
        assert {headers.get("x-api-key") for headers in offered} >= {STORED}, "the keys did reach the provider"
        assert {headers.get("Authorization") for headers in offered} >= {f"Bearer {IN_CONFIG}"}
        told = [program.run(*command).stdout for command in (("auth", "list"), ("config", "show"), ("usage",))]
    assert holds_planted("".join(heard)) == []
    assert holds_planted("".join(told)) == []
    assert "[redacted]" in "".join(heard), "a vendor repeated them, and they were masked"
    files = [file for file in program.data.rglob("*") if file.is_file()]
    assert any(file.name == "daemon.log" for file in files)
    assert any(file.suffix == ".db" for file in files)
    assert {file.name: holds_planted(file.read_bytes()) for file in files if holds_planted(file.read_bytes())} == {}


async def everything_heard(program: Binary, client: Client) -> list[str]:
    heard: list[str] = []
    for model in ("stored/claude-x", "written/m", "compatible/m"):
        for prompt in ("look", "refuse", "break"):
            info = await client.create_session(str(program.workspace), model=model, mode="full")
            completed, seen = await turn(client, info.id, prompt)
            assert (completed.error is None) == (prompt == "look"), completed
            heard += [encode_event(event).decode() for event in seen]
    return heard


async def test_structs_that_carry_secrets_do_not_show_them(tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(
        f'[providers.written]\nkind = "anthropic"\napi_key = "{IN_CONFIG}"\n'
        f'headers = {{ "X-Token" = "{STORED}" }}\n[providers.written.oauth]\nclient_secret = "{IN_ENVIRONMENT}"\n'
    )
    configs = ConfigCache({"OPENAGENT_CONFIG": str(settings), "HOME": str(tmp_path)})
    redactor = Redactor()
    book = CredentialBook(
        Vault(tmp_path, redactor=redactor), redactor, client_secret=lambda _: "", on_login_required=lambda _p, _r: None
    )
    catalog = ModelCatalog(
        configs.load,
        configs.environment,
        credentials=book,
        redact=redactor.redact,
        limits=None,
        offline=tmp_path / "models",
        plugins=PluginLoader(),
        look_again=configs.forget,
        watch=lambda provider: provider,
    )
    place = Place(tmp_path, {"ANTHROPIC_API_KEY": STORED})
    provider = catalog.provider("written", place)
    shown = [
        repr(catalog.known(place)),
        repr(vars(provider)),
        repr(catalog.resolve("written/m", env=place.env, cwd=tmp_path)),
        repr(configs.load(tmp_path, place.env).settings),
        repr(AuthAdd(id="1", name="a", key=STORED)),
        repr(AuthLoginFinish(id="1", login="a", answer=STORED)),
        repr(Hello(id="1", protocol="1", env={"ANTHROPIC_API_KEY": STORED})),
        json.dumps([value.value for value in configs.load(tmp_path, place.env).values()], default=str),
    ]
    assert holds_planted("".join(shown)) == []
    assert redactor.redact(f"{IN_CONFIG} {STORED}") == "[redacted] [redacted]", "and logs would mask them"
    await catalog.close()


def test_a_key_is_never_taken_from_the_command_line(tmp_path: Path) -> None:
    with ThreadedSimulator([]) as sim, binary(tmp_path, sim.base_url) as program:
        refused = program.run("auth", "add", "anthropic", STORED)
        assert refused.returncode == 2
        added = subprocess.run(
            [sys.executable, "-m", "openagent", "auth", "add", "anthropic", "--no-test"],
            env=program.env,
            input=f"{STORED}\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert added.returncode == 0, added.stderr
        listed = json.loads(program.run("auth", "list", "--json").stdout)["entries"]
        assert [(entry["name"], entry["source"]) for entry in listed if entry["source"] == "vault"] == [
            ("anthropic", "vault")
        ]
        assert holds_planted(added.stdout + added.stderr + json.dumps(listed)) == []
