"""What a person allows for longer than once: said in words before, known again after, seen and taken back."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.conversation import QuestionAnswer
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.grants import Grant, GrantsList, GrantsRevoke
from openagent.protocol.safety import PolicyExplain

from .doing import answer, ask, asked, call, results_of, shell, turn, write
from .house import PATIENCE, House, house, house_over, new_session, until

pytestmark = pytest.mark.anyio

OWN = '# mine\n[[rule]]\nname = "no-deploys"\ndecision = "deny"\ncommand = "make deploy"\n\n# the end\n'
DONE = {"text": "ok"}


def requests(seen: list[e.Event]) -> list[str]:
    return [event.ask.summary for event in seen if isinstance(event, e.PermissionRequested)]


async def listed(client: Client, session: str = "") -> list[Grant]:
    return (await ask(client, GrantsList, session=session)).grants


@asynccontextmanager
async def at_a_question(
    tmp_path: Path, *steps: dict[str, object]
) -> AsyncGenerator[tuple[House, Client, Attachment, e.PermissionRequested], None]:
    async with house(tmp_path, [*steps, DONE]) as h, await h.client(interactive=True, name="me") as client:
        attachment = await client.attach(await new_session(h, client, mode="ask"))
        await client.send(attachment.session, "go")
        yield h, client, attachment, await asked(attachment)


async def goes_on(attachment: Attachment) -> list[e.Event]:
    async with asyncio.timeout(PATIENCE):
        return (await attachment.until_turn_ends())[1]


async def test_a_question_says_what_each_answer_would_cover(tmp_path: Path) -> None:
    async with at_a_question(tmp_path, shell("cd . && make test -j2 2>&1 | tail")) as (_, client, attachment, asking):
        told = {choice.id: (choice.scope, choice.by, choice.covers) for choice in asking.ask.choices}
        assert list(told) == ["once", "session", "always", "session:exact", "always:exact"]
        prefix = "`make test` with any arguments, unless they change what it does"
        assert told["once"] == ("once", "call", "Only this, this one time.")
        assert told["session"] == ("session", "prefix", f"{prefix}, for the rest of this session.")
        assert told["always"] == ("always", "prefix", f"{prefix}, always in this workspace.")
        assert told["session:exact"][2] == "Exactly `make test -j2`, for the rest of this session."
        await answer(client, asking, decision="allow", scope="session")
        seen = await goes_on(attachment)
        (resolved,) = [event for event in seen if isinstance(event, e.PermissionResolved)]
        assert resolved.covers == told["session"][2]


async def test_a_prefix_covers_what_comes_after_it_and_nothing_beside_it(tmp_path: Path) -> None:
    allowed = ["make test", "make test -k", "cd sub; make test && ls", "CI=1 make test | tail -3"]
    others = [
        *("make tests", "make all", "make test > out.txt", "make test; touch x", "make test $(touch x)"),
        *("make test -f evil.mk", "make test SHELL=./evil", "FOO=1 make test", "export FOO=1; make test"),
        *("PATH=./evil make test", "sudo make test", "make -C / test", "./make test"),
    ]
    async with at_a_question(tmp_path, shell("make test"), *map(shell, [*allowed, *others])) as place:
        _, client, attachment, asking = place
        await answer(client, asking, decision="allow", scope="session")
        asked_for: list[str] = []
        async with asyncio.timeout(PATIENCE):
            async for event in attachment.events():
                if isinstance(event, e.PermissionRequested):
                    asked_for.append(event.ask.summary)
                    await answer(client, event, decision="deny")
                elif isinstance(event, e.TurnCompleted):
                    break
        assert asked_for == others


async def test_an_approval_request_shows_what_cannot_be_seen(tmp_path: Path) -> None:
    hidden = "make deploy #\u200b\u202eyolped\ufe0f\U000e0041\r\x1b[2K\u00a0\u00ad ⚠️"
    seen = "make deploy #<U+200B><U+202E>yolped<U+FE0F><U+E0041><U+000D><U+001B>[2K<U+00A0><U+00AD> ⚠️"
    async with at_a_question(tmp_path, shell(hidden), write("a.txt", "b\u200d\r\n")) as (_, client, attachment, asking):
        assert (asking.ask.summary, asking.ask.arguments) == (seen, {"command": seen})
        told = {choice.id: choice.covers for choice in asking.ask.choices}
        assert list(told) == ["once", "session", "always"]
        assert told["session"] == f"Exactly `{seen}`, for the rest of this session."
        await answer(client, asking, decision="allow", scope="session")
        (grant,) = await listed(client, attachment.session)
        assert grant.covers == f"Exactly `{seen}`."
        again = await asked(attachment)
        assert again.ask.arguments == {"path": "a.txt", "content": "b<U+200D>\r\n"}
        assert "+b<U+200D>" in again.ask.diff
        await answer(client, again, decision="allow")
        await goes_on(attachment)
    assert next(tmp_path.rglob("a.txt")).read_bytes() == "b\u200d\r\n".encode()


async def test_the_narrower_choice_covers_just_these_words(tmp_path: Path) -> None:
    steps = shell("make test"), shell("make test"), shell("make test -k")
    async with at_a_question(tmp_path, *steps) as (_, client, attachment, asking):
        with pytest.raises(OpenAgentError, match="no choice of this request with the scope 'once'"):
            await answer(client, asking, decision="allow", choice="always:exact")
        await answer(client, asking, decision="allow", scope="session", choice="session:exact")
        again = await asked(attachment)
        assert again.ask.summary == "make test -k"
        await answer(client, again, decision="deny")
        await goes_on(attachment)


async def test_what_is_more_than_was_allowed_is_asked_for_again(tmp_path: Path) -> None:
    steps = shell("git push"), shell("git push origin main"), shell("git push --force")
    async with at_a_question(tmp_path, *steps) as (_, client, attachment, asking):
        await answer(client, asking, decision="allow", scope="session")
        again = await asked(attachment)
        assert again.ask.summary == "git push --force"
        await answer(client, again, decision="deny")
        await goes_on(attachment)


@pytest.mark.parametrize(
    ("first", "covered", "beyond", "choice", "words"),
    [
        (write("src/a.py", "1"), write("src/b/c.py", "1"), write("top.py", "1"), "session:folder", "below `src/`"),
        (write("src/a.py", "1"), write("top.py", "1"), write(".env", "1"), "session:tool", "of a plain file"),
        (write("a.py", "1"), write("a.py", "2"), write("b.py", "1"), "session", "of `a.py`"),
        (
            call("web_fetch", url="http://127.0.0.1:1/x"),
            call("web_fetch", url="http://127.0.0.1:1/y"),
            call("web_fetch", url="http://127.0.0.2:1/"),
            "session",
            "of `127.0.0.1`",
        ),
    ],
)
async def test_a_grant_is_by_folder_tool_file_or_host(
    tmp_path: Path,
    first: dict[str, object],
    covered: dict[str, object],
    beyond: dict[str, object],
    choice: str,
    words: str,
) -> None:
    async with at_a_question(tmp_path, first, covered, beyond) as (_, client, attachment, asking):
        (chosen,) = [each for each in asking.ask.choices if each.id == choice]
        assert words in chosen.covers
        await answer(client, asking, decision="allow", scope="session", choice=choice)
        again = await asked(attachment)
        await answer(client, again, decision="deny")
        await goes_on(attachment)
        assert [result.ended for result in await results_of(client, attachment.session)][-1] == "denied"
        (grant,) = await listed(client, attachment.session)
        assert (grant.scope, grant.by, grant.session) == ("session", "me", attachment.session)
        assert words in grant.covers


async def test_a_sessions_grants_outlive_the_daemon_and_every_client_sees_them(tmp_path: Path) -> None:
    steps = [shell("make test"), DONE, shell("make test -k"), DONE, shell("make test"), DONE]
    async with Simulator(steps) as sim:
        async with house_over(tmp_path, sim) as h, await h.client(interactive=True, name="me") as client:
            session = await new_session(h, client, mode="ask")
            attachment = await client.attach(session)
            await client.send(session, "go")
            await answer(client, await asked(attachment), decision="allow", scope="session")
            await goes_on(attachment)
            before = await listed(client)
        async with house_over(tmp_path, sim) as h, await h.client(interactive=True) as client:
            assert await listed(client) == before
            attachment = await client.attach(session)
            _, seen = await turn(client, attachment)
            assert requests(seen) == []
            await ask(client, GrantsRevoke, grant=before[0].id)
        async with house_over(tmp_path, sim) as h, await h.client(interactive=True) as client:
            assert await listed(client, session) == []
            attachment = await client.attach(session)
            await client.send(session, "go")
            await answer(client, await asked(attachment), decision="deny")
            await goes_on(attachment)


async def test_what_is_revoked_in_mid_turn_is_asked_for_from_the_next_decision_on(tmp_path: Path) -> None:
    steps = shell("make test"), call("ask_user", question="Go on?"), shell("make test")
    async with at_a_question(tmp_path, *steps) as (h, client, attachment, asking):
        await answer(client, asking, decision="allow", scope="session")
        question = (await until(attachment, lambda event: isinstance(event, e.QuestionAsked)))[-1]
        assert isinstance(question, e.QuestionAsked)
        async with await h.client() as other:
            (grant,) = await listed(other, attachment.session)
            await ask(other, GrantsRevoke, grant=grant.id)
        said = {"session": attachment.session, "question": question.question.id, "answer": "yes"}
        await ask(client, QuestionAnswer, **said)
        await answer(client, await asked(attachment), decision="deny")
        await goes_on(attachment)
        assert await listed(client) == []
        with pytest.raises(OpenAgentError, match="no grant"):
            await ask(client, GrantsRevoke, grant=grant.id)


async def test_what_is_always_allowed_is_taken_out_of_the_file_and_the_rest_of_it_stays(tmp_path: Path) -> None:
    async with at_a_question(tmp_path, shell("make test"), shell("make test")) as (h, client, attachment, asking):
        file = h.home / "policy.toml"
        file.write_text(OWN)
        await answer(client, asking, decision="allow", scope="always")
        assert requests(await goes_on(attachment)) == []
        text = file.read_text()
        assert text.startswith(OWN)
        assert 'command = ["make test"]' in text
        file.write_text(f"{text}\n# what follows\n[[rule]]\ndecision = 'ask'\ntool = 'web_fetch'\n")
        (grant,) = await listed(client)
        assert (grant.scope, grant.workspace) == ("always", str(h.workspace))
        assert grant.covers == "`make test` with any arguments, unless they change what it does."
        assert await listed(client, attachment.session) == [grant]
        await ask(client, GrantsRevoke, grant=grant.id)
        assert file.read_text() == f"{OWN}\n# what follows\n[[rule]]\ndecision = 'ask'\ntool = 'web_fetch'\n"
        assert await listed(client) == []
        explained = await ask(client, PolicyExplain, command="make test", cwd=str(h.workspace), mode="ask")
        assert explained.ruling.decision == "ask"


async def test_a_file_that_cannot_be_changed_safely_is_left_alone(tmp_path: Path) -> None:
    async with house(tmp_path, [DONE]) as h, await h.client() as client:
        text = "rule = [{decision = 'allow', command = 'make x', granted = true}]\n"
        (h.home / "policy.toml").write_text(text)
        (grant,) = await listed(client)
        with pytest.raises(OpenAgentError, match="left alone"):
            await ask(client, GrantsRevoke, grant=grant.id)
        assert (h.home / "policy.toml").read_text() == text
