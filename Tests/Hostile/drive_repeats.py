"""(h) One idempotency key again: after the response, concurrently, with another body, by another person. The same
change gets its first response, another one 422, and of many concurrent ones only one is made."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, replace

from findings import Tally
from interface import Answer, Interface
from target import PEOPLE, Target
from wire_http import Connection, Ended, OutOfStep, unverified

NAME = "repeats"
AT_ONCE = 6
AGAIN = 2
# A value of the moment, not of the change; the trace belongs to each request.
MOMENTARY = {"positionAgeMs", "traceId", "instance", "retryInMs"}
# A type that no body has.
WRONG = {"job": 1, "kind": 1, "status": 2, "viewers": "3", "expiresInSeconds": "x"}
# Operations that create something must accept a key.
MAKING = {"createJob": "POST jobs", "createLink": "POST links"}


@dataclass
class Change:
    operation: str
    method: str
    path: str
    role: str
    person: str
    body: dict
    other: dict

    def with_body(self, body: dict) -> Change:
        return replace(self, body=body)


def changes(number: int, chance: random.Random) -> list[tuple[list[Change], Change]]:
    """Each operation with its prerequisites."""
    job = f"again-{number}"
    person = chance.randrange(PEOPLE)
    customer = f"customer-{person}"

    def make(name: str) -> Change:
        body = {"job": name, "kind": "service", "customer": customer}
        return Change(
            "createJob", "POST", "/api/v1/jobs", "service", "service-0", body, body | {"customer": "somebody-else"}
        )

    return [
        ([], make(f"{job}-a")),
        (
            [make(f"{job}-b")],
            Change(
                "createLink",
                "POST",
                f"/api/v1/jobs/{job}-b/links",
                "service",
                "service-0",
                {"viewers": 2},
                {"viewers": 3},
            ),
        ),
        (
            [make(f"{job}-d")],
            Change(
                "changeStatus",
                "POST",
                f"/api/v1/jobs/{job}-d/status",
                "service",
                "service-0",
                {"status": "on_the_way"},
                {"status": "cancelled"},
            ),
        ),
        (
            [],
            Change(
                "declareStatus",
                "PATCH",
                "/api/v1/riders/me/status",
                "rider",
                f"repeats-{number}",
                {"status": "online", "device": "phone-1"},
                {"status": "offline", "device": "phone-1"},
            ),
        ),
        ([], Change("createTicket", "POST", "/api/v1/tickets", "customer", customer, {}, {"a": 1})),
        (
            [],
            Change(
                "createSignInCode", "POST", "/api/v1/sign-ins", "customer", customer, {"expiresInSeconds": 60}, {"expiresInSeconds": 61}
            ),
        ),
        (
            [],
            Change(
                "forceOffline",
                "PATCH",
                f"/api/v1/riders/repeats-{number}/status",
                "ops",
                "ops-0",
                {"status": "offline", "reason": "a"},
                {"status": "offline", "reason": "b"},
            ),
        ),
    ]


class Driver:
    def __init__(self, target: Target, seed: int, worker: int):
        self.target, self.seed, self.worker = target, seed, worker
        self.interface = Interface(target.document("openapi.json"))
        self.context = unverified() if target.is_secure else None
        self.tally = Tally(NAME)

    async def run(self, rounds: int) -> Tally:
        for operation in self.interface.operations:
            names = {one["name"] for one in operation.parameters if one["in"] == "header"}
            if operation.name in MAKING and "Idempotency-Key" not in names:
                self.tally.found(
                    f"{MAKING[operation.name]} does not accept an Idempotency-Key", "it creates something", str(self.seed)
                )
        for number in range(rounds):
            seed = f"{self.seed}:{NAME}:{self.worker}:{number}"
            chance = random.Random(seed)
            number = chance.randrange(10**9)
            rider = Change(
                "",
                "PUT",
                f"/api/v1/riders/repeats-{number}",
                "service",
                "service-0",
                {"zone": "repeats", "approved": True},
                {},
            )
            await self._ask(rider, None)
            for before, change in changes(number, chance):
                try:
                    for one in before:
                        await self._ask(one, None)
                    if self._takes_key(change):
                        # Long and random: where a response contains a secret, another key is refused.
                        await self._repeat(change, chance.randbytes(16).hex(), seed)
                except (OSError, Ended, OutOfStep, TimeoutError, asyncio.TimeoutError) as error:
                    self.tally.found("a repeated request is not answered", f"{change}: {error!r}", seed)
        return self.tally

    def _takes_key(self, change: Change) -> bool:
        operation, _ = self.interface.asked(change.method, change.path)
        return any(one["name"] == "Idempotency-Key" for one in operation.parameters)

    async def _repeat(self, change: Change, key: str, seed: str) -> None:
        if change.body:
            # A request rejected for its body is not stored: the key can be used for the corrected one.
            refused = await self._ask(change.with_body(WRONG), key)
            self._documented(change, refused, seed)
            if refused.status not in (400, 422):
                return self.tally.found(
                    f"{change.operation}: an invalid body is not refused",
                    f"{change}: {refused.status} {refused.body[:300]!r}",
                    seed,
                )
        # First many concurrently: the first one to arrive makes the change.
        answers = await asyncio.gather(*(self._ask(change, key) for _ in range(AT_ONCE)))
        done = [one for one in answers if one.status < 300]
        what = change.operation
        for one in answers:
            self._documented(change, one, seed)
        if not done:
            return self.tally.found(
                f"{what}: of many concurrent ones none is made", f"{change}: {[one.status for one in answers]}", seed
            )
        # A concurrent one may be refused temporarily, or get the result of the first, but no other result.
        if any(one.status not in (409, 503) and one.status >= 300 for one in answers):
            self.tally.found(
                f"{what}: of concurrent ones, one is refused",
                f"{change}: {[(one.status, one.body[:200]) for one in answers]}",
                seed,
            )
        first = self._content(done[0])
        if any(self._content(one) != first for one in done):
            self.tally.found(
                f"{what}: the responses to concurrent ones differ", f"{change}: {[one.body[:400] for one in done]}", seed
            )
        for _ in range(AGAIN):
            again = await self._ask(change, key)
            self._documented(change, again, seed)
            if (again.status, self._content(again)) != (done[0].status, first):
                self.tally.found(
                    f"{what}: the response to a repetition differs",
                    f"{change}\nfirst {done[0].status} {done[0].body!r}\nagain {again.status} {again.body!r}",
                    seed,
                )
        other = await self._ask(change.with_body(change.other), key)
        if other.status != 422:
            self.tally.found(
                f"{what}: another body under the key is not refused with 422",
                f"{change}: {other.status} {other.body[:300]!r}",
                seed,
            )
        if change.operation == "createJob":
            stranger = await self._ask(replace(change, person="service-1"), key)
            if stranger.status != 409:
                self.tally.found(
                    "createJob: another person's key returns its response", f"{change}: {stranger.status}", seed
                )
        # After another change, the first response must stay the first.
        await self._ask(change.with_body(change.other), None)
        late = await self._ask(change, key)
        if (late.status, self._content(late)) != (done[0].status, first):
            self.tally.found(
                f"{what}: after another change, the response is not the first",
                f"{change}\nfirst {done[0].status} {done[0].body!r}\nlate {late.status} {late.body!r}",
                seed,
            )

    def _documented(self, change: Change, answer: Answer, seed: str) -> None:
        if wrong := self.interface.wrong(change.method, change.path, answer, is_again=True):
            self.tally.found(wrong, f"{change}: {answer.body[:400]!r}", seed)

    @staticmethod
    def _content(answer: Answer) -> object:
        try:
            value = json.loads(answer.body)
        except ValueError:
            return answer.body
        return (
            {name: member for name, member in value.items() if name not in MOMENTARY}
            if isinstance(value, dict)
            else value
        )

    async def _ask(self, change: Change, key: str | None) -> Answer:
        connection = await Connection.open(self.target.port, self.context)
        body = json.dumps(change.body).encode()
        token = self.target.token(change.role, change.person)
        lines = [
            f"{change.method} {change.path} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: Bearer {token}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        lines += [f"Idempotency-Key: {key}"] if key else []
        connection.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        self.tally.counts["requests"] += 1
        try:
            return await connection.answer(change.method)
        finally:
            await connection.close()


def attack(target: Target, amount: int, seed: int, worker: int) -> Tally:
    return asyncio.run(Driver(target, seed, worker).run(amount))
