"""The run path stays thin, and a daemon answers before its heavy parts have loaded."""

import subprocess
import sys

HEAVY = ("asyncio", "msgspec", "click", "json", "re", "socket", "subprocess", "typing", "sqlalchemy", "httpx2")


def test_the_run_path_imports_nothing_heavy() -> None:
    script = "import sys; before=set(sys.modules); import openagent.cli.run; print(*sorted(set(sys.modules)-before))"
    done = subprocess.run(
        [sys.executable, "-SIc", f"import sys; sys.path[:0]={sys.path!r}; {script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    assert [name for name in HEAVY if name in loaded] == []
    assert len([name for name in loaded if not name.startswith("openagent")]) < 12


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
    later = ("httpx2", "genai_prices", "pydantic", "alembic", "mcp", "uvicorn", "openagent.policy.analysis")
    assert [name for name in later if name in loaded] == []
