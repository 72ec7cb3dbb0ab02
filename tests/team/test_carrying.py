"""Sessions that go from worker to worker: their clones, what undo knows of them, and where both are kept meanwhile."""

import os
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from moto.server import ThreadedMotoServer

from benchmarks.cluster import cluster
from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionCreate, SessionDelete
from openagent.protocol.undo import SessionUndo
from tests.interaction.doing import shell
from tests.interaction.house import until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
LARGE = 1 << 20


@pytest.fixture
def bucket() -> Generator[Any]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    made = cast("Any", boto3).client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        aws_access_key_id="me",
        aws_secret_access_key="secret",
        region_name="us-east-1",
    )
    made.create_bucket(Bucket="team")
    yield made
    server.stop()


def _git(*arguments: str, at: Path) -> str:
    who = ("-c", "user.name=Anna", "-c", "user.email=anna@example.com")
    return subprocess.run(["git", *who, *arguments], cwd=at, check=True, capture_output=True, text=True).stdout


def _repository(folder: Path) -> Path:
    folder.mkdir()
    _git("init", "-q", "-b", "main", at=folder)
    (folder / "README").write_text("hello\n")
    (folder / "data").write_bytes(os.urandom(LARGE))
    _git("add", ".", at=folder)
    _git("commit", "-q", "-m", "first", at=folder)
    _git("branch", "topic", at=folder)
    return folder


async def _ended(followed: Attachment) -> list[e.Event]:
    return await until(followed, lambda event: isinstance(event, e.TurnCompleted))


async def test_clones_and_undo_go_with_their_sessions_to_another_worker(tmp_path: Path, bucket: Any) -> None:
    origin = _repository(tmp_path / "origin")
    commit = "git -c user.name=A -c user.email=a@b commit -qm second README"
    script = [
        shell(f"echo changed > README; {commit}; echo new > notes"),
        {"text": "Written."},
        shell("cat README notes && git log --format=%s && git branch --show-current && git status --short"),
        {"text": "Read."},
    ]
    settings = (
        f'team.snapshots = "s3://team/kept"\nteam.repositories = ["{origin}"]\n'
        f'backup.s3 = {{endpoint = "{bucket.meta.endpoint_url}", access_key = "me", secret_key = "secret"}}'
    )
    async with cluster(tmp_path, script, gateways=1, workers=1, settings=settings) as team:
        (first,) = team.workers
        async with await team.gateways[0].client() as client:
            with pytest.raises(OpenAgentError, match="not allowed to clone"):
                await client.request(SessionCreate(id="no", cwd=str(team.workspace), repository=str(team.workspace)))
            create = SessionCreate(id="c", cwd=str(team.workspace), repository=str(origin), branch="topic")
            made, shared = await client.request(create), (await client.create_session(str(team.workspace))).id
            clone = Path(made.cwd)
            assert (clone.parent, (clone / "README").read_text()) == (team.workspace, "hello\n")
            followed, beside = await client.attach(made.id), await client.attach(shared)
            await _say(client, made.id, followed)
            await _say(client, shared, beside)
            assert (team.workspace / "notes").exists()

            await team.another_worker()
            await first.stop()
            assert not clone.exists(), "it is where the next worker finds it"
            kept = [each for each in bucket.list_objects_v2(Bucket="team")["Contents"] if made.id in each["Key"]]
            assert sum(each["Size"] for each in kept) < LARGE / 2, "what the repository has is not sent"
            await _say(client, made.id, followed)
            assert r"changed\nnew\nsecond\nfirst\ntopic\n?? notes" in team.sim.requests[-1].body
            await client.request(SessionUndo(id="s", session=shared, turn=1, conversation=True))
            assert not (team.workspace / "notes").exists()

            await client.request(SessionUndo(id="r", session=made.id, turn=1, git_state=True, conversation=True))
            assert ((clone / "README").read_text(), (clone / "notes").exists()) == ("hello\n", False)
            assert _git("log", "--format=%s", at=clone) == "first\n"

            await client.request(SessionDelete(id="d", session=made.id))
            assert not clone.exists()
            kept = bucket.list_objects_v2(Bucket="team").get("Contents", [])
            assert [each["Key"] for each in kept if made.id in each["Key"]] == []


async def _say(client: Client, session: str, followed: Attachment) -> None:
    await client.send(session, "go on")
    ended = (await _ended(followed))[-1]
    assert isinstance(ended, e.TurnCompleted)
    assert ended.reason == "done", ended
