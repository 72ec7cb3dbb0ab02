"""In a team, nobody's session reaches the Redis and the database that all of them live on."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.cluster import cluster, free_port
from openagent.client import Attachment, Client, connect
from openagent.protocol import events as e
from openagent.protocol.people import PeopleAdd
from openagent.protocol.tokens import Scope, TokensCreate
from tests.interaction.doing import answer, ask, call, results_of, shell
from tests.interaction.house import PATIENCE, until
from tests.interaction.test_egress import THIS_MACHINE, connects_to
from tests.jail.conftest import needs_bwrap

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300), needs_bwrap]

PEOPLE: list[tuple[str, str, list[Scope]]] = [
    ("eve@example.com", "member", ["read", "chat"]),
    ("ann@example.com", "member", ["read", "chat", "approve"]),
    ("root@example.com", "admin", ["read", "chat", "approve", "admin"]),
]


async def _allowing_all(client: Client, attachment: Attachment) -> list[str]:
    """What was asked about until the turn's end, and allowed for good."""
    asked = list[str]()
    while True:
        seen = await until(attachment, lambda event: isinstance(event, e.PermissionRequested | e.TurnCompleted))
        if not isinstance(question := seen[-1], e.PermissionRequested):
            return asked
        asked.append(question.ask.summary)
        await answer(client, question, decision="allow", scope="always")


async def test_no_member_no_approver_and_no_admin_opens_a_session_to_the_teams_redis(tmp_path: Path) -> None:
    port = free_port()
    redis = f"localhost:{port}"
    speak = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo PING >&3 && head -n 1 <&3"
    steps = [
        shell(connects_to(THIS_MACHINE, port)),
        call("shell", command=speak, leave=[redis]),
        call("shell", command=speak, leave=[f"[::ffff:127.0.0.1]:{port}"]),
        shell(speak),
        call("web_fetch", url=f"http://127.1:{port}/"),
        {"text": "done"},
    ]
    rule = '[[rule]]\ndecision = "allow"\ntool = "{}"\n{}\n'
    rules = rule.format("network", f'host = "local*:{port}"') + rule.format("web_fetch", "") + rule.format("shell", "")
    folders = f'people.folder = "{tmp_path}/people"'
    script = {"steps": steps, "loop": True}
    async with cluster(tmp_path, script, gateways=1, workers=1, settings=folders, redis_port=port) as team:
        (tmp_path / "policy.toml").write_text(rules)
        (gateway,), (worker,) = team.gateways, team.workers
        owner = await gateway.client()
        for email, role, scopes in PEOPLE:
            person = await ask(owner, PeopleAdd, email=email, role=role)
            made = await ask(owner, TokensCreate, name=email, scopes=scopes, person=person.id)
            url = f"ws://127.0.0.1:{gateway.port}/ws"
            client = await connect(url=url, token=made.secret, interactive=True, env={})
            session = (await client.create_session(person.folder, mode="auto")).id
            attachment = await client.attach(session)
            await client.send(session, "go")
            async with asyncio.timeout(PATIENCE):
                assert await _allowing_all(client, attachment) == [], f"{email} can allow nothing of it"
            spelled, wished, mapped, opened, fetched = (part.text for part in await results_of(client, session))
            why = "it is this installation's Redis, which nobody can open to a sandbox"
            assert spelled.count("403 Forbidden") == len(THIS_MACHINE)
            assert f"{redis} was not reached, because {why}" in spelled
            assert why in wished
            assert why in mapped
            assert "PONG" not in wished + mapped + opened
            assert "NOAUTH" not in wished + mapped + opened
            assert "off limits" in fetched or why in fetched
            await client.close()
        await owner.close()
        assert "connection from a sandbox to this installation's own service refused" in worker.log
