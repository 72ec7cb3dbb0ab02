"""An OpenID provider that does what a test tells it: asks for a client's secret and PKCE, changes its keys, lies."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey

CLIENT, SECRET = "openagent", "the secret of the client"


class Issuer:
    def __init__(self) -> None:
        self.url = ""
        self.claims: dict[str, Any] = {"sub": "7", "email": "ann@example.org", "name": "Ann", "email_verified": True}
        self.lies: dict[str, Any] = {}
        """What stands in the identity token in place of the truth."""
        self.codes: dict[str, dict[str, str]] = {}
        self.signs_with: ECKey | None = None
        """In place of the key that it tells of."""
        self.rotate()

    def rotate(self) -> None:
        self.key = ECKey.generate_key("P-256", {"kid": f"key-{time.monotonic_ns()}", "use": "sig", "alg": "ES256"})

    def get(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        match path:
            case "/.well-known/openid-configuration":
                names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
                return 200, {"issuer": self.url, **{name: f"{self.url}/{at}" for name, at in names.items()}}
            case "/keys":
                return 200, {"keys": [self.key.as_dict(private=False)]}
            case "/authorize":
                assert query["client_id"] == CLIENT
                assert query["code_challenge_method"] == "S256"
                code = f"code-{len(self.codes)}"
                self.codes[code] = query
                back = urlencode({"code": code, "state": query["state"]})
                return 302, f"{query['redirect_uri']}?{back}"
            case _:
                return 404, {}

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, Any]:
        asked = self.codes.pop(form["code"])
        wanted = base64.b64encode(f"{CLIENT}:{SECRET}".replace(" ", "%20").encode()).decode()
        plain = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if authorization.removeprefix("Basic ") not in (wanted, plain) or challenge.decode() != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        told = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **self.claims}
        key = self.signs_with or self.key
        header = {"alg": "ES256", "kid": key.kid or ""}
        return 200, {"access_token": "a", "id_token": jwt.encode(header, {**told, **self.lies}, key)}


@contextmanager
def issuer() -> Generator[Issuer, None, None]:
    made = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            at = urlsplit(self.path)
            self.answer(*made.get(at.path, {name: values[0] for name, values in parse_qs(at.query).items()}))

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
            given = {name: values[0] for name, values in form.items()}
            self.answer(*made.token(given, self.headers.get("authorization", "")))

        def answer(self, status: int, body: Any) -> None:
            self.send_response(status)
            if status == 302:
                self.send_header("Location", body)
            told = b"" if status == 302 else json.dumps(body).encode()
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Nowhere."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
