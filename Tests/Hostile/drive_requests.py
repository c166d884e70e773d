"""(b) Mutated REST requests of every role for every operation of /openapi.json, with faults in paths, queries, headers and
bodies. Each response must be documented for its operation, in form and status, and arrive in order: about twenty requests
are pipelined on a connection."""

from __future__ import annotations

import asyncio
import random
import time
from urllib.parse import quote

from bad_headers import HEADERS
from findings import Tally
from interface import Interface, Messages, Operation
from mutations import NUMBERS, TEXTS, dumps, message, of_bytes
from target import JOBS, PEOPLE, ROLES, ZONE, Target
from wire_http import Connection, Cut, Ended, OutOfStep, unverified

NAME = "requests"
CONNECTIONS = 8
BATCH = 20
# A separate connection for responses that do not end by themselves.
STREAMS = {"followJob"}
STREAM_SECONDS = 0.3
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


class Driver:
    def __init__(self, target: Target, seed: int, worker: int):
        self.target, self.seed, self.worker = target, seed, worker
        self.interface = Interface(target.document("openapi.json"))
        self.messages = Messages(target.document("asyncapi.json"))
        self.tally = Tally(NAME)
        self.context = unverified() if target.is_secure else None
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

    async def run(self, amount: int) -> Tally:
        self.left = amount
        case = iter(range(10**9))
        await asyncio.gather(*(self._keep_on(case) for _ in range(CONNECTIONS)))
        return self.tally

    async def _keep_on(self, case) -> None:
        connection: Connection | None = None
        while self.left > 0:
            seed = f"{self.seed}:{NAME}:{self.worker}:{next(case)}"
            chance = random.Random(seed)
            try:
                connection = connection or await Connection.open(self.target.port, self.context)
                if chance.random() < 0.04:
                    await self._stream(chance, seed)
                elif not await self._batch(connection, chance, seed):
                    await connection.close()
                    connection = None
            except (OSError, Ended) as error:
                self.tally.found("a connection is refused", repr(error), seed)
                connection = None
        if connection:
            await connection.close()

    async def _batch(self, connection: Connection, chance: random.Random, seed: str) -> bool:
        """Returns False when the connection has ended."""
        requests = [self.request(chance) for _ in range(BATCH)]
        # A request that ends the connection comes last: input after it may cost the responses before it.
        requests.sort(key=lambda one: one.is_rough)
        del requests[next((at for at, one in enumerate(requests) if one.is_rough), BATCH) + 1 :]
        connection.write(b"".join(one.data for one in requests))
        for index, one in enumerate(requests):
            try:
                answer = await connection.answer(one.method)
            except (TimeoutError, asyncio.TimeoutError):
                self.tally.found("a request is not answered", f"{one.data!r}", seed)
                return False
            except (Ended, Cut) as error:
                if not requests[-1].is_rough:
                    before = requests[index - 1].data if index else b""
                    self.tally.found(
                        "a connection ends without notice", f"{error!r} at {one.data!r} after {before!r}", seed
                    )
                return False
            except OutOfStep as error:
                before = requests[index - 1].data if index else b""
                self.tally.found("responses are out of order", f"{error}; sent {one.data!r} after {before!r}", seed)
                return False
            self.tally.counts["requests"] += 1
            self.tally.counts[f"closed {answer.status}"] += 1
            self.left -= 1
            self._check(one, answer, seed)
            if answer.headers.get("connection", "").lower() == "close":
                self.tally.counts["connections closed"] += 1
                return False
        return True

    def _check(self, one: Request, answer, seed: str) -> None:
        path = one.path.decode("latin-1")
        if answer.status == 500:
            self.tally.traces.append((answer.trace, f"{one.data!r:.500}"))
            self.tally.found(
                f"an answer 500 to {self._name(one.method, path)}", f"{one.data!r}\n{answer.body[:400]!r}", seed
            )
        if not one.is_http and answer.status == 400 and not answer.body:
            return
        if wrong := self.interface.wrong(one.method, path, answer, is_again=b"\r\nIdempotency-Key:" in one.data):
            self.tally.found(wrong[:160], f"{one.data!r}\n{answer.status} {answer.headers} {answer.body[:500]!r}", seed)

    def _name(self, method: str, path: str) -> str:
        operation, _ = self.interface.asked(method, path)
        return operation.name if operation else "no operation"

    # Requests

    def request(self, chance: random.Random) -> Request:
        while True:
            operation = chance.choice(self.interface.operations)
            if operation.name not in STREAMS and chance.random() < RARE.get(operation.name, 1):
                return self._of(operation, chance)

    def _of(self, operation: Operation, chance: random.Random) -> Request:
        person = chance.randrange(PEOPLE)
        # With one invalid value, the rest is mostly valid, so that requests get past the first check.
        faults = set(
            chance.choices(
                ["none", "path", "query", "header", "body", "method", "token", "bytes"],
                [3, 2, 3, 3, 8, 0.6, 1.5, 0.7],
                k=chance.choice([1, 1, 1, 2, 3]),
            )
        )
        path = self._path(operation, person, chance, "path" in faults) + self._query(
            operation, chance, "query" in faults
        )
        method = chance.choice(METHODS) if "method" in faults else operation.method
        if method == "GET" and chance.random() < 0.05:
            method = "HEAD"
        headers = {"Host": "127.0.0.1"}
        if token := self._token(operation, person, chance, "token" in faults):
            headers["Authorization"] = token
        for parameter in operation.parameters:
            if parameter["in"] == "header" and chance.random() < 0.3:
                headers[parameter["name"]] = self._text(parameter, chance, "header" in faults)
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

    def _good(self, name: str, person: int, chance: random.Random) -> str:
        if name == "job":
            return f"visit-{chance.randrange(JOBS // PEOPLE) * PEOPLE + person}"
        if name == "rider":
            return f"rider-{person}"
        if name == "id":
            # A person and an object that this suite does not need.
            return chance.choice(["nobody-1", "nobody-2", "0123456789abcdef0123456789abcdef", "nothing-1"])
        if name in ("z", "x", "y"):
            return str(chance.choice([0, 1, 14, 20, 8760]))
        return {"zone": ZONE, "file": chance.choice(["track.js", "page.css", "rider.js", "nothing.js"])}.get(name, "a")

    def _path(self, operation: Operation, person: int, chance: random.Random, is_wrong: bool) -> bytes:
        path = operation.template
        names = [one["name"] for one in operation.parameters if one["in"] == "path"]
        broken = chance.choice(names) if names and is_wrong else None
        for name in names:
            good = self._good(name, person, chance)
            if name == broken and operation.name.startswith("revoke"):
                value = chance.choice(["a" * 300, "%00", "ä", "nobody-1%20", "%C3%A4-1", "%25", "nobody-3%0A"])
            elif name == broken:
                value = chance.choice(
                    [
                        quote(str(chance.choice(TEXTS + NUMBERS)).encode("utf-8", "replace"), safe="{}*!$&'()+,;=:@~"),
                        good + "%20",
                        good.upper(),
                        good + "%2F..",
                        "%2e%2e",
                        "%ff",
                        "%",
                        "%zz",
                        "me",
                        good + "%00",
                        "..",
                        ".",
                        "available",
                        good + ";a=b",
                        "%74rack",
                        good[:1] + "%2D" + good[2:],
                    ]
                )
            else:
                value = good
            path = path.replace("{%s}" % name, value)
        if is_wrong and not names:
            path = chance.choice(
                [
                    path + "/",
                    path + "/x",
                    path.upper(),
                    "/" + path,
                    path.replace("/", "//", 2),
                    path + "%20",
                    path[:-1],
                    "/./" + path[1:],
                    path + "/../" + path[1:],
                    path + "#a",
                ]
            )
        return path.encode("utf-8", "replace")

    def _query(self, operation: Operation, chance: random.Random, is_wrong: bool) -> bytes:
        parts = []
        for parameter in operation.parameters:
            if parameter["in"] == "query" and chance.random() < (0.9 if is_wrong else 0.4):
                parts.append(
                    f"{parameter['name']}="
                    + quote(self._text(parameter, chance, is_wrong).encode("utf-8", "replace"), safe=",-:*")
                )
        if is_wrong:
            parts += chance.sample(
                [
                    "a=b",
                    "token=x",
                    "%74oken=x",
                    "access_token=a",
                    "=",
                    "&&",
                    "limit=1",
                    "near=85.06,14",
                    "near=-90,180",
                    "near=0,0",
                    "near=1e1,2",
                    "radius=nan",
                    "since=0",
                    "since=-1",
                    "limit=9e9",
                    "since=99999999999999999999",
                    "after=%00",
                    "lang=%F0%9F%98%80",
                    "x=" + "y" * 1500,
                ],
                k=chance.randint(0, 2),
            )
            chance.shuffle(parts)
        return ("?" + "&".join(parts)).encode() if parts else b""

    def _text(self, parameter: dict, chance: random.Random, is_wrong: bool) -> str:
        if is_wrong and chance.random() < 0.7:
            return str(chance.choice(HEADERS.get(parameter["name"], []) + [str(one) for one in TEXTS + NUMBERS]))
        schema = parameter.get("schema", {})
        good = (
            schema.get("examples", [])
            + schema.get("enum", [])
            + [schema[name] for name in ("default", "minimum", "maximum") if name in schema]
            + [parameter.get("example", "1")]
        )
        return str(chance.choice(good))

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
                self._good("job", person, chance) if chance.random() < 0.5 else f"new-{self.worker}-{self.fresh}"
            )
        for name in ("rider", "customer"):
            if value.get(name):
                value[name] = f"{name}-{person}"
        if value.get("zone"):
            value["zone"] = ZONE
        return value

    # Streams

    async def _stream(self, chance: random.Random, seed: str) -> None:
        """Follows a job by server-sent events for a moment; only messages of the gateway may arrive."""
        operation = next(one for one in self.interface.operations if one.name in STREAMS)
        one = self._of(operation, chance)
        connection = await Connection.open(self.target.port, self.context)
        try:
            connection.write(one.data)
            answer = await connection.head()
            is_stream = answer.status == 200 and answer.headers.get("content-type", "").startswith("text/event-stream")
            if not is_stream or one.method == "HEAD":
                if one.method != "HEAD" and answer.status not in (204, 304):
                    answer.body = await asyncio.wait_for(connection._body(answer), 30)
                self._check(one, answer, seed)
            else:
                await self._events(connection, one, seed)
        except (TimeoutError, asyncio.TimeoutError):
            self.tally.found("a stream is not answered", f"{one.data!r}", seed)
        except (Ended, Cut):
            if not one.is_rough:
                self.tally.found("a connection ends without notice", f"{one.data!r}", seed)
        except (OutOfStep, asyncio.IncompleteReadError, ValueError) as error:
            self.tally.found("a stream is out of order", f"{error}: {one.data!r}", seed)
        self.tally.counts["requests"] += 1
        self.tally.counts["streams"] += 1
        self.left -= 1
        if chance.random() < 0.5:
            connection.reset()
        else:
            await connection.close()

    async def _events(self, connection: Connection, one: Request, seed: str) -> None:
        text = b""
        end = time.monotonic() + STREAM_SECONDS
        while (left := end - time.monotonic()) > 0:
            try:
                data = await asyncio.wait_for(connection.reader.read(65_536), left)
            except (TimeoutError, asyncio.TimeoutError):
                break
            except ConnectionError:
                break
            if not data:
                break
            text += data
        for line in text.split(b"\n"):
            if (
                line.startswith(b"data:")
                and (wrong := self.messages.wrong(line[5:].strip()))
                and b'"code"' not in line[:40]
            ):
                self.tally.found(
                    f"an event differs from its documentation: {wrong[:120]}", f"{line[:400]!r} after {one.data!r}", seed
                )


def attack(target: Target, amount: int, seed: int, worker: int) -> Tally:
    return asyncio.run(Driver(target, seed, worker).run(amount))
