"""A real authorization server on loopback: PKCE checked, codes good once, refresh tokens rotating, revocation."""

import asyncio
import hashlib
import json
from base64 import b64decode, urlsafe_b64encode
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlencode, urlsplit

Answer = tuple[int, dict[str, str], bytes]
USER_CODE = "WDJB-MJHT"


class AuthorizationServer:
    def __init__(self, *, client_id: str = "openagent-test", client_secret: str = "") -> None:
        self.client_id = client_id
        self.client_secret = client_secret
        self.expires_in: object = 3600
        self.rotating = True
        self.denies = ""
        """The error with which a person's answer comes back."""
        self.failure: tuple[int, str, bytes] | None = None
        """Status, media type and body of everything the token endpoint answers."""
        self.gate = asyncio.Event()
        self.gate.set()
        """While cleared, token requests are held."""
        self.token_requests: list[dict[str, str]] = []
        self.arrived = asyncio.Event()
        self.access_tokens: set[str] = set()
        self.refresh_tokens: set[str] = set()
        self.used_refresh_tokens: set[str] = set()
        self.revoked: list[tuple[str, str]] = []
        self.redirects: set[str] = set()
        """Registered redirect addresses; empty: any."""
        self.devices: dict[str, str] = {}
        """What became of each device's code: an error, or "granted"."""
        self.polled = asyncio.Event()
        self._codes: dict[str, dict[str, str]] = {}
        self._count = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            request_line, *lines = head.rstrip("\r\n").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
            method, target, _ = request_line.split(" ")
            status, extra, content = await self._answer(method, urlsplit(target).path, target, headers, body)
            fields = {"Content-Length": str(len(content)), "Connection": "close", **extra}
            lines = [f"HTTP/1.1 {status} Answer", *(f"{name}: {value}" for name, value in fields.items())]
            writer.write("\r\n".join([*lines, "", ""]).encode() + content)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, method: str, path: str, target: str, headers: dict[str, str], body: str) -> Answer:
        if (method, path) == ("GET", "/authorize"):
            return self._authorize(dict(parse_qsl(urlsplit(target).query)))
        if (method, path) == ("GET", "/.well-known/openid-configuration"):
            return _json(
                {
                    "issuer": self.url,
                    "authorization_endpoint": f"{self.url}/authorize",
                    "token_endpoint": f"{self.url}/token",
                    "revocation_endpoint": f"{self.url}/revoke",
                    "device_authorization_endpoint": f"{self.url}/device",
                }
            )
        if (method, path) == ("GET", "/activate"):
            return self._activate(dict(parse_qsl(urlsplit(target).query)))
        fields = dict(parse_qsl(body))
        if (method, path) == ("POST", "/device"):
            return self._device() if self._is_client(fields, headers) else _refused("invalid_client", 401)
        if (method, path) == ("POST", "/token"):
            self.token_requests.append(fields)
            self.arrived.set()
            await self.gate.wait()
            if self.failure:
                status, media_type, content = self.failure
                return status, {"Content-Type": media_type}, content
            return self._token(fields) if self._is_client(fields, headers) else _refused("invalid_client", 401)
        if (method, path) == ("POST", "/revoke"):
            return self._revoke(fields) if self._is_client(fields, headers) else _refused("invalid_client", 401)
        return 404, {}, b""

    def _is_client(self, fields: dict[str, str], headers: dict[str, str]) -> bool:
        if not self.client_secret:
            return fields.get("client_id") == self.client_id
        scheme, _, value = headers.get("authorization", "").partition(" ")
        return scheme == "Basic" and b64decode(value).decode() == f"{self.client_id}:{self.client_secret}"

    def _authorize(self, fields: dict[str, str]) -> Answer:
        expected = {"response_type": "code", "client_id": self.client_id, "code_challenge_method": "S256"}
        if any(fields.get(name) != value for name, value in expected.items()) or not fields.get("state"):
            return _refused("invalid_request")
        if self.redirects and fields.get("redirect_uri") not in self.redirects:
            return _refused("redirect_uri_mismatch")
        if self.denies:
            back = {"error": self.denies, "state": fields["state"]}
        else:
            code = self._new("code")
            self._codes[code] = fields
            back = {"code": code, "state": fields["state"]}
        return 302, {"Location": f"{fields['redirect_uri']}?{urlencode(back)}"}, b""

    def _token(self, fields: dict[str, str]) -> Answer:
        if fields.get("grant_type") == "authorization_code":
            asked = self._codes.pop(fields.get("code", ""), None)
            digest = hashlib.sha256(fields.get("code_verifier", "").encode()).digest()
            challenge = urlsafe_b64encode(digest).rstrip(b"=").decode()
            if (
                asked is None
                or challenge != asked["code_challenge"]
                or fields.get("redirect_uri") != asked["redirect_uri"]
            ):
                return _refused("invalid_grant")
            return self._issue(asked.get("scope", ""))
        if fields.get("grant_type") == "refresh_token":
            refresh = fields.get("refresh_token", "")
            if refresh in self.used_refresh_tokens:
                self.refresh_tokens.clear()
            if refresh not in self.refresh_tokens:
                return _refused("invalid_grant")
            if self.rotating:
                self.refresh_tokens.remove(refresh)
                self.used_refresh_tokens.add(refresh)
            return self._issue("chat", with_refresh=self.rotating)
        if fields.get("grant_type") == "urn:ietf:params:oauth:grant-type:device_code":
            self.polled.set()
            state = self.devices.get(fields.get("device_code", ""), "invalid_grant")
            return self._issue("chat") if state == "granted" else _refused(state)
        return _refused("unsupported_grant_type")

    def _device(self) -> Answer:
        code = self._new("device")
        self.devices[code] = "authorization_pending"
        told = {"device_code": code, "user_code": USER_CODE, "verification_uri": f"{self.url}/activate"}
        return _json({**told, "expires_in": 600, "interval": 0.05})

    def _activate(self, fields: dict[str, str]) -> Answer:
        """The page on which a person types the code."""
        page = "<form><input name=user_code aria-label=Code><button>Allow</button></form>"
        if "user_code" in fields:
            known = fields["user_code"] == USER_CODE
            self.devices = dict.fromkeys(self.devices, "granted") if known else self.devices
            page = "<p>You are logged in.</p>" if known else "<p>There is no such code.</p>"
        return 200, {"Content-Type": "text/html"}, f"<!doctype html><title>Log in</title>{page}".encode()

    def _issue(self, scope: str, *, with_refresh: bool = True) -> Answer:
        answer: dict[str, object] = {"access_token": self._new("access"), "token_type": "Bearer", "scope": scope}
        self.access_tokens.add(str(answer["access_token"]))
        if self.expires_in is not None:
            answer["expires_in"] = self.expires_in
        if with_refresh:
            answer["refresh_token"] = self._new("refresh")
            self.refresh_tokens.add(str(answer["refresh_token"]))
        return _json(answer)

    def _revoke(self, fields: dict[str, str]) -> Answer:
        self.revoked.append((fields["token_type_hint"], fields["token"]))
        self.access_tokens.discard(fields["token"])
        self.refresh_tokens.discard(fields["token"])
        return 200, {}, b""

    def _new(self, what: str) -> str:
        self._count += 1
        return f"{what}-{self._count}"


def _json(answer: dict[str, object]) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()


def _refused(error: str, status: int = 400) -> Answer:
    content = json.dumps({"error": error, "error_description": "sent: s3cret"}).encode()
    return status, {"Content-Type": "application/json"}, content
