"""`openagent login URL`, `openagent logout URL`, `openagent whoami`: a person at a team's server."""

import contextlib
import json
import os
import platform
import time
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import click

from openagent.cli.command import as_json, command, print_json, say
from openagent.client import elsewhere
from openagent.client.text import clean
from openagent.protocol.errors import OpenAgentError

_PATIENCE = 30.0
_SLOWER = 5.0
"""Seconds that RFC 8628 adds when we asked too soon."""


def is_server(name: str) -> bool:
    return name.lower().startswith(("http://", "https://"))


def log_in(url: str, as_json: bool) -> None:
    """By a code that is confirmed in a browser, here or on any other machine."""
    place = _place(url)
    _, asked = _ask(place, "POST", "/api/device/code", {"client": f"openagent on {platform.node()}"})
    click.echo(f"Open {clean(asked['verification_uri_complete'])}", err=True)
    click.echo(f"and compare the code: {clean(asked['user_code'])}", err=True)
    told = _wait(place, asked)
    elsewhere.keep_login(place, told["access_token"], os.environ)
    if as_json:
        print_json({"server": place, "name": told["name"], "expires_in": told["expires_in"]})
    else:
        say(f"You are logged in to {clean(place)} as {clean(told['name'])}.")
        click.echo(f"`export {elsewhere.CONNECT}={clean(place)}` has every command work there.", err=True)


def _wait(place: str, asked: dict[str, Any]) -> dict[str, Any]:
    interval, until = float(asked["interval"]), time.monotonic() + float(asked["expires_in"])
    while time.monotonic() < until:
        time.sleep(interval)
        status, told = _ask(place, "POST", "/api/device/token", {"device_code": asked["device_code"]}, refusals=True)
        if status == 200:
            return told
        if told.get("error") == "slow_down":
            interval += _SLOWER
        elif told.get("error") != "authorization_pending":
            break
    raise OpenAgentError("unauthorized", "You were not let in: refused, or nobody confirmed it in time.")


def log_out(url: str, as_json: bool) -> None:
    place = _place(url)
    token = elsewhere.kept_login(place, os.environ)
    if not token:
        raise OpenAgentError("not_found", f"You are not logged in to {place}.")
    with contextlib.suppress(OpenAgentError):  # it may be gone, or have ended already
        _ask(place, "POST", "/api/logout", {}, token=token)
    elsewhere.forget_login(place, os.environ)
    if as_json:
        print_json({"removed": place})
    else:
        say(f"You are logged out of {clean(place)}.")


@command("whoami", "openagent whoami", "OPENAGENT_CONNECT=https://agents.example.com openagent whoami --json")
@as_json
def whoami(as_json: bool) -> None:
    """Say who you are to the daemon that commands talk to, and what you may do there."""
    place = elsewhere.wanted(os.environ)
    told: dict[str, Any] = _me(place) if place else {"name": "owner", "scopes": ["admin"], "roots": ["/"]}
    if as_json:
        print_json(told)
        return
    scopes, roots = ", ".join(told["scopes"]), ", ".join(told.get("roots", [])) or "no folder"
    where = f" at {clean(place)}" if place else ", whose machine this is"
    say(f"{clean(told['name'])}{where}: {scopes} below {clean(roots)}.")


def own_folder() -> str:
    """Where somebody who names no folder begins, at a daemon elsewhere: their own. Empty for who works everywhere."""
    place = elsewhere.wanted(os.environ)
    roots: list[str] = _me(place).get("roots", []) if place else []
    return roots[0] if roots and roots[0] != "/" else ""


def _me(place: str) -> dict[str, Any]:
    url = elsewhere.http_url(place)
    return _ask(url, "GET", "/api/me", None, token=elsewhere.token_for(url, os.environ))[1]


def _place(url: str) -> str:
    return elsewhere.http_url(url)


def _ask(
    place: str, method: str, path: str, body: dict[str, Any] | None, *, token: str = "", refusals: bool = False
) -> tuple[int, dict[str, Any]]:
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(place + path, data, headers, method=method), timeout=_PATIENCE) as answer:  # noqa: S310 -- http or https: `http_url` says so
            return answer.status, json.loads(answer.read() or b"{}")
    except HTTPError as problem:
        with problem:
            told: dict[str, Any] = {}
            with contextlib.suppress(ValueError):
                told = json.loads(problem.read())
        if refusals and problem.code == 400:
            return problem.code, told
        code = "unauthorized" if problem.code == 401 else "not_found" if problem.code == 404 else "provider_error"
        said = told.get("detail") or f"{place} answered {problem.code}."
        raise OpenAgentError(code, str(said), hint=str(told.get("hint", ""))) from None
    except (URLError, OSError, ValueError) as problem:
        raise OpenAgentError("provider_error", f"No daemon answers at {place}: {problem}.") from None
