"""Heavy libraries: fetched by their hash when they are wanted, and a sentence when they cannot be."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openagent.plugins import isolation
from openagent.plugins.extras import Extras
from openagent.plugins.isolation import isolated
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.extras import ExtrasFetch, ExtrasList

from ..interaction.house import house
from ..models.wheels import make_wheel

pytestmark = pytest.mark.anyio


def unheard(stage: str, done: int, total: int) -> None: ...


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(isolation, "_more", list[Path]())
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    yield
    sys.path_importer_cache.clear()


@pytest.fixture
def pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a Chroma that only says its name."""
    wheels, pins = tmp_path / "wheels", tmp_path / "pins"
    wheels.mkdir()
    pins.mkdir()
    make_wheel(wheels, "chromadb", "1.5.9", {"chromadb/__init__.py": "", "chromadb/__main__.py": "print('chroma')"})
    digest = hashlib.sha256((wheels / "chromadb-1.5.9-py3-none-any.whl").read_bytes()).hexdigest()
    (pins / "chroma.txt").write_text(f"chromadb==1.5.9 --hash=sha256:{digest}\n")
    for name in ("index", "grammars", "intent", "tokenizer"):
        (pins / f"{name}.txt").write_text("nothing==1\n")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return pins


async def test_an_extra_is_fetched_with_progress_and_found_after_a_restart(tmp_path: Path, pins: Path) -> None:
    told: list[str] = []
    extras = Extras(tmp_path / "home", pins=pins)
    assert extras.about("chroma").state == "absent"
    await extras.fetch("chroma", lambda stage, done, total: told.append(stage))
    assert (told[0], told[-1]) == ("looking for the packages", "installing")
    assert extras.is_here("chroma")
    assert extras.about("chroma").state == "fetched"
    ran = subprocess.run(isolated("chromadb"), capture_output=True, text=True, check=False)
    assert ran.stdout == "chroma\n", "processes that the daemon starts find it, too"

    sys.path[:] = [place for place in sys.path if "extras" not in place]
    isolation._more.clear()  # pyright: ignore[reportPrivateUsage]
    assert Extras(tmp_path / "home", pins=pins).is_here("chroma")


async def test_other_pins_after_an_update_mean_that_it_is_fetched_anew(tmp_path: Path, pins: Path) -> None:
    await Extras(tmp_path / "home", pins=pins).fetch("chroma", unheard)
    with (pins / "chroma.txt").open("a") as file:
        file.write("# newer\n")
    sys.path[:] = [place for place in sys.path if "extras" not in place]
    assert Extras(tmp_path / "home", pins=pins).about("chroma").state == "absent"


async def test_a_package_with_another_hash_is_refused_and_leaves_nothing(tmp_path: Path, pins: Path) -> None:
    (pins / "chroma.txt").write_text(f"chromadb==1.5.9 --hash=sha256:{'0' * 64}\n")
    extras = Extras(tmp_path / "home", pins=pins)
    with pytest.raises(OpenAgentError, match="could not be installed"):
        await extras.fetch("chroma", unheard)
    assert not extras.is_here("chroma")
    assert list((tmp_path / "home").rglob("chromadb")) == []


async def test_a_daemon_tells_what_is_here_and_says_in_a_sentence_what_cannot_be_had(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        states = {each.name: each for each in (await client.request(ExtrasList(id=client.next_id()))).extras}
        assert states["tokenizer"].state == "installed"
        assert states["intent"].without == "messages go to the model as they are"
        with pytest.raises(OpenAgentError) as refused:
            await client.request(ExtrasFetch(id=client.next_id(), name="chroma"))
        assert refused.value.info.code == "provider_error"
        with pytest.raises(OpenAgentError, match="no extra named 'crystal'"):
            await client.request(ExtrasFetch(id=client.next_id(), name="crystal"))
