"""Every screen as it looks, compared with kept pictures."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ..interaction.doing import call, shell, write
from .screens import Seen, screens
from .snapshots import compare, drawn

pytestmark = pytest.mark.anyio
ANSWER = """The clock is read **twice**:

```python
def retry(n):
    return time.time() + n  # here
```

1. once in `retry`
2. once in the loop

> and nowhere else
"""
TALK = {
    "show_thinking": "always",
    "conversations": [
        {
            "steps": [
                {"thinking": "The clock may be read twice.", **shell("echo one; exit 3")},
                {**write("retry.py", "import time\n"), "usage": {"input": 1500, "output": 20}},
                {"text": ANSWER, "usage": {"input": 2500, "output": 120}},
            ]
        }
    ],
}


async def _talked(seen: Seen) -> None:
    await seen.write("why does it fail?")
    await seen.until_shown("and nowhere else")
    await seen.until_idle()
    await seen.until(lambda: "retry.py" in seen.view.completion.files)


async def _nothing(seen: Seen) -> None:
    await seen.until_shown("Say what to do.")


async def _opened(seen: Seen) -> None:
    await _talked(seen)
    await seen.pilot.press("ctrl+o")
    await seen.until_shown("1 + import time")


async def _panels(seen: Seen) -> None:
    await _talked(seen)
    await seen.pilot.press("ctrl+x", "p", "ctrl+x", "a")
    await seen.until_shown("No plan yet.", "No other agent")


async def _files(seen: Seen) -> None:
    await _talked(seen)
    await seen.pilot.press("ctrl+x", "f")
    await seen.until_shown("retry.py A")


async def _help(seen: Seen) -> None:
    await seen.pilot.press("question_mark")
    await seen.until_shown("answer a permission")


async def _sessions(seen: Seen) -> None:
    await seen.pilot.press("ctrl+x", "l")
    await seen.until_shown("Sessions", "now")


async def _modes(seen: Seen) -> None:
    await seen.write("/mode")
    await seen.until_shown("reads only")


async def _models(seen: Seen) -> None:
    await seen.write("/model")
    await seen.until_shown("scripted")


async def _rewind(seen: Seen) -> None:
    await _talked(seen)
    await seen.write("/rewind")
    await seen.until_shown("A retry.py +1 −0", "1 + import time")


async def _templates(seen: Seen) -> None:
    await seen.write("/template")
    await seen.until_shown("reviewer")


async def _commands(seen: Seen) -> None:
    await seen.write("/", send=False)
    await seen.until_shown("/resume")


async def _full_view(seen: Seen) -> None:
    await _talked(seen)
    await seen.write("/view")
    await seen.until_shown("q closes")


async def _light(seen: Seen) -> None:
    await _talked(seen)
    await seen.write("/theme")
    await seen.until(lambda: seen.app.theme == "openagent-light")
    await seen.pilot.pause(0.2)


SCREENS: dict[str, Callable[[Seen], Awaitable[None]]] = {
    "empty": _nothing,
    "conversation": _talked,
    "opened": _opened,
    "panels": _panels,
    "files": _files,
    "help": _help,
    "sessions": _sessions,
    "modes": _modes,
    "models": _models,
    "rewind": _rewind,
    "templates": _templates,
    "commands": _commands,
    "full-view": _full_view,
    "light": _light,
}


@pytest.mark.parametrize("name", SCREENS)
async def test_a_screen_looks_as_it_did(tmp_path: Path, name: str) -> None:
    async with screens(tmp_path, TALK) as seen:
        await SCREENS[name](seen)
        await seen.pilot.pause(0.1)
        compare(name, drawn(seen.app))


@pytest.mark.parametrize(("name", "size"), [("small", (60, 20)), ("tiny", (20, 5))])
async def test_a_small_terminal_looks_as_it_did(tmp_path: Path, name: str, size: tuple[int, int]) -> None:
    async with screens(tmp_path, TALK) as seen:
        await _talked(seen)
        await seen.pilot.resize_terminal(*size)
        await seen.pilot.pause(0.2)
        compare(name, drawn(seen.app))


@pytest.mark.parametrize(
    ("name", "step", "shown"),
    [
        ("permission", shell("rm -rf build"), "rm -rf build"),
        ("question", call("ask_user", question="Which one?", choices=["left", "right"]), "2 right"),
    ],
)
async def test_what_waits_looks_as_it_did(tmp_path: Path, name: str, step: dict[str, object], shown: str) -> None:
    async with screens(tmp_path, [step, {"text": "over"}], mode="ask") as seen:
        await seen.write("go")
        await seen.until_shown(shown)
        await seen.pilot.pause(0.1)
        compare(name, drawn(seen.app))
