"""How people log in: a browser at the provider that the settings name or with a password, a terminal by a code that a
browser confirms."""

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openagent.access.oidc import OidcProvider
from openagent.access.passwords import MOST, Passwords
from openagent.access.people import PeopleService, Vouched, digest_of
from openagent.access.tokens import Access
from openagent.access.wrong_codes import WrongCodes
from openagent.config.settings import PeopleSettings
from openagent.daemon.callers import Caller
from openagent.gateway.authentication import (
    DeviceAnswer,
    DeviceCode,
    Invitation,
    Joined,
    LoggedIn,
    SignedIn,
    Started,
    Waiting,
)
from openagent.plugins.access import PendingLogin, PeopleStore, StoredPerson
from openagent.protocol.errors import OpenAgentError

PATIENCE = 600.0
"""Seconds a person has to log in."""
INTERVAL = 2.0
"""Seconds between two questions of a terminal."""
SLOWER = 5.0
"""Seconds that are added when it asks too soon."""
CLI_SECONDS = 90 * 86_400.0
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels: no words, and nothing that is taken for a digit."""
_OURS = re.compile(r"/(?!/)[\w.~!$&()*+,;=:@%/?#-]*", re.ASCII)


class _AtProvider(Struct, frozen=True):
    nonce: str
    verifier: str
    redirect: str
    after: str


class _AtTerminal(Struct, frozen=True):
    client: str
    asked_at: float = 0.0
    interval: float = INTERVAL
    person: str = ""
    denied: bool = False


class SigningInService:
    def __init__(
        self,
        store: PeopleStore,
        people: PeopleService,
        access: Access,
        settings: Callable[[], PeopleSettings],
        *,
        dismiss: Callable[[str], None],
        provider: Callable[[PeopleSettings], OidcProvider] = OidcProvider,
    ) -> None:
        self._store = store
        self._people = people
        self._access = access
        self._settings = settings
        self._dismiss = dismiss
        self._passwords = Passwords()
        self._make = provider
        self._provider: OidcProvider | None = None
        self._wrong = WrongCodes()

    # A browser

    def offered(self) -> str:
        settings = self._settings()
        return (settings.name or settings.issuer) if settings.issuer else ""

    async def start(self, origin: str, after: str) -> Started:
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        redirect = f"{self._settings().url.rstrip('/') or origin}/api/sign-in/callback"
        url = await self._current().address(redirect, state, nonce, verifier)
        await self._keep(state, "", _AtProvider(nonce, verifier, redirect, _local(after)))
        return Started(url, state)

    async def finish(self, state: str, given: dict[str, str]) -> SignedIn:
        """`state` is what this browser was given when it left."""
        if not state or not secrets.compare_digest(state.encode(), given.get("state", "").encode()):
            raise OpenAgentError("unauthorized", "This browser did not begin the login.", hint="Log in again.")
        kept = await self._store.take_login(_digest(state))
        if kept is None or kept.expires_at < time.time():
            raise OpenAgentError("unauthorized", "The login took too long, or was used before.", hint="Log in again.")
        if "code" not in given:
            raise OpenAgentError("unauthorized", f"The login was refused: {given.get('error', 'no code')[:100]}.")
        begun = msgspec.json.decode(kept.data, type=_AtProvider)
        claims = await self._current().claims(given["code"], begun.redirect, begun.nonce, begun.verifier)
        person = await self._people.signed_in(_vouched(claims, self._settings()))
        return SignedIn(await self._browser_of(person), begun.after)

    async def _browser_of(self, person: StoredPerson) -> LoggedIn:
        seconds = self._settings().login_hours * 3600
        return await self._access.admit(person, f"browser of {person.info.email}", "browser", seconds)

    def _current(self) -> OidcProvider:
        """Of the settings as they are by now."""
        settings = self._settings()
        if self._provider is None or self._provider.settings != settings:
            self._provider = self._make(settings)
        return self._provider

    # A password

    async def has_passwords(self) -> bool:
        return await self._store.has_passwords()

    async def by_password(self, email: str, password: str, after: str) -> SignedIn | None:
        wanted = email.strip().casefold()
        everybody = await self._store.people()
        found = next((each for each in everybody if each.info.email.casefold() == wanted), None)
        # An unknown address costs the same work as a wrong password.
        kept = await self._store.password(found.info.id if found else "")
        is_right = await self._passwords.matches(password, kept)
        if found is None or not is_right or found.info.disabled or len(password) > MOST:
            return None
        logged_in = await self._browser_of(found)
        if await self._store.password(found.info.id) != kept:  # changed in the meantime
            await self._access.log_out(logged_in.caller)
            return None
        await self._store.came(found.info.id, time.time())
        return SignedIn(logged_in, _local(after))

    async def invited(self, secret: str) -> Invitation | None:
        found = await self._store.invited(digest_of(secret), time.time())
        return Invitation(found.info.email, found.info.invited_until or 0.0) if found else None

    async def join(self, secret: str, password: str) -> Joined | None:
        found = await self._store.invited(digest_of(secret), time.time())
        if found is None:
            return None
        hashed = await self._passwords.hashed(password)
        if not await self._store.join(digest_of(secret), hashed, time.time()):
            return None
        if found.info.password:
            await self._end_logins(found.info.id)
        await self._store.came(found.info.id, time.time())
        return Joined(await self._browser_of(found), is_new=not found.info.password)

    async def change_password(self, caller: Caller, old: str, new: str) -> bool:
        if not await self._access.is_all_of_them(caller):
            raise OpenAgentError(
                "permission_denied",
                "This token may do less than the person, so it cannot change their password.",
                hint="Change it in a browser where you are signed in.",
            )
        kept = await self._store.password(caller.person)
        if not await self._passwords.matches(old, kept):
            return False
        if not await self._store.change_password(caller.person, kept, await self._passwords.hashed(new)):
            return False
        await self._end_logins(caller.person, but=caller.id)
        return True

    async def _end_logins(self, person: str, but: str = "") -> None:
        """Someone who knew the old password may have made any of them."""
        for each in await self._store.end_logins(person, but):
            self._dismiss(each)

    # A terminal

    async def device(self, origin: str, client: str) -> DeviceCode:
        code, user_code = secrets.token_urlsafe(32), "".join(secrets.choice(_LETTERS) for _ in range(8))
        await self._keep(code, user_code, _AtTerminal(client[:60]))
        place = f"{self._settings().url.rstrip('/') or origin}/device"
        shown = f"{user_code[:4]}-{user_code[4:]}"
        return DeviceCode(code, shown, place, f"{place}?{urlencode({'code': shown})}", PATIENCE, INTERVAL)

    async def poll(self, code: str) -> DeviceAnswer:
        """As RFC 8628 has it."""
        kept = await self._store.pending_login(_digest(code))
        if kept is None or kept.expires_at < time.time():
            return "expired_token"
        at, now = msgspec.json.decode(kept.data, type=_AtTerminal), time.time()
        if at.denied:
            await self._store.take_login(kept.id)
            return "access_denied"
        if at.person:
            taken = await self._store.take_login(kept.id)
            person = await self._store.person(at.person) if taken else None
            if person is None or person.info.disabled:
                return "access_denied"
            return await self._access.admit(person, f"{at.client} of {person.info.email}", "token", CLI_SECONDS)
        too_soon = now - at.asked_at < at.interval
        interval = at.interval + SLOWER if too_soon else at.interval
        await self._change(kept, replace(at, asked_at=now, interval=interval))
        return "slow_down" if too_soon else "authorization_pending"

    async def waiting(self, caller: Caller, user_code: str) -> Waiting:
        """What a person is asked about who was shown this code."""
        return Waiting(msgspec.json.decode((await self._shown(caller, user_code)).data, type=_AtTerminal).client)

    async def decide(self, caller: Caller, user_code: str, allow: bool) -> None:
        kept = await self._shown(caller, user_code)
        if allow and not await self._access.is_all_of_them(caller):
            raise OpenAgentError(
                "permission_denied",
                "A terminal gets all that you may do, and this token may do less.",
                hint="Confirm it in a browser that you are logged in with.",
            )
        at = msgspec.json.decode(kept.data, type=_AtTerminal)
        await self._change(kept, replace(at, person=caller.person if allow else "", denied=not allow))

    async def _shown(self, caller: Caller, user_code: str) -> PendingLogin:
        if not caller.person:
            raise OpenAgentError("permission_denied", "A terminal is let in by a person: this is no person's login.")
        self._wrong.check(caller.person)
        kept = await self._store.shown_login(user_code.upper().replace("-", "").strip())
        if kept is None or kept.expires_at < time.time():
            self._wrong.add(caller.person)
            raise OpenAgentError("not_found", "There is no such code, or no longer.", hint="`openagent login` again.")
        return kept

    async def _keep(self, secret: str, user_code: str, data: Struct) -> None:
        until = time.time() + PATIENCE
        await self._store.keep_login(PendingLogin(_digest(secret), user_code, msgspec.json.encode(data), until))

    async def _change(self, kept: PendingLogin, data: Struct) -> None:
        await self._store.keep_login(replace(kept, data=msgspec.json.encode(data)))


def _vouched(claims: dict[str, Any], settings: PeopleSettings) -> Vouched:
    email = str(claims.get("email", "")).strip()
    if not email or claims.get("email_verified") is False:
        raise OpenAgentError("unauthorized", "The provider tells no e-mail address of yours that it has verified.")
    if settings.domains and email.rpartition("@")[2].lower() not in {domain.lower() for domain in settings.domains}:
        raise OpenAgentError("unauthorized", f"{email} is of no domain that is let in here.")
    teams: tuple[str, ...] | None = None
    if settings.team_claim:
        told: object = claims.get(settings.team_claim, [])
        names = cast("list[object]", told) if isinstance(told, list) else [told]
        teams = tuple(dict.fromkeys(str(name).strip("/") for name in names if name))
    is_admin = email.casefold() in {admin.casefold() for admin in settings.admins}
    return Vouched(
        issuer=settings.issuer.rstrip("/"),
        subject=str(claims["sub"]),
        email=email,
        name=str(claims.get("name", "")),
        role="admin" if is_admin else None,
        teams=teams,
    )


def _local(after: str) -> str:
    """A page of ours, and nobody else's: browsers take `//` and what they make of `/\\` for another site."""
    return after if _OURS.fullmatch(after) else "/"


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
