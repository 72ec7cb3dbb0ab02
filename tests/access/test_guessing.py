"""Wrong tokens, codes and links: whoever tries many has to wait, and nobody else does."""

import asyncio
from pathlib import Path

import httpx2
import pytest

from openagent.gateway.guesses import Allowance, Guesses
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.people import PeopleAdd, SessionJoin, SessionShare
from openagent.protocol.tokens import TokensCreate, WebLogin
from tests.interaction.doing import ask
from tests.interaction.house import House, house, new_session
from tests.rest.calling import Rest, rest

from .test_every_door import client_of

pytestmark = pytest.mark.anyio
MOST = 20
ALLOWED = MOST, MOST + 30
"""Some more come in on a machine that takes its time."""


async def wrong_tokens(h: House, number: int, **headers: str) -> list[httpx2.Response]:
    async def one(name: int) -> httpx2.Response:
        async with rest(h, f"oa_{name:08}_wrong", **headers) as stranger:
            return await stranger("GET", "/api/me")

    return await asyncio.gather(*map(one, range(number)))


async def wrong_codes(caller: Rest, number: int) -> list[int]:
    bodies = [{"code": f"wrong {each}"} for each in range(number)]
    answers = await asyncio.gather(*(caller("POST", "/api/login", body) for body in bodies))
    return [answer.status_code for answer in answers]


async def test_who_guesses_tokens_waits_and_the_right_one_is_let_in_meanwhile(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h:
        answers = await wrong_tokens(h, 60)
        statuses = sorted(answer.status_code for answer in answers)
        assert statuses.count(401) in range(*ALLOWED)
        assert statuses.count(429) == 60 - statuses.count(401)
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.headers["retry-after"] in ("1", "2", "3")
        told = refused.json()
        assert told["code"] == "rate_limited"
        assert told["hint"].startswith(f"Try again in {refused.headers['retry-after']} seconds.")
        async with rest(h) as owner, await h.client() as unix, rest(h, "") as browser:
            assert (await owner("GET", "/api/me")).status_code == 200
            code = (await ask(unix, WebLogin)).url.partition("#")[2]
            assert (await browser("POST", "/api/login", {"code": code})).status_code == 200


async def test_another_address_behind_the_same_proxy_does_not_wait(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h:
        assert 429 in [answer.status_code for answer in await wrong_tokens(h, 60)]
        elsewhere = await wrong_tokens(h, 15, **{"X-Forwarded-For": "203.0.113.7"})
        assert {answer.status_code for answer in elsewhere} == {401}


async def test_an_old_cookie_is_no_guess_however_often_a_browser_sends_it(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h:
        cookie = f"openagent-{h.daemon.place.web_url.rpartition(':')[2]}=oa_old_one"
        async with rest(h, "", Cookie=cookie) as browser:
            assert {(await browser("GET", "/api/me")).status_code for _ in range(2 * MOST)} == {401}


async def test_who_guesses_login_codes_waits(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h, rest(h, "") as stranger:
        statuses = await wrong_codes(stranger, 60)
        assert statuses.count(401) in range(*ALLOWED)
        assert statuses.count(429) == 60 - statuses.count(401)


async def test_who_guesses_links_waits_and_only_they_do(tmp_path: Path) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, [], web=True, config=config) as h, await h.client() as owner:
        session = await new_session(h, owner)
        link = (await ask(owner, SessionShare, session=session, link="read")).link
        secrets: list[str] = []
        for email in ("ann@example.test", "bob@example.test"):
            await ask(owner, PeopleAdd, email=email)
            made = await ask(owner, TokensCreate, name=email, scopes=["read"], person=email)
            secrets.append(made.secret)
        async with await client_of(h, secrets[0]) as ann, await client_of(h, secrets[1]) as bob:
            for number in range(10):
                with pytest.raises(OpenAgentError) as wrong:
                    await ask(ann, SessionJoin, link=f"wrong {number}")
                assert wrong.value.info.code == "not_found"
            with pytest.raises(OpenAgentError) as slowed:
                await ask(ann, SessionJoin, link=link)
            assert (slowed.value.info.code, 50 < slowed.value.info.retry_after <= 60) == ("rate_limited", True)
            assert (await ask(bob, SessionJoin, link=link)).id == session
        async with rest(h, secrets[0]) as ann:
            refused = await ann("POST", "/api/sessions/join", {"link": link})
            assert (refused.status_code, int(refused.headers["retry-after"]) > 50) == (429, True)


async def test_many_addresses_together_wait_too_and_take_no_more_room() -> None:
    guesses = Guesses(held=0.0)
    waits = [await guesses.wrong(f"10.{n >> 8}.{n & 255}.1", f"secret {n}") for n in range(3000)]
    assert 200 <= waits.count(0) < 260
    assert set(waits) <= {0, 1}
    assert len(guesses) == 1024
    one = Guesses(held=0.0)
    from_one_network = [await one.wrong(f"2001:db8::{n:x}", f"secret {n}") for n in range(30)]
    assert from_one_network.count(0) in range(20, 24)


def test_an_allowance_fills_up_again_within_a_minute() -> None:
    allowance = Allowance(20, 0.0)
    assert [allowance.take(0.0) for _ in range(21)] == [0.0] * 20 + [3.0]
    assert [allowance.take(3.0), allowance.take(3.0)] == [0.0, 3.0]
    assert [allowance.take(500.0) for _ in range(21)] == [0.0] * 20 + [3.0]
