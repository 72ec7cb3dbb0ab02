"""People without a login provider: a link by which they choose a password, and the password from then on."""

import asyncio
import contextlib
import hashlib
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from openagent.client import Client
from openagent.daemon import still_welcome
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.people import PeopleAdd, PeopleInvite, PeopleList, PeopleRemove, PeopleUpdate
from openagent.protocol.safety import AuditAsk
from openagent.protocol.tokens import TokensCreate
from tests.interaction.doing import ask
from tests.interaction.house import House, house
from tests.rest.calling import rest

from .second_issuer import issuer
from .test_every_door import listening, to_its_end
from .test_signing_in import settings

pytestmark = pytest.mark.anyio
ANN, BOB = "ann@example.org", "bob@example.org"
PASSWORD, OTHER = "correct horse battery", "staple staple staple"


class Browser:
    def __init__(self, h: House, **headers: str) -> None:
        self.place = h.daemon.place.web_url
        self.http = httpx2.AsyncClient(base_url=self.place, timeout=60, headers={"Origin": self.place, **headers})

    async def post(self, path: str, **body: str) -> httpx2.Response:
        return await self.http.post(path, json=body)

    async def join(self, link: str, password: str = PASSWORD) -> httpx2.Response:
        return await self.post("/api/invitation/password", invitation=link.partition("#")[2], password=password)

    async def sign_in(self, email: str = ANN, password: str = PASSWORD, after: str = "/") -> httpx2.Response:
        return await self.post("/api/sign-in/password", email=email, password=password, after=after)

    async def status(self) -> int:
        return (await self.http.get("/api/me")).status_code


New = Callable[..., Browser]


@asynccontextmanager
async def server(tmp_path: Path, more: str = "") -> AsyncGenerator[tuple[House, Client, New], None]:
    config = more or f'[people]\nfolder = "{tmp_path / "people"}"'
    async with (
        house(tmp_path, [{"text": "ok"}], web=True, config=config) as h,
        await h.client() as owner,
        AsyncExitStack() as opened,
    ):

        def new(**headers: str) -> Browser:
            made = Browser(h, **{name.replace("_", "-"): value for name, value in headers.items()})
            opened.push_async_callback(made.http.aclose)
            return made

        yield h, owner, new


async def joined(owner: Client, browser: Browser, email: str = ANN) -> str:
    person = await ask(owner, PeopleAdd, email=email)
    assert (await browser.join(person.link)).status_code == 200
    return person.id


def found_below(folder: Path, *wanted: str) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [f"{word} in {path}" for path in files for word in wanted if word.encode() in path.read_bytes()]


async def trail(owner: Client) -> list[str]:
    return [each.subject for each in (await ask(owner, AuditAsk)).entries]


async def test_a_person_comes_by_a_link_chooses_a_password_and_comes_back_with_it(tmp_path: Path) -> None:
    async with server(tmp_path) as (h, owner, new):
        invited = await ask(owner, PeopleAdd, email=ANN)
        secret = invited.link.removeprefix(f"{h.daemon.place.web_url}/invitation#")
        assert len(secret) == 32
        assert secret not in repr(invited)
        browser = new()
        assert (await browser.http.get("/api/sign-in")).json()["passwords"] is False
        assert (await browser.post("/api/invitation", invitation=secret)).json()["email"] == ANN
        short = await browser.join(invited.link, "eleven char")
        assert (short.status_code, "at least 12 characters" in short.text) == (422, True)
        plain = await browser.join(invited.link, "abcabcabcabcabc")
        assert (plain.status_code, "5 different characters" in plain.text) == (422, True)
        assert (await browser.join(invited.link)).json() == {"after": "/"}
        me = (await browser.http.get("/api/me")).json()
        assert (me["name"], me["scopes"], me["roots"]) == (ANN, ["approve", "chat", "read"], [invited.folder])
        used = await new().join(invited.link, OTHER)
        assert (used.status_code, "already used" in used.text) == (404, True)

        assert (await browser.post("/api/logout")).status_code == 204
        assert await browser.status() == 401
        wrong = await browser.sign_in(password=OTHER)
        assert (wrong.status_code, "Incorrect" in wrong.text) == (401, True)
        assert (await browser.http.get("/api/sign-in")).json()["passwords"] is True
        come = {"/device?code=A-B": "/device?code=A-B", "//x.org": "/"}
        for after, page in come.items():
            assert (await browser.sign_in(f" {ANN.upper()} ", after=after)).json() == {"after": page}
        made = await browser.http.post("/api/agents", json={"cwd": invited.folder})
        assert made.json()["owner"] == invited.id, made.text
        (person,) = (await ask(owner, PeopleList)).people
        assert (person.password, person.invited_until, bool(person.last_login_at)) == (True, None, True)
        told = await trail(owner)
        assert {f"add {ANN}", "joined", "logged in", "login refused", "logged out"} <= set(told)
    assert found_below(tmp_path, PASSWORD, OTHER, secret, "eleven char") == []


async def test_a_link_that_was_replaced_or_is_too_old_opens_nothing(tmp_path: Path) -> None:
    async with server(tmp_path) as (h, owner, new):
        first = await ask(owner, PeopleAdd, email=ANN)
        second = await ask(owner, PeopleInvite, person=ANN)
        browser = new()
        assert (await browser.join(first.link)).status_code == 404
        with contextlib.closing(sqlite3.connect(h.home / "openagent.db", timeout=60)) as database, database:
            database.execute("UPDATE people SET invited_until = 1")
        assert (await browser.join(second.link)).status_code == 404
        third = await ask(owner, PeopleInvite, person=ANN)
        await ask(owner, PeopleUpdate, person=ANN, disabled=True)
        assert (await browser.join(third.link)).status_code == 404
        with pytest.raises(OpenAgentError, match="is disabled"):
            await ask(owner, PeopleInvite, person=ANN)
        await ask(owner, PeopleUpdate, person=ANN, disabled=False)
        answers = await asyncio.gather(*(new().join(third.link, f"{PASSWORD} {each}") for each in range(4)))
        assert sorted(answer.status_code for answer in answers) == [200, 404, 404, 404], "one of them has it"


async def test_whoever_has_forgotten_the_password_chooses_another_and_all_logins_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(still_welcome, "LOOK_AGAIN", 3600.0)
    async with server(tmp_path) as (h, owner, new):
        person = await ask(owner, PeopleAdd, email=ANN)
        made = await ask(owner, TokensCreate, name="laptop", scopes=["chat"], person=ANN)
        before, after = new(), new()
        await before.join(person.link)
        terminal = (await before.post("/api/device/code", client="a terminal")).json()
        allowed = await before.http.post("/api/device", json={"code": terminal["user_code"], "allow": True})
        assert allowed.status_code == 204
        (login,) = before.http.cookies.values()
        async with rest(h, made.secret) as laptop:
            assert (await laptop("GET", "/api/me")).status_code == 200, "the first password ends nothing"
            async with listening(h, login) as heard:
                again = await ask(owner, PeopleInvite, person=ANN)
                assert (await before.status(), (await new().sign_in()).status_code) == (200, 200), "not yet"
                assert (await after.join(again.link, OTHER)).status_code == 200
                for each in heard:
                    await to_its_end(each)
            assert (await laptop("GET", "/api/me")).status_code == 401
        assert (await before.status(), await after.status()) == (401, 200)
        late = await before.post("/api/device/token", device_code=terminal["device_code"])
        assert late.json() == {"error": "expired_token"}, "let in by whoever knew the old password"
        assert (await new().sign_in()).status_code == 401
        assert (await new().sign_in(password=OTHER)).status_code == 200
        assert "reset the password with an invitation" in await trail(owner)


async def test_a_person_changes_their_password_and_their_other_logins_end(tmp_path: Path) -> None:
    async with server(tmp_path) as (h, owner, new):
        here, elsewhere = new(), new()
        await joined(owner, here)
        assert (await elsewhere.sign_in()).status_code == 200
        wrong = await here.post("/api/password", old=OTHER, new=OTHER)
        assert (wrong.status_code, "current password" in wrong.text) == (422, True)
        made = await ask(owner, TokensCreate, name="less", scopes=["read"], person=ANN)
        async with rest(h, made.secret) as less, rest(h) as machine:
            for token in (less, machine):
                refused = await token("POST", "/api/password", {"old": PASSWORD, "new": OTHER})
                assert refused.status_code == 403, refused.text
        assert (await here.post("/api/password", old=PASSWORD, new=OTHER)).status_code == 204
        assert (await here.status(), await elsewhere.status()) == (200, 401)
        assert [(await new().sign_in(password=each)).status_code for each in (PASSWORD, OTHER)] == [401, 200]
        assert "changed the password" in await trail(owner)


async def test_whoever_is_suspended_or_removed_does_not_come_in(tmp_path: Path) -> None:
    async with server(tmp_path) as (_, owner, new):
        browser = new()
        await joined(owner, browser)
        refusal = (await new().sign_in(password=OTHER)).json()
        await ask(owner, PeopleUpdate, person=ANN, disabled=True)
        told = (await new().sign_in()).json()
        assert {**told, "trace": ""} == {**refusal, "trace": ""}, "whether it was right is nobody's to know"
        await ask(owner, PeopleUpdate, person=ANN, disabled=False)
        assert (await new().sign_in()).status_code == 200
        await ask(owner, PeopleRemove, person=ANN)
        assert await browser.status() == 401
        await ask(owner, PeopleAdd, email=ANN)
        assert (await new().sign_in()).status_code == 401, "somebody new with the same address"


async def test_an_unknown_address_is_refused_as_a_wrong_password_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server(tmp_path) as (_, owner, new):
        await joined(owner, new())
        await ask(owner, PeopleAdd, email=BOB)
        hashed: list[tuple[Any, ...]] = []

        def scrypt(password: bytes, **given: Any) -> bytes:
            hashed.append((given["n"], given["r"], given["p"]))
            return original(password, **given)

        original = hashlib.scrypt
        monkeypatch.setattr(hashlib, "scrypt", scrypt)
        answers = [(await new().sign_in(email, OTHER)).json() for email in (ANN, BOB, "nobody@example.org", "")]
        assert [each | {"trace": ""} for each in answers] == [answers[0] | {"trace": ""}] * 4
        assert hashed == hashed[:1] * 4, "each takes the same work"


async def test_who_guesses_passwords_waits_and_keeps_out_nobody_who_came_before(tmp_path: Path) -> None:
    async with server(tmp_path) as (_, owner, new):
        await joined(owner, new())
        at_home = new(X_Forwarded_For="203.0.113.1")
        assert (await at_home.sign_in()).status_code == 200
        guesser = new(X_Forwarded_For="203.0.113.2")
        answers = [await guesser.sign_in(password=f"a wrong one {each}") for each in range(14)]
        statuses = [answer.status_code for answer in answers]
        assert statuses[:10] == [401] * 10
        assert 429 in statuses
        slowed = answers[statuses.index(429)]
        assert 1 <= int(slowed.headers["retry-after"]) <= 6
        assert slowed.json()["hint"].startswith("Try again in ")
        beside = new(X_Forwarded_For="203.0.113.3")
        assert 429 in [(await beside.sign_in(password=f"one more {each}")).status_code for each in range(3)]
        assert (await at_home.sign_in()).status_code == 200
        spread = [await guesser.sign_in(f"person{each}@example.org", OTHER) for each in range(24)]
        assert 429 in [answer.status_code for answer in spread], "of one address, whomever it tries"


async def test_a_password_is_taken_over_https_or_on_the_machine_alone(tmp_path: Path) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"\n[web]\nhosts = ["agents.test"]'
    async with server(tmp_path, config) as (_, owner, new):
        person = await ask(owner, PeopleAdd, email=ANN)
        assert "only over https" in person.note
        open_line = new(Host="agents.test", Origin="http://agents.test")
        for refused in (await open_line.join(person.link), await open_line.sign_in()):
            assert (refused.status_code, "only over https" in refused.text) == (403, True)
        sealed = new(Host="agents.test", Origin="https://agents.test", X_Forwarded_Proto="https")
        come_in = await sealed.join(person.link)
        assert (come_in.status_code, "; Secure" in come_in.headers["set-cookie"]) == (200, True)
        assert "only over https" in (await ask(owner, PeopleList)).note


async def test_a_terminal_is_let_in_by_whoever_has_a_password(tmp_path: Path) -> None:
    async with server(tmp_path) as (_, owner, new):
        browser, terminal = new(), new()
        await joined(owner, browser)
        asked = (await terminal.post("/api/device/code", client="a terminal")).json()
        start = await terminal.http.get("/api/sign-in/start?after=/device")
        assert start.headers["location"] == "/login?after=%2Fdevice"
        answer = {"code": asked["user_code"], "allow": True}
        assert (await browser.http.post("/api/device", json=answer)).status_code == 204
        token = (await terminal.post("/api/device/token", device_code=asked["device_code"])).json()
        headers = {"Authorization": f"Bearer {token['access_token']}"}
        assert (await terminal.http.get("/api/me", headers=headers)).json()["name"] == ANN


async def test_with_a_provider_people_log_in_there_and_an_invitation_is_another_way(tmp_path: Path) -> None:
    with issuer() as provider:
        url = 'url = "https://agents.example.org/"'
        async with server(tmp_path, settings(tmp_path, provider.url, url)) as (_, owner, new):
            added = await ask(owner, PeopleAdd, email=BOB)
            assert (added.link, added.note) == ("", "They sign in with Example.")
            invited = await ask(owner, PeopleInvite, person=BOB)
            assert invited.link.startswith("https://agents.example.org/invitation#")
            assert invited.note == ""
            assert (await new().join(invited.link)).status_code == 200
            offered = (await new().http.get("/api/sign-in")).json()
            assert (offered["name"], offered["passwords"]) == ("Example", True)


async def test_no_secret_is_kept_for_a_request_that_may_come_twice(tmp_path: Path) -> None:
    async with server(tmp_path) as (h, _, _), rest(h) as owner:
        made = await owner("POST", "/api/people", {"email": ANN}, Idempotency_Key=os.urandom(8).hex())
        assert made.status_code == 201
        secret = made.json()["link"].partition("#")[2]
        assert secret
    assert found_below(tmp_path, secret) == []
