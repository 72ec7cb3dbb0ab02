"""Pools of workers: sessions that ask for a label run where it is, and nowhere else."""

from pathlib import Path

import pytest

from benchmarks.cluster import cluster
from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionCreate
from openagent.protocol.templates import Template, TemplatesSave
from tests.interaction.house import until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


async def test_a_template_with_a_label_runs_on_the_workers_that_have_it(tmp_path: Path) -> None:
    async with cluster(tmp_path, [{"text": "Hello."}], gateways=1, workers=1) as team:
        (plain,) = team.workers
        async with await team.gateways[0].client() as client:
            template = Template(name="trainer", prompt="You train models.", label="gpu")
            await client.request(TemplatesSave(id="t", template=template))
            create = SessionCreate(id="c", cwd=str(team.workspace), template="trainer")
            special, usual = await client.request(create), await client.create_session(str(team.workspace))
            assert special.settings.label == "gpu"
            with pytest.raises(OpenAgentError, match="No worker with the label 'gpu' is there"):
                await client.attach(special.id)
            await client.send(special.id, "hi")

            pool = await team.another_worker(OPENAGENT_TEAM_LABELS="gpu")
            followed = await _attached(client, special.id)
            assert followed.snapshot is not None
            info = followed.snapshot.info
            if not (info.turn_count and info.status == "idle"):
                await until(followed, lambda event: isinstance(event, e.TurnCompleted))
            assert team.holder_of(special.id) is pool
            beside = await client.attach(usual.id)
            await client.send(usual.id, "hi")
            await until(beside, lambda event: isinstance(event, e.TurnCompleted))
            assert team.holder_of(usual.id) is plain


async def _attached(client: Client, session: str) -> Attachment:
    """As soon as there is a worker for it."""
    while True:
        try:
            return await client.attach(session)
        except OpenAgentError as problem:
            if problem.info.code != "busy":
                raise
