"""People log in at an OpenID provider, and a terminal by a code that their browser confirms."""

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as ws_connect
from websockets.exceptions import ConnectionClosed

from openagent.access import oidc
from openagent.protocol.people import PeopleList, PeopleUpdate
from openagent.protocol.safety import AuditAsk
from openagent.protocol.tokens import TokensCreate

from ..interaction.doing import ask
from ..interaction.house import House, house
from .second_issuer import CLIENT, SECRET, Issuer, issuer

pytestmark = pytest.mark.anyio


def settings(tmp_path: Path, url: str, more: str = "") -> str:
    return (
        f'[people]\nfolder = "{tmp_path / "people"}"\nissuer = "{url}"\nclient_id = "{CLIENT}"\n'
        f'client_secret = "{SECRET}"\nname = "Example"\n{more}'
    )


@contextmanager
def mock() -> Generator[str, None, None]:
    """In a process of its own: it warns of what its libraries will do, which would fail a test here."""
    user = json.dumps({"sub": "ann", "email": "ann@example.org", "name": "Ann"})
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", "0", "--user-claims", user]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr is not None
            lines = (re.search(r"running on (http://[\d.:]+)", line) for line in running.stderr)
            found = next((line[1] for line in lines if line), None)
            assert found is not None, "it did not start"
            yield found
        finally:
            running.kill()


@contextmanager
def open_terminal(command: list[str], env: dict[str, str]) -> Generator[Callable[[str], re.Match[str]], None, None]:
    """What it gives waits for a pattern on the screen."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as running:
        os.close(theirs)
        shown = ""

        def wait(pattern: str) -> re.Match[str]:
            nonlocal shown
            while not (found := re.search(pattern, shown)):
                shown += os.read(ours, 4096).decode()
            return found

        try:
            yield wait
        finally:
            running.kill()
            os.close(ours)


class Browser:
    """What a person's browser does: cookies by host, redirects, and nothing of ours."""

    def __init__(self, h: House) -> None:
        self.http = httpx2.AsyncClient(base_url=h.daemon.place.web_url, timeout=60)

    async def log_in(self, after: str = "/") -> httpx2.Response:
        """To the end, whatever it is."""
        leaving = await self.http.get("/api/sign-in/start", params={"after": after})
        at_provider = await self.http.get(leaving.headers["location"])
        if at_provider.status_code == 200:  # a form that asks who it is
            at_provider = await self.http.post(leaving.headers["location"], data={"sub": "ann"})
        return await self.http.get(at_provider.headers["location"])

    async def me(self) -> dict[str, Any]:
        return (await self.http.get("/api/me")).json()


@asynccontextmanager
async def browsers(h: House) -> AsyncGenerator[Callable[[], Browser], None]:
    """As many as are wanted, each of somebody else."""
    async with AsyncExitStack() as opened:

        def new() -> Browser:
            made = Browser(h)
            opened.push_async_callback(made.http.aclose)
            return made

        yield new


@contextmanager
def own() -> Generator[str, None, None]:
    with issuer() as made:
        yield made.url


PROVIDERS = {"oidc-provider-mock": mock, "with a secret and ES256": own}


@pytest.mark.parametrize("which", PROVIDERS)
async def test_a_person_logs_in_works_and_logs_out(tmp_path: Path, which: str) -> None:
    with PROVIDERS[which]() as url:
        async with house(tmp_path, [{"text": "ok"}], web=True, config=settings(tmp_path, url)) as h, browsers(h) as new:
            browser = new()
            assert (await browser.http.get("/api/sign-in")).json()["name"] == "Example"
            assert (await browser.log_in()).status_code == 200
            me = await browser.me()
            assert (me["name"], me["scopes"]) == ("ann@example.org", ["approve", "chat", "read"])
            async with await h.client() as owner:
                (person,) = (await ask(owner, PeopleList)).people
                assert (person.email, person.name, person.role) == ("ann@example.org", "Ann", "member")
                assert me["roots"] == [person.folder]
                trail = (await ask(owner, AuditAsk)).entries
            assert [each.detail["person"] for each in trail if each.subject == "logged in"] == [person.id]
            origin = {"Origin": h.daemon.place.web_url}
            made = await browser.http.post("/api/agents", json={"cwd": person.folder}, headers=origin)
            assert made.json()["owner"] == person.id, made.text
            assert (await browser.http.post("/api/logout", headers=origin)).status_code == 204
            assert (await browser.http.get("/api/me")).status_code == 401
            assert (await browser.log_in()).status_code == 200, "the same person, not a second one"
            for after, page in {"/device?code=A-B": "/device?code=A-B", "//x.org": "/", "/\t/x.org": "/"}.items():
                assert f'url={page}"' in (await browser.log_in(after)).text
            async with await h.client() as owner:
                assert len((await ask(owner, PeopleList)).people) == 1


async def everything(socket: ClientConnection) -> None:
    while True:
        await socket.recv()


def lies(provider: Issuer) -> dict[str, dict[str, Any]]:
    now = int(time.time())
    return {
        "expired": {"iat": now - 500, "exp": now - 90},
        "not yet": {"nbf": now + 600},
        "for another client": {"aud": "somebody"},
        "of another issuer": {"iss": "http://127.0.0.1:1"},
        "of another login": {"nonce": "x"},
        "an address nobody verified": {"email_verified": False},
        "of another domain": {"email": "ann@example.com"},
        "issued to another": {"aud": [CLIENT, "other"], "azp": "other"},
    }


async def test_what_is_not_to_be_believed_is_refused_and_clocks_may_differ_a_little(tmp_path: Path) -> None:
    with issuer() as provider:
        config = settings(tmp_path, provider.url, 'domains = ["example.org"]\nteam_claim = "groups"')
        async with house(tmp_path, [{"text": "ok"}], web=True, config=config) as h, browsers(h) as new:
            for name, lie in lies(provider).items():
                provider.lies, browser = lie, new()
                ended = await browser.log_in()
                assert (ended.status_code, ended.headers.get("location")) == (303, "/login?problem=refused"), name
                assert (await browser.http.get("/api/me")).status_code == 401
            now = int(time.time())
            provider.lies = {"iat": now + 30, "nbf": now + 30, "exp": now - 20, "groups": ["core"]}
            behind = new()
            assert (await behind.log_in()).status_code == 200
            async with await h.client() as owner:
                (person,) = (await ask(owner, PeopleList)).people
            assert person.teams == ["core"]
            stranger = new()
            leaving = await behind.http.get("/api/sign-in/start")
            back = (await stranger.http.get(leaving.headers["location"])).headers["location"]
            assert (await stranger.http.get(back)).headers["location"] == "/login?problem=refused", "not its own login"


async def test_a_provider_s_new_key_is_found_and_the_old_one_believed_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "_AGAIN", 0.0)
    with issuer() as provider:
        config = settings(tmp_path, provider.url)
        async with house(tmp_path, [{"text": "ok"}], web=True, config=config) as h, browsers(h) as new:
            assert (await new().log_in()).status_code == 200
            old = provider.key
            provider.rotate()
            assert (await new().log_in()).status_code == 200, "signed with a key that came after the first login"
            provider.signs_with = old
            refused = await new().log_in()
            assert refused.headers["location"] == "/login?problem=refused"
            provider.signs_with = None
            assert (await new().log_in()).status_code == 200


async def test_a_login_begun_at_one_gateway_ends_at_another_and_holds_at_both(tmp_path: Path) -> None:
    """Behind one address, by ports of their own."""
    with issuer() as provider:
        shared = f'database = "sqlite:///{tmp_path / "shared.db"}"\n'
        config = shared + settings(tmp_path, provider.url, 'url = "http://agents.test"\n[web]\nhosts = ["agents.test"]')
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        async with (
            house(tmp_path / "one", [{"text": "ok"}], web=True, config=config) as one,
            house(tmp_path / "two", [{"text": "ok"}], web=True, config=config) as two,
            httpx2.AsyncClient(timeout=60) as browser,
        ):

            async def get(h: House, path: str, **headers: str) -> httpx2.Response:
                named = {"Host": "agents.test", **headers}
                return await browser.get(f"{h.daemon.place.web_url}{path}", headers=named)

            leaving = await get(one, "/api/sign-in/start")
            at_provider = await browser.get(leaving.headers["location"])
            back = at_provider.headers["location"].removeprefix("http://agents.test")
            state = leaving.headers["set-cookie"].partition(";")[0]
            come_in = await get(two, back, Cookie=state)
            assert come_in.status_code == 200, come_in.text
            login = come_in.headers["set-cookie"].partition(";")[0]
            for gateway in (one, two):
                assert (await get(gateway, "/api/me", Cookie=login)).json()["name"] == "ann@example.org"
            again = await get(one, back, Cookie=state)
            assert again.headers["location"] == "/login?problem=refused", "a login ends once"


async def test_a_person_who_is_let_in_no_longer_is_out_at_once(tmp_path: Path) -> None:
    with issuer() as provider:
        async with (
            house(tmp_path, [{"text": "ok"}], web=True, config=settings(tmp_path, provider.url)) as h,
            browsers(h) as new,
        ):
            browser = new()
            assert (await browser.log_in()).status_code == 200
            cookie = "; ".join(f"{name}={value}" for name, value in browser.http.cookies.items())
            place = h.daemon.place.web_url
            headers = {"Cookie": cookie, "Origin": place}
            async with ws_connect(place.replace("http", "ws") + "/ws", additional_headers=headers) as socket:
                async with await h.client() as owner:
                    await ask(owner, PeopleUpdate, person="ann@example.org", disabled=True)
                with pytest.raises(ConnectionClosed):
                    await everything(socket)
            assert (await browser.http.get("/api/me")).status_code == 401
            assert (await new().log_in()).headers["location"] == "/login?problem=refused"


async def test_a_terminal_is_let_in_by_a_code_that_a_browser_confirms(tmp_path: Path) -> None:
    with issuer() as provider:
        async with (
            house(tmp_path, [{"text": "ok"}], web=True, config=settings(tmp_path, provider.url)) as h,
            browsers(h) as new,
        ):
            browser, terminal = new(), new().http
            asked = (await terminal.post("/api/device/code", json={"client": "a terminal"})).json()
            shown, waiting = asked["user_code"], {"device_code": asked["device_code"]}

            async def poll() -> dict[str, Any]:
                return (await terminal.post("/api/device/token", json=waiting)).json()

            assert await poll() == {"error": "authorization_pending"}
            answers = [await poll() for _ in range(9)]
            assert {"error": "slow_down"} in answers, "nine times in a row, and never too soon"
            assert (await browser.http.get(f"/api/device?code={shown}")).status_code == 401
            await browser.log_in()
            assert (await browser.http.get(f"/api/device?code={shown}")).json() == {"client": "a terminal"}
            origin = {"Origin": h.daemon.place.web_url}
            answer = {"code": shown, "allow": True}
            async with await h.client() as owner:
                made = await ask(owner, TokensCreate, name="less", scopes=["read"], person="ann@example.org")
            less = {"Authorization": f"Bearer {made.secret}"}
            refused = await terminal.post("/api/device", json=answer, headers=less)
            assert refused.status_code == 403, "whoever may only read lets nobody in who may do more"
            assert (await browser.http.post("/api/device", json=answer, headers=origin)).status_code == 204
            token = await poll()
            headers = {"Authorization": f"Bearer {token['access_token']}"}
            assert (await terminal.get("/api/me", headers=headers)).json()["name"] == "ann@example.org"
            assert await poll() == {"error": "expired_token"}, "a code works once"
            wrong = [(await browser.http.get("/api/device?code=BCDF-BCDF")).status_code for _ in range(11)]
            assert wrong == [404] * 10 + [429]


async def test_a_person_logs_in_from_a_terminal_works_there_and_leaves(tmp_path: Path) -> None:
    with issuer() as provider:
        config = settings(tmp_path, provider.url)
        async with house(tmp_path, [{"text": "ok"}], web=True, config=config) as h, browsers(h) as new:
            place, browser = h.daemon.place.web_url, new()
            env = {"OPENAGENT_HOME": str(tmp_path / "laptop"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
            (tmp_path / "laptop").mkdir()
            await browser.log_in()

            async def run(*words: str, connect: str = place) -> subprocess.CompletedProcess[str]:
                command = [sys.executable, "-m", "openagent", *words]
                given = {**env, "OPENAGENT_CONNECT": connect}
                return await asyncio.to_thread(subprocess.run, command, env=given, capture_output=True, text=True)

            assert (await run("whoami")).returncode != 0
            with open_terminal([sys.executable, "-m", "openagent", "login", place], env) as screen:
                code = (await asyncio.to_thread(screen, r"code: (\w{4}-\w{4})"))[1]
                answer = {"code": code, "allow": True}
                assert (await browser.http.post("/api/device", json=answer, headers={"Origin": place})).is_success
                await asyncio.to_thread(screen, "logged in to .* as ann@example.org")
            (kept,) = (tmp_path / "laptop" / "logins").iterdir()
            assert kept.stat().st_mode & 0o777 == 0o600
            assert "ann@example.org" in (await run("whoami")).stdout
            answered = await run("run", "--model", "compatible/scripted", "Hello")
            assert (answered.returncode, answered.stdout) == (0, "ok\n"), answered.stderr
            listed = await run("sessions", "list")
            assert "/people/ann-example-org-" in listed.stdout, "the session is in the person's own folder"
            assert (await run("logout", place)).returncode == 0
            assert (await run("whoami")).returncode != 0
            assert not kept.exists()
