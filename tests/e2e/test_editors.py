"""`openagent acp`, the real program, driven by the client of the official Agent Client Protocol SDK."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import schema as s

from devtools.simulator import Simulator

from .binary import Binary, binary
from .editor import PATIENCE, Editor, ask, editing, open_session, states

pytestmark = pytest.mark.anyio

MODEL = "compatible/scripted"


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "arguments": {"command": command}}], **more}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


@asynccontextmanager
async def program(tmp_path: Path, script: Any, mode: str = "ask") -> AsyncGenerator[Binary, None]:
    async with Simulator(script) as sim:
        with binary(tmp_path, sim.base_url) as built:
            settings = tmp_path / "config.toml"
            settings.write_text(
                f'model = "{MODEL}"\nmode = "{mode}"\n'
                f'[providers.compatible]\nkind = "compatible"\nbase_url = "{sim.base_url}/v1"\napi_key = "k"\n'
            )
            built.env |= {"OPENAGENT_CONFIG": str(settings)}
            built.serve()
            yield built


async def test_a_whole_turn_with_a_plan_thinking_a_diff_a_permission_and_a_cancel(tmp_path: Path) -> None:
    script = [
        {"thinking": "hm", **call("todo", plan=[{"text": "Look", "state": "active"}, {"text": "Mend"}])},
        {"text": "I change it.", **call("edit_file", path="a.txt", old="wrong", new="right")},
        {"text": "It is mended."},
        shell("echo started; sleep 60"),
    ]

    async def allow(_: s.ToolCallUpdate) -> str:
        return "once"

    async with program(tmp_path, {"steps": script, "show_thinking": "always"}) as built:
        file = built.workspace / "a.txt"
        file.write_text("all is wrong\nhere\n")
        async with editing(built, Editor(allow)) as editor:
            session = await open_session(editor, built)
            assert await ask(editor, session, "mend it") == "end_turn"
            assert file.read_text() == "all is right\nhere\n"
            assert (editor.said(), editor.said("agent_thought_chunk")) == ("I change it.It is mended.", "hm")
            assert not editor.of("user_message_chunk")
            (plan,) = editor.of("plan")
            assert [(entry.content, entry.status) for entry in plan.entries] == [
                ("Look", "in_progress"),
                ("Mend", "pending"),
            ]
            ((asked, options),) = editor.asked
            assert [(option.option_id, option.kind) for option in options] == [
                ("once", "allow_once"),
                ("session", "allow_always"),
                ("always", "allow_always"),
                ("session:tool", "allow_always"),
                ("always:tool", "allow_always"),
                ("reject", "reject_once"),
            ]
            assert (asked.kind, asked.locations[0].path) == ("edit", str(file))
            assert (asked.content[0].old_text, asked.content[0].new_text) == ("wrong", "right")
            assert states(editor, asked.tool_call_id) == ["pending", "in_progress", "completed"]
            changed = editor.of("tool_call_update")[-1].content[0]
            assert (changed.path, changed.old_text, changed.new_text) == (
                str(file),
                "all is wrong\nhere",
                "all is right\nhere",
            )

            turn = asyncio.create_task(ask(editor, session, "and now run"))
            started = await editor.until(lambda: [one for one in editor.of("tool_call") if one.kind == "execute"])
            await editor.until(lambda: "in_progress" in states(editor, started[0].tool_call_id))
            await editor.agent.cancel(session_id=session)
            assert await turn == "cancelled"
            assert states(editor, started[0].tool_call_id)[-1] == "failed"


async def test_an_editor_that_dies_leaves_the_turn_running_and_its_question_open(tmp_path: Path) -> None:
    async def never(_: s.ToolCallUpdate) -> str:
        await asyncio.get_running_loop().create_future()
        return ""

    async def allow(_: s.ToolCallUpdate) -> str:
        return "once"

    async with program(tmp_path, [shell("touch made"), {"text": "Made."}]) as built:
        async with editing(built, Editor(never)) as editor:
            session = await open_session(editor, built)
            turn = asyncio.create_task(ask(editor, session, "make it"))
            await editor.until(lambda: editor.asked)
            editor.process.send_signal(signal.SIGKILL)
            with pytest.raises(ConnectionError):
                await turn
        async with editing(built, Editor(allow)) as editor:
            await editor.agent.load_session(cwd=str(built.workspace), session_id=session, mcp_servers=[])
            await editor.until(lambda: editor.said() == "Made.")
        assert (built.workspace / "made").exists()


async def test_a_daemon_that_dies_is_started_again_under_the_editor(tmp_path: Path) -> None:
    script = [{"text": "First.", **shell("sleep 60")}, {"text": "Still here."}]
    async with program(tmp_path, script, mode="full") as built, editing(built) as editor:
        session = await open_session(editor, built)
        turn = asyncio.create_task(ask(editor, session, "go"))
        await editor.until(lambda: editor.of("tool_call"))
        built.daemons[-1].kill()
        built.daemons[-1].wait()
        assert await turn == "cancelled"
        assert "Interrupted: the daemon stopped" in editor.said()
        assert await ask(editor, session, "still there?") == "end_turn"
        assert editor.said().endswith("Still here.")
        assert editor.said().count("First.") == 1


async def test_a_daemon_that_was_stopped_comes_back_with_the_next_prompt(tmp_path: Path) -> None:
    async with program(tmp_path, {"steps": [{"text": "a"}, {"text": "b"}]}) as built, editing(built) as editor:
        session = await open_session(editor, built)
        assert await ask(editor, session, "one") == "end_turn"
        assert built.run("stop").returncode == 0
        assert await ask(editor, session, "two") == "end_turn"
        assert editor.said() == "ab"


async def test_bad_input_is_answered_and_the_next_request_works(tmp_path: Path) -> None:
    async with program(tmp_path, [{"text": "x"}]) as built:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "openagent", "acp"),
            env=built.env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 20,
        )
        written, printed = process.stdin, process.stdout
        assert written
        assert printed

        async def say(line: bytes) -> Any:
            written.write(line + b"\n")
            async with asyncio.timeout(PATIENCE):
                await written.drain()
                return json.loads(await printed.readline())

        def request(method: str, **params: Any) -> bytes:
            return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()

        assert (await say(b"{nonsense"))["error"]["code"] == -32700
        assert (await say(b"x" * (33 << 20)))["error"]["code"] == -32600
        assert (await say(request("session/imagine")))["error"]["code"] == -32601
        assert (await say(request("session/prompt", sessionId="none", prompt=[])))["error"]["code"] == -32002
        assert (await say(request("session/load", sessionId="none", cwd="/", mcpServers=[])))["error"]["code"] == -32002
        assert (await say(request("session/new", cwd="/not/there", mcpServers=[])))["error"]["code"] == -32602
        assert (await say(request("session/new")))["error"]["code"] == -32602
        assert (await say(request("session/list", cursor="x")))["error"]["code"] == -32602
        assert (await say(request("initialize", protocolVersion=99)))["result"]["protocolVersion"] == 1
        written.close()
        assert await process.wait() == 0
