"""The run path stays thin, and a daemon answers before its heavy parts have loaded."""

import subprocess
import sys
from pathlib import Path

ASKING = """
import asyncio, sys
from openagent.providers.chat import ChatProvider
from openagent.providers.http import Endpoint

LISTED = b'{"data":[{"id":"some","max_model_len":8192}]}'

async def answer(reader, writer):
    asked = await reader.readuntil(b"\\r\\n\\r\\n")
    assert asked.startswith(b"GET /v1/models HTTP/1.1\\r\\n"), asked
    writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(LISTED) + LISTED)

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    there = Endpoint(name="compatible", base_url=f"http://127.0.0.1:{port}/v1", needs_key=False)
    told = await ChatProvider(there).describe("some")
    print(told.context_window, "httpx2" in sys.modules)

asyncio.run(main())
"""
TURN = """
import asyncio, sys
from pathlib import Path
from tests.interaction.doing import one_turn
from tests.interaction.house import house

async def main():
    place = Path(sys.argv[1])
    async with house(place, [{"text": "Hi."}] * 2) as h, await h.client() as client:
        _, completed, _ = await one_turn(h, client)
        loaded = [name for name in ("mcp", "mcp_types", "mcp.client") if name in sys.modules]
    print(completed.reason, *loaded)

asyncio.run(main())
"""
HEAVY = ("asyncio", "msgspec", "click", "json", "re", "socket", "subprocess", "typing", "sqlalchemy", "httpx2")


def test_the_run_path_imports_nothing_heavy() -> None:
    script = (
        "import os, sys; before=set(sys.modules); import openagent.cli.run; print(*sorted(set(sys.modules)-before))"
    )
    done = subprocess.run(
        [sys.executable, "-SIc", f"import sys; sys.path[:0]={sys.path!r}; {script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    assert [name for name in HEAVY if name in loaded] == []
    assert len([name for name in loaded if not name.startswith("openagent")]) <= 6


def test_the_socket_opens_before_the_heavy_imports() -> None:
    script = "import sys, openagent.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    heavy = ("sqlalchemy", "alembic", "httpx2", "uvicorn", "starlette", "fastapi", "openagent.core.session")
    assert [name for name in heavy if name in loaded] == []


def test_what_no_first_answer_needs_is_not_loaded_before_it() -> None:
    script = "import sys, openagent.assembly; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    later = ("httpx2", "pydantic", "alembic", "mcp", "uvicorn", "openagent.policy.analysis")
    ours = ("openagent.history", "openagent.workbench.repository", "openagent.workbench.review")
    assert [name for name in (*later, *ours) if name in loaded] == []


def test_a_session_without_mcp_servers_leaves_their_library_alone(tmp_path: Path) -> None:
    """It takes 34 MB, and a second."""
    ran = [sys.executable, "-c", TURN, str(tmp_path)]
    done = subprocess.run(ran, capture_output=True, text=True, check=False, timeout=120, cwd=Path(__file__).parents[2])
    assert done.stdout.split() == ["done"], done.stderr


def test_a_server_is_asked_about_its_model_without_the_general_client() -> None:
    done = subprocess.run([sys.executable, "-c", ASKING], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["8192", "False"]
