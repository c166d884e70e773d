"""Random requests of every role for every operation of /openapi.json, most of them with one fault or a few."""

from __future__ import annotations

import random
import time

from bad_headers import HEADERS
from interface import Interface, Operation
from mutations import dumps, message, of_bytes
from request_parts import good_value, path_of, query_of, text_of
from target import PEOPLE, ROLES, ZONE, Target

# Operations whose responses do not end by themselves.
STREAMS = {"followJob"}
# Revocations are rare: a gateway remembers only a limited number.
RARE = {"revokeUser": 0.05, "revokeToken": 0.05, "revokeJob": 0.03, "revokeLink": 0.05, "removeRider": 0.1,
        "eraseJob": 0.05}
METHODS = "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND LOCK SEARCH".split()
LONGEST_BODY = 65_536


class Request:
    def __init__(self, method: str, path: bytes, head: list[bytes], body: bytes):
        self.method, self.path = method, path
        self.data = b"\r\n".join(head) + b"\r\n\r\n" + body
        # The HTTP parser may refuse it before there is a trace or a problem document.
        self.is_http = all(0x21 <= byte <= 0x7E for byte in path) and not any(
            byte < 0x20 and byte != 9 or byte == 0x7F for line in head for byte in line
        )
        # A token in a query is answered, and ends the connection.
        self.is_rough = not self.is_http or len(body) > LONGEST_BODY or b"oken=" in path.lower()


class RequestMaker:
    """Makes random requests of every role, valid ones and faulty ones."""

    def __init__(self, target: Target, interface: Interface, worker: int):
        self.target, self.interface, self.worker = target, interface, worker
        self.tokens = {role: [target.token(role, f"{role}-{index}") for index in range(PEOPLE)] for role in ROLES}
        self.tokens["narrowed"] = [
            target.token("rider", "rider-0", authorization={"jobid": "visit-0"}),
            target.token("ops", "ops-0", authorization={"riderid": "rider-1"}),
        ]
        self.examples = self._bodies()
        self.fresh = 0

    def _bodies(self) -> dict[str, list]:
        schemas = self.interface.schemas
        bodies = {}
        for operation in self.interface.operations:
            found = []
            for schema in operation.bodies.values():
                for one in [schema] + schema.get("anyOf", []) + schema.get("oneOf", []):
                    one = schemas.resolve(one) if isinstance(one, dict) else {}
                    found += one.get("examples", [])
            bodies[operation.name] = found or [{}]
        bodies["reportLocations"] = [
            {"seq": 1, "fixes": [{"at": 0, "lat": 41.9, "lon": 12.5, "acc": 5}], "battery": 0.5}
        ]
        return bodies

    def request(self, chance: random.Random) -> Request:
        while True:
            operation = chance.choice(self.interface.operations)
            if operation.name not in STREAMS and chance.random() < RARE.get(operation.name, 1):
                return self.of(operation, chance)

    def of(self, operation: Operation, chance: random.Random) -> Request:
        person = chance.randrange(PEOPLE)
        # With one invalid value, the rest is mostly valid, so that requests get past the first check.
        faults = set(
            chance.choices(
                ["none", "path", "query", "header", "body", "method", "token", "bytes"],
                [3, 2, 3, 3, 8, 0.6, 1.5, 0.7],
                k=chance.choice([1, 1, 1, 2, 3]),
            )
        )
        path = path_of(operation, person, chance, "path" in faults) + query_of(operation, chance, "query" in faults)
        method = chance.choice(METHODS) if "method" in faults else operation.method
        if method == "GET" and chance.random() < 0.05:
            method = "HEAD"
        headers = {"Host": "127.0.0.1"}
        if token := self._token(operation, person, chance, "token" in faults):
            headers["Authorization"] = token
        for parameter in operation.parameters:
            if parameter["in"] == "header" and chance.random() < 0.3:
                headers[parameter["name"]] = text_of(parameter, chance, "header" in faults)
        if "header" in faults:
            for _ in range(chance.randint(1, 3)):
                name = chance.choice(list(HEADERS))
                headers[name] = chance.choice(HEADERS[name])
        body = b""
        if operation.bodies or chance.random() < 0.03:
            body = self._body(operation, person, chance, "body" in faults)
            if "Content-Type" not in headers and chance.random() < 0.9:
                headers["Content-Type"] = chance.choice(list(operation.bodies) or ["application/json"])
        data = path
        if "bytes" in faults:
            data = bytes(byte for byte in of_bytes(data, chance) if byte not in b" \r\n\0\t") or b"/"
            if not data.startswith(b"/"):
                data = b"/" + data
        # Upgrades and expectations are tested in drive_raw, because they change what follows.
        headers.pop("Upgrade", None)
        headers.pop("Expect", None)
        lines = [b"%s %s HTTP/1.1" % (method.encode(), data)]
        lines += [
            f"{name}: {value}".encode("utf-8", "replace").replace(b"\r", b"").replace(b"\n", b"").replace(b"\0", b"")
            for name, value in headers.items()
            if name != "Transfer-Encoding"
        ]
        if "Transfer-Encoding" in headers:
            lines.append(b"Transfer-Encoding: chunked")
            at = chance.randint(0, len(body))
            body = (
                b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:at], body[at:]) if part) + b"0\r\n\r\n"
            )
        elif body or method not in ("GET", "HEAD", "DELETE"):
            lines.append(b"Content-Length: %d" % len(body))
        return Request(method, data, lines, body)

    def _token(self, operation: Operation, person: int, chance: random.Random, is_wrong: bool) -> str | None:
        if is_wrong:
            good = self.tokens["customer"][0]
            return chance.choice(
                [
                    None,
                    "",
                    "Bearer",
                    "Bearer ",
                    "Basic YTpi",
                    f"Bearer {good[:-3]}",
                    f"Bearer {good}x",
                    f"bearer  {good}",
                    "Bearer a.b.c",
                    "Bearer " + "a" * 5000,
                    f"Link {'0' * 32}",
                    f"Link {chance.choice(self.target.links or ('0',))}",
                    f"Bearer {chance.choice(self.tokens['narrowed'])}",
                    f"Bearer {good}, Bearer {good}",
                ]
            )
        if operation.is_open and chance.random() < 0.7:
            return None
        role = chance.choice(ROLES + ["service", "service", "rider"])
        return f"Bearer {self.tokens[role][person]}"

    def _body(self, operation: Operation, person: int, chance: random.Random, is_wrong: bool) -> bytes:
        value = chance.choice(self.examples[operation.name])
        if isinstance(value, dict):
            value = self._suited(dict(value), person, chance)
        if chance.random() < 0.05 and operation.name == "sendEvents":
            value = [value] * chance.choice([1, 3, 100, 101])
        if not is_wrong:
            return dumps(value).encode()
        if chance.random() < 0.004:
            return b'{"a":"' + b"x" * chance.choice([65_500, 65_536, 70_000]) + b'"}'
        if chance.random() < 0.1:
            return of_bytes(dumps(value).encode(), chance)
        return message(value, chance)

    def _suited(self, value: dict, person: int, chance: random.Random) -> dict:
        now = int(time.time() * 1000)
        if isinstance(value.get("data"), dict):
            value["data"] = self._suited(dict(value["data"]), person, chance)
            value["id"] = f"e-{self.worker}-{chance.randrange(10**6)}"
        if "fixes" in value:
            value["fixes"] = [fix | {"at": now - chance.randrange(2000)} for fix in value["fixes"]]
        if "job" in value:
            self.fresh += 1
            value["job"] = (
                good_value("job", person, chance) if chance.random() < 0.5 else f"new-{self.worker}-{self.fresh}"
            )
        for name in ("rider", "customer"):
            if value.get(name):
                value[name] = f"{name}-{person}"
        if value.get("zone"):
            value["zone"] = ZONE
        return value
