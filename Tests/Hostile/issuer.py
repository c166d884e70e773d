"""An issuer of tokens with its own keys (ES256), published as a JWK set over HTTP on loopback. The number of published
keys and the response delay are in memory shared with the drivers. openssl signs, because the standard library
cannot."""

from __future__ import annotations

import base64
import json
import multiprocessing
import subprocess
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import held
from target import TOKEN_SECONDS

KEYS = 8
published = multiprocessing.get_context("fork").Value("i", 1)


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """Keys from 0, of which the first `published` are published."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        keys = []
        for number in range(KEYS):
            file = folder / f"issuer-{number}.pem"
            subprocess.run(
                ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(file)], check=True
            )
            public = subprocess.run(
                ["openssl", "ec", "-in", str(file), "-pubout", "-outform", "DER"], check=True, capture_output=True
            ).stdout
            # SubjectPublicKeyInfo of P-256 ends with the point: 4, x, y.
            keys.append(
                {
                    "kty": "EC",
                    "crv": "P-256",
                    "alg": "ES256",
                    "use": "sig",
                    "kid": f"key-{number}",
                    "x": _part(public[-64:-32]),
                    "y": _part(public[-32:]),
                }
            )

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                time.sleep(held.delay.value)
                body = json.dumps({"keys": keys[: published.value]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/keys"
        threading.Thread(target=self._server.serve_forever, name="issuer", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()


def token(folder: Path, number: int, role: str, person: str) -> str:
    """Returns a token signed by key `number`."""
    now = int(time.time())
    head = {"alg": "ES256", "typ": "JWT", "kid": f"key-{number}"}
    body = {
        "iss": "enroute",
        "aud": "enroute",
        "sub": person,
        "role": role,
        "jti": uuid.uuid4().hex,
        "iat": now,
        "exp": now + TOKEN_SECONDS,
    }
    text = ".".join(_part(json.dumps(value).encode()) for value in (head, body))
    signed = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", str(folder / f"issuer-{number}.pem")],
        check=True,
        input=text.encode(),
        capture_output=True,
    ).stdout
    # Two integers in DER become 32 bytes each (RFC 7518 section 3.4).
    at, numbers = 2, b""
    for _ in range(2):
        length = signed[at + 1]
        numbers += signed[at + 2 : at + 2 + length].lstrip(b"\0").rjust(32, b"\0")
        at += 2 + length
    return f"{text}.{_part(numbers)}"
