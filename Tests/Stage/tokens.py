"""Tokens of the identity provider, which is the test itself: HS256 with the site's secret. `enroute token` makes the same
ones; these can also be nearly expired or limited to one job."""

import base64
import hashlib
import hmac
import json
import time
import uuid

import bounds


def _part(value: bytes) -> bytes:
    return base64.urlsafe_b64encode(value).rstrip(b"=")


def token(secret: str, role: str, person: str, lifetime: int = bounds.TOKEN_SECONDS, age: int = 0, **claims) -> str:
    """A token for a `person` in a `role` (customer, rider, ops, service), issued `age` s ago and valid for `lifetime` s."""
    issued = int(time.time()) - age
    head = dict(alg="HS256", typ="JWT")
    body = dict(iss="enroute", aud="enroute", sub=person, role=role, jti=uuid.uuid4().hex,
                iat=issued, exp=issued + lifetime) | claims
    text = b".".join(_part(json.dumps(value).encode()) for value in (head, body))
    signature = hmac.new(secret.encode(), text, hashlib.sha256).digest()
    return (text + b"." + _part(signature)).decode()
