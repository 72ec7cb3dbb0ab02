"""The installation's own database, Redis, buckets and daemons: no sandbox reaches them, whoever allows it."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openagent.config.settings import Settings
from openagent.jail.bwrap import BwrapJail
from openagent.protocol.safety import AuditAsk
from openagent.safety.own_services import OwnServices
from tests.jail.conftest import needs_bwrap

from .doing import ask, call, results_of, shell
from .house import house
from .loopback import web_server
from .test_egress import THIS_MACHINE, begin, connects_to, ended, questions

pytestmark = pytest.mark.anyio


@needs_bwrap
@pytest.mark.parametrize("mode", ["ask", "full"])
async def test_no_spelling_no_wish_and_no_rule_opens_a_sandbox_to_the_installation(tmp_path: Path, mode: str):
    async with web_server() as own:
        by_itself = f"exec 3<>/dev/tcp/127.0.0.1/{own.port} && printf 'GET / HTTP/1.1\\r\\n\\r\\n' >&3 && cat <&3"
        script = [
            shell(connects_to((*THIS_MACHINE, "agents.test"), own.port)),
            call("shell", command=by_itself, leave=[f"0.0.0.0:{own.port}"]),
            shell(by_itself),
            call("web_fetch", url=f"http://agents.test:{own.port}/"),
            shell(
                "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 0:%s HTTP/1.1\\r\\n\\r\\n' $(cat port) >&3; cat <&3"
            ),
            {"text": "done"},
        ]
        names = '[jail]\nnames = { "agents.test" = "127.0.0.1" }\n'
        config = f'[people]\nurl = "http://[::ffff:127.0.0.1]:{own.port}"\n{names}'
        rules = "".join(
            f'[[rule]]\ndecision = "allow"\ntool = "network"\nhost = "{host}:{own.port}"\n'
            for host in ("localhost", "agents.test")
        )
        rules += "".join(f'[[rule]]\ndecision = "allow"\ntool = "{tool}"\n' for tool in ("shell", "web_fetch"))
        async with house(tmp_path, script, config=config, web=True) as h, await h.client(interactive=True) as client:
            (h.workspace / "port").write_text(h.daemon.place.web_url.rpartition(":")[2])
            (h.home / "policy.toml").write_text(rules)
            session, attachment = await begin(h, client, mode=mode)
            assert questions(await ended(attachment)) == [], "nobody is asked about what nobody can allow"
            spelled, wished, opened, fetched, web = (part.text for part in await results_of(client, session))
            why = "it is this installation's daemon, which nobody can open to a sandbox"
            assert spelled.count("403 Forbidden") == len(THIS_MACHINE) + 1
            assert f"localhost:{own.port} was not reached, because {why}" in spelled
            assert why in wished
            assert "hello" not in opened
            assert why in fetched
            assert why in web
            assert own.requests == []
            rows = (await ask(client, AuditAsk, session=session, kind="decision")).entries
            said = {row.detail["rule"] for row in rows if row.subject.endswith(f":{own.port}")}
            assert said == {"jail:never"}


async def test_no_folder_with_a_socket_of_the_installation_is_opened(tmp_path: Path):
    folders = [tmp_path / name for name in ("redis", "postgres", "daemon", "other")]
    for folder in folders:
        folder.mkdir()
    redis, postgres, daemon, other = folders
    settings = {"redis": f"unix://:p@{redis}/redis.sock", "database": f"postgresql:///db?host={postgres}"}
    own = OwnServices(msgspec.convert(settings, Settings), {"OPENAGENT_SOCKET": f"{daemon}/daemon.sock"}, str)
    jail = BwrapJail(hidden=own.sockets)
    for folder in (redis, postgres, daemon):
        assert jail.why_not("folder", str(folder))
        assert jail.why_not("folder_write", str(folder))
    assert not jail.why_not("folder_write", str(other))


CONFIGURED: list[tuple[dict[str, Any], str, str, int]] = [
    ({"redis": "redis://:p@127.0.0.1:6390/0"}, "Redis", "0.0.0.0", 6390),
    ({"redis": "rediss://:p@localhost"}, "Redis", "::ffff:127.0.0.1", 6379),
    ({"redis": "redis://:p@cache.corp.example:6379"}, "Redis", "CACHE.corp.example.", 6379),
    ({"redis": "redis://:p@10.1.2.3:6379"}, "Redis", "::ffff:10.1.2.3", 6379),
    ({"redis": "redis://:p@10.1.2.3:6379"}, "Redis", "10.66051", 6379),
    ({"redis": "redis://:p@known.test:6379"}, "Redis", "10.9.8.7", 6379),
    ({"redis": "redis://:p@unknown.test:6379"}, "Redis", "10.9.8.7", 6379),
    ({"database": "postgresql://u:p@127.0.0.1:5433/db"}, "database", "127.1", 5433),
    ({"database": "postgresql+psycopg://u:p@one.test:5433,10.0.0.2:5434/db"}, "database", "10.0.0.2", 5434),
    ({"database": "postgresql:///db?host=10.0.0.2,10.0.0.3&port=5433"}, "database", "10.0.0.3", 5433),
    ({"database": "postgresql:///db"}, "database", "localhost", 5432),
    ({"store": {"url": "postgresql://db.test/db"}}, "database", "db.test", 5432),
    ({"backup": {"folder": "s3://b/p", "s3": {"endpoint": "http://10.0.0.9:9000"}}}, "bucket", "10.0.0.9", 9000),
    ({"backup": {"folder": "s3://b/p", "s3": {"endpoint": "https://s3.test"}}}, "bucket", "b.s3.test", 443),
    ({"team": {"snapshots": "s3://b/p"}}, "bucket", "127.0.0.1", 9001),
    ({"people": {"url": "https://agents.test"}}, "daemon", "agents.test", 443),
    ({"web": {"hosts": ["agents.test:8443", "other.test"]}}, "daemon", "agents.test", 8443),
    ({"web": {"hosts": ["agents.test:8443", "other.test"]}}, "daemon", "other.test", 80),
    ({}, "daemon", "0", 4180),
]


@pytest.mark.parametrize(("settings", "what", "host", "port"), CONFIGURED)
async def test_whatever_is_configured_is_known_however_it_is_written(
    settings: dict[str, Any], what: str, host: str, port: int, monkeypatch: pytest.MonkeyPatch
):
    async def get(host: str, *_: object, **__: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        if host != "known.test":
            raise OSError("it has no address")
        return [(2, 1, 6, "", ("10.9.8.7", 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", get)
    env = {"AWS_ENDPOINT_URL": "http://localhost:9001", "OPENAGENT_HOME": "/nowhere"}
    own = OwnServices(msgspec.convert(settings, Settings), env, lambda: "http://0.0.0.0:4180")
    assert what in await own.why_never(host, port, ())
    assert not await own.why_never(host, port + 1, ())
    assert not await own.why_never("elsewhere.example", port, ("192.0.9.9",))
