"""Tokens, and browsers that log in: `tokens.*`, `web.login`."""

import asyncio
import contextlib
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

from openagent.daemon.callers import OWNER, Caller
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.folders import no_folder
from openagent.gateway.authentication import Answer, LoggedIn, SigningIn
from openagent.plugins.access import AccessStore, PeopleStore, Replay, StoredPerson, StoredToken
from openagent.plugins.places import Problem, lies_in, refuse_as_workspace
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.ids import new_session_id
from openagent.protocol.op import Done
from openagent.protocol.people import ROLE_SCOPES
from openagent.protocol.scopes import Scope, widened
from openagent.protocol.tokens import (
    EVERYWHERE,
    LoginAddress,
    TokenCreated,
    TokenInfo,
    TokenKind,
    TokenList,
    TokensCreate,
    TokensList,
    TokensRevoke,
    WebClose,
    WebLogin,
)

LOGIN_SECONDS = 300.0
BROWSER_SECONDS = 30 * 86_400.0
REPLAY_SECONDS = 86_400.0
_USED_SECONDS = 60.0
"""How exactly it is known when a token was last used."""
_PREFIX = "oa_"


class Access:
    def __init__(
        self,
        home: Path,
        store: AccessStore,
        people: PeopleStore,
        *,
        open_web: Callable[[], Awaitable[tuple[str, str]]],
        close_web: Callable[[], Awaitable[None]],
        dismiss: Callable[[str], None],
        problem: Problem,
        signing_in: Callable[[], Awaitable[SigningIn | None]],
    ) -> None:
        """`open_web` lets browsers in and tells the address, with a note where the port is not the usual one,
        `close_web` closes it for good, `dismiss` hangs up on whoever came with a token, `problem`
        tells why a folder can be no workspace, `signing_in` is how people log in."""
        self._home = home
        self._problem = problem
        self._store = store
        self._people = people
        self._signing_in = signing_in
        self._dismiss = dismiss
        self._open_web = open_web
        self._close_web = close_web
        self._owner = ""
        self._logins: dict[str, tuple[float, list[Scope], list[str]]] = {}
        self._used: dict[str, float] = {}

    def handlers(self) -> list[Handler]:
        return [
            TokensCreate.handled_by(self._create),
            TokensList.handled_by(self._list),
            TokensRevoke.handled_by(self._revoke),
            WebLogin.handled_by(self._web_login),
            WebClose.handled_by(self._web_close),
        ]

    # Gate

    async def authenticate(self, secret: str) -> Caller | None:
        self._owner = self._owner or owner_token(self._home)
        if hmac.compare_digest(secret.encode(), self._owner.encode()):
            return OWNER
        name = secret.removeprefix(_PREFIX).partition("_")[0] if secret.startswith(_PREFIX) else ""
        stored = await self._store.token(name) if name.isalnum() else None
        known = stored.digest if stored is not None else bytes(32)
        if not hmac.compare_digest(_digest(secret), known) or stored is None:
            return None
        now = time.time()
        info = stored.info
        if info.expires_at is not None and info.expires_at <= now:
            return None
        caller = await self._caller(info)
        if caller is not None and now - self._used.get(info.id, 0.0) > _USED_SECONDS:
            self._used[info.id] = now
            await self._store.token_used(info.id, now)
        return caller

    async def _caller(self, info: TokenInfo) -> Caller | None:
        """As far as the person behind the token may go by now; None: they are not let in any more."""
        if not info.person:
            return _caller(info)
        person = await self._people.person(info.person)
        return None if person is None or person.info.disabled else _caller_of(person, info)

    async def is_welcome(self, caller: Caller) -> bool:
        """Still, and as far as when they came in: whoever now may do less or more comes in anew."""
        if not caller.person:
            return True
        stored = await self._store.token(caller.id)
        now = await self._caller(stored.info) if stored else None
        return now is not None and now == replace(caller, address="")

    async def is_all_of_them(self, caller: Caller) -> bool:
        """They may do all that the person may."""
        person = await self._people.person(caller.person)
        if person is None:
            return False
        whole = _caller_of(person, TokenInfo(caller.id, caller.name, list(ROLE_SCOPES[person.info.role])))
        return (caller.scopes, caller.roots) == (whole.scopes, whole.roots)

    async def admit(self, person: StoredPerson, name: str, kind: TokenKind, seconds: float) -> LoggedIn:
        """A login of theirs."""
        scopes = list(ROLE_SCOPES[person.info.role])
        token, secret = _new_token(name, scopes, [], kind, seconds, person=person.info.id)
        await self._store.add_token(token)
        return LoggedIn(_caller_of(person, token.info), secret, token.info.expires_at or 0.0)

    async def log_in(self, code: str) -> LoggedIn | None:
        expires_at, scopes, roots = self._logins.pop(_digest(code).hex(), (0.0, [], []))
        if expires_at <= time.time():
            return None
        token, secret = _new_token("browser", scopes, roots, "browser", BROWSER_SECONDS)
        await self._store.add_token(token)
        return LoggedIn(_caller(token.info), secret, token.info.expires_at or 0.0)

    async def signing_in(self) -> SigningIn | None:
        return await self._signing_in()

    async def log_out(self, caller: Caller) -> None:
        if caller.id != OWNER.id:
            await self._end(caller.id)

    async def answered(self, caller: str, key: str) -> Answer | None:
        found = await self._store.replay(caller, key)
        if found is None or found.at < time.time() - REPLAY_SECONDS:
            return None
        return Answer(found.fingerprint, found.status, found.headers, found.body)

    async def keep_answer(self, caller: str, key: str, answer: Answer) -> None:
        now = time.time()
        replay = Replay(caller, key, answer.fingerprint, answer.status, answer.headers, answer.body, now)
        await self._store.keep_replay(replay, forget_before=now - REPLAY_SECONDS)

    # Ops

    async def _create(self, connection: Connection, op: TokensCreate) -> TokenCreated:
        if not op.name.strip() or not op.scopes:
            raise OpenAgentError("invalid_argument", "A token needs a name and at least one scope.")
        if op.expires_in is not None and op.expires_in <= 0:
            raise OpenAgentError("invalid_argument", "A token cannot expire before it begins.")
        if any(token.info.name == op.name for token in await self._store.tokens()):
            raise OpenAgentError(
                "conflict", f"There is already a token named {op.name!r}.", hint="Revoke it first, or choose another."
            )
        if op.person and not connection.caller.everywhere:
            raise OpenAgentError(
                "permission_denied",
                f"The {connection.caller.called} works below some folders, and a person's may be others.",
                hint="Only who works everywhere makes tokens of people.",
            )
        roots = await asyncio.to_thread(self._roots, connection.caller, op.roots)
        person = await self._person(op.person, roots) if op.person else ""
        token, secret = _new_token(op.name, op.scopes, roots, "token", op.expires_in, person=person)
        await self._store.add_token(token)
        return TokenCreated(token.info, secret)

    async def _person(self, wanted: str, roots: list[str]) -> str:
        for each in await self._people.people():
            if each.info.id == wanted or each.info.email.casefold() == wanted.casefold():
                beyond = [root for root in roots if each.info.role != "admin" and not lies_in(root, each.folders)]
                if beyond:
                    raise OpenAgentError("invalid_argument", f"{beyond[0]} is not below a folder of {each.info.email}.")
                return each.info.id
        raise OpenAgentError("not_found", f"There is nobody {wanted!r}.", hint="`openagent people` lists them.")

    async def _list(self, connection: Connection, op: TokensList) -> TokenList:
        return TokenList([token.info for token in await self._store.tokens()])

    async def _revoke(self, connection: Connection, op: TokensRevoke) -> Done:
        tokens = [token.info for token in await self._store.tokens()]
        found = [info for info in tokens if info.id == op.token] or [info for info in tokens if info.name == op.token]
        if not found:
            raise OpenAgentError(
                "not_found", f"There is no token {op.token!r}.", hint="`openagent access list` shows them."
            )
        for info in found:
            await self._end(info.id)
        return Done()

    async def _web_login(self, connection: Connection, op: WebLogin) -> LoginAddress:
        scopes: list[Scope] = op.scopes or ["admin"]
        given = op.roots or (list(connection.caller.roots) if "admin" in scopes else [])
        roots = await asyncio.to_thread(self._roots, connection.caller, given)
        url, note = await self._open_web()
        now = time.time()
        self._logins = {code: login for code, login in self._logins.items() if login[0] > now}
        code, expires_at = secrets.token_urlsafe(24), now + LOGIN_SECONDS
        self._logins[_digest(code).hex()] = expires_at, scopes, roots
        return LoginAddress(f"{url}/login#{code}", expires_at, note)

    async def _web_close(self, connection: Connection, op: WebClose) -> Done:
        await self._close_web()
        return Done()

    def _roots(self, caller: Caller, given: list[str]) -> list[str]:
        """As real paths. Nobody gives away more than they have."""
        roots: list[str] = []
        for root in given:
            if not os.path.isabs(root) or not os.path.isdir(root):
                raise no_folder(root)
            real = os.path.realpath(root)
            if real != EVERYWHERE and (problem := self._problem(real)):
                raise refuse_as_workspace(root, problem)
            if not caller.works_in(real):
                raise OpenAgentError("permission_denied", f"The {caller.called} does not reach {root} itself.")
            roots.append(real)
        return sorted(set(roots))

    async def _end(self, token: str) -> None:
        await self._store.remove_token(token)
        self._dismiss(token)


def owner_token(home: Path) -> str:
    """What this machine's user shows over HTTP; made once, readable by them alone."""
    file = home / "token"
    with contextlib.suppress(FileNotFoundError):
        if token := file.read_text().strip():
            return token
    token = secrets.token_urlsafe(32)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as opened:
        opened.write(token)
    return token


def _new_token(
    name: str, scopes: list[Scope], roots: list[str], kind: TokenKind, expires_in: float | None, *, person: str = ""
) -> tuple[StoredToken, str]:
    now, token_id = time.time(), new_session_id()
    secret = f"{_PREFIX}{token_id}_{secrets.token_urlsafe(32)}"
    info = TokenInfo(
        id=token_id,
        name=name,
        scopes=sorted(set(scopes)),
        roots=roots,
        kind=kind,
        created_at=now,
        expires_at=None if expires_in is None else now + expires_in,
        person=person,
    )
    return StoredToken(info, _digest(secret)), secret


def _digest(secret: str) -> bytes:
    """The secrets are 256 random bits, so a plain hash is as good as a slow one."""
    return hashlib.sha256(secret.encode()).digest()


def _caller(info: TokenInfo) -> Caller:
    return Caller(info.id, info.name, widened(info.scopes), tuple(info.roots), info.expires_at)


def _caller_of(person: StoredPerson, info: TokenInfo) -> Caller:
    """What the token says, within what the person's role and folders are now."""
    allowed = widened(ROLE_SCOPES[person.info.role])
    if person.info.role == "admin":
        roots = tuple(info.roots) or (EVERYWHERE,)
    else:
        folders = tuple(map(os.path.realpath, person.folders))
        roots = tuple(root for root in info.roots if lies_in(root, folders)) if info.roots else folders
    return Caller(
        info.id,
        person.info.email,
        widened(info.scopes) & allowed,
        roots,
        info.expires_at,
        person=person.info.id,
        teams=person.teams,
    )
