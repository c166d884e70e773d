"""(a) Mutated WebSocket messages of every role: customers, riders, operations staff, services and link viewers. The
messages are those of /asyncapi.json and of Golden/client with faults in their structure or bytes, and frames that violate
RFC 6455. After each batch a ping must be answered, or the connection must have ended with a documented close code."""

from __future__ import annotations

import asyncio
import random
import time

from findings import Tally
from interface import Messages, close_codes
from mutations import message, of_bytes
from target import JOBS, PEOPLE, ZONE, Target
from wire_http import unverified
from wire_socket import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Broken, Ended, Frame, OutOfStep, Socket, frame

NAME = "messages"
ROLES = ["customer", "rider", "ops", "service", "guest"]
CONNECTIONS = 10
BATCH = 40
# A session ends after this many batches, so that sign-in is tested as often as the rest.
BATCHES = 12
# One batch in this many contains an invalid frame, which ends the connection.
BROKEN_FRAMES = 8
ZEROS = bytes(4_400)
# A longer message closes with 1009.
LONGEST_MESSAGE = 4_096
REPRODUCED = 6
# Close codes of a valid sign-in: a limit of connections (a link's viewer leases), and a newer device of the rider.
DISPLACED = {4009, 4506}
# The machine paused: Redis or the sign-in itself took too long. At most one sign-in in this many may end like this.
REFUSED_TEMPORARILY = {4003, 4008}
RARE = 10


class Driver:
    def __init__(self, target: Target, seed: int, worker: int):
        self.target, self.seed, self.worker = target, seed, worker
        self.messages = Messages(target.document("asyncapi.json"))
        self.codes = close_codes()
        self.tally = Tally(NAME)
        self.context = unverified() if target.is_secure else None
        self.tokens = {
            role: [target.token(role, f"{role}-{index}") for index in range(PEOPLE)]
            for role in ROLES
            if role != "guest"
        }
        self.others = [bytes(str(example), "utf-8") for example in self.messages.examples]

    def example(self, role: str, person: int, chance: random.Random) -> dict:
        """A plausible message: for existing jobs, at the current time, and with this role's own credentials."""
        value = dict(chance.choice(self.messages.examples))
        job = f"visit-{chance.randrange(JOBS // PEOPLE) * PEOPLE + person}"
        if "job" in value:
            value["job"] = job
        if "jobs" in value:
            value["jobs"] = [f"visit-{(person + PEOPLE * index) % JOBS}" for index in range(chance.randint(1, 3))]
        if "zone" in value:
            value["zone"] = chance.choice([ZONE, ZONE, "nowhere"])
        if "fixes" in value:
            now = int(time.time() * 1000)
            value["fixes"] = [fix | {"at": now - chance.randrange(3000)} for fix in value["fixes"]]
            value["seq"] = chance.randrange(2**40)
        if "token" in value:
            value["token"] = self.tokens[role][person] if role != "guest" else chance.choice(self.tokens["customer"])
        if "link" in value and self.target.links:
            value["link"] = chance.choice(self.target.links)
        return value

    async def run(self, amount: int) -> Tally:
        self.left = amount
        case = iter(range(10**9))
        await asyncio.gather(*(self._keep_on(case) for _ in range(CONNECTIONS)))
        if self.tally.counts["refused temporarily"] > max(RARE, self.tally.counts["sessions"] // RARE):
            self.tally.found("many sign-ins are refused temporarily", str(self.tally.counts), str(self.seed))
        return self.tally

    async def _keep_on(self, case) -> None:
        while self.left > 0:
            seed = f"{self.seed}:{NAME}:{self.worker}:{next(case)}"
            try:
                await self._session(random.Random(seed), seed)
            except (Broken, OutOfStep) as error:
                self.tally.found("the gateway breaks the protocol", str(error), seed)
            except (TimeoutError, asyncio.TimeoutError):
                self.tally.found("a connection gets no answer", "no answer to the upgrade, or no welcome", seed)
            except (ConnectionError, Ended, OSError) as error:
                self.tally.found("a valid upgrade is refused", repr(error), seed)

    async def _session(self, chance: random.Random, seed: str) -> None:
        role, person = chance.choice(ROLES), chance.randrange(PEOPLE)
        by_message = role == "guest" or chance.random() < 0.3
        socket = await Socket.open(
            self.target.port, chance, None if by_message else self.tokens[role][person], self.context
        )
        self.tally.counts["sessions"] += 1
        try:
            if by_message:
                if is_mutated := chance.random() < 0.3:
                    # The first message itself may be refused, which a code reports; otherwise the next one counts.
                    first = message(self.example(role, person, chance) | {"type": "auth"}, chance, self.others)
                    socket.send(frame(TEXT, first, mask=chance.randbytes(4)))
                    self.tally.counts["messages"] += 1
                    self.left -= 1
                credential = (
                    f'"link":"{chance.choice(self.target.links)}"'
                    if role == "guest"
                    else (f'"token":"{self.tokens[role][person]}"')
                )
                socket.send(frame(TEXT, f'{{"type":"auth",{credential}}}'.encode()))
            welcome, code = await socket.hear({"welcome"})
            if welcome is None:
                # A link has viewer leases and a rider one newest device: both are reported by a code.
                if by_message and is_mutated:
                    if code not in self.codes:
                        self.tally.found("an invalid first message is answered without a code", f"{code} after {first!r}", seed)
                elif code in REFUSED_TEMPORARILY:
                    self.tally.counts["refused temporarily"] += 1
                elif code not in DISPLACED:
                    self.tally.found("a valid sign-in is refused", f"as {role}: {code}", seed)
                return
            for number in range(BATCHES):
                if self.left <= 0 or not await self._batch(socket, role, person, chance, seed, number):
                    return
        finally:
            if chance.random() < 0.3:
                socket.reset()
            else:
                await socket.close()

    async def _batch(
        self, socket: Socket, role: str, person: int, chance: random.Random, seed: str, number: int
    ) -> bool:
        """Returns False when the connection has ended."""
        sent = [message(self.example(role, person, chance), chance, self.others) for _ in range(BATCH)]
        frames = [self._whole(text, chance) for text in sent]
        is_broken = chance.randrange(BROKEN_FRAMES) == 0
        mark: bytes | None = f"{number}".encode()
        if is_broken:
            at = chance.randrange(len(frames))
            bad = self._broken(sent[at], chance)
            # Zeros are not a masked frame: whatever the invalid frame announced, they end the session.
            says_close = any(byte & 0x8F == 0x88 for byte in bad)
            frames[at:], sent[at:], mark = [bad, b"" if bad[0] & 15 == 8 else ZEROS], [bad], None
        socket.send(b"".join(frames) + (frame(PING, mark) if mark else b""))
        self.tally.counts["messages"] += len(sent)
        self.tally.counts["broken frames"] += is_broken
        self.left -= len(sent)
        may_vanish = is_broken and says_close or any(len(text) > LONGEST_MESSAGE for text in sent)
        return await self._until_over(socket, sent, seed, mark, is_broken, may_vanish)

    async def _until_over(
        self,
        socket: Socket,
        sent: list[bytes],
        seed: str,
        mark: bytes | None = None,
        is_broken: bool = False,
        may_vanish: bool = False,
    ) -> bool:
        """Reads until the ping is answered (True) or the connection has ended (False), and checks everything received.
        `may_vanish`: input after a close frame is not read, and the kernel resets a connection with unread bytes."""
        what = "\n".join(repr(text) for text in sent[-REPRODUCED:])
        while True:
            try:
                got = await socket.receive()
            except (TimeoutError, asyncio.TimeoutError):
                if mark or is_broken:
                    self.tally.found("a session neither answers nor ends", what, seed)
                return False
            except Broken as error:
                self.tally.found("the gateway breaks RFC 6455", f"{error} after\n{what}", seed)
                return False
            if got is None:
                if not may_vanish:
                    self.tally.found("a session ends without a close frame", what, seed)
                return False
            if got.opcode == CLOSE:
                # Our own close frame is answered with its code.
                self._closed(got, what, seed, is_known=is_broken)
                return False
            if got.opcode == PONG and got.payload == mark:
                return True
            if got.opcode == PING:
                socket.send(frame(PONG, got.payload))
            if got.opcode == TEXT:
                self.tally.counts["answers"] += 1
                if wrong := self.messages.wrong(got.payload):
                    self.tally.found(
                        f"a message differs from its documentation: {wrong[:120]}", f"{got.payload[:600]!r} after\n{what}", seed
                    )
                elif not mark and not is_broken and b'"welcome"' in got.payload[:40]:
                    return True

    def _closed(self, got: Frame, what: str, seed: str, is_known: bool) -> None:
        code = got.close_code
        self.tally.counts[f"closed {code}"] += 1
        if code not in self.codes and not is_known:
            self.tally.found(f"close code {code} is not documented", f"{got.payload!r} after\n{what}", seed)

    # Frames

    @staticmethod
    def _whole(text: bytes, chance: random.Random) -> bytes:
        """One valid message: in one frame, or in several with pings between them."""
        mask = chance.randbytes(4)
        if chance.random() < 0.85 or not text:
            return frame(TEXT, text, mask=mask)
        parts, rest = [], text
        for _ in range(chance.randint(1, 6)):
            at = chance.randint(0, len(rest))
            parts.append(rest[:at])
            rest = rest[at:]
        parts.append(rest)
        frames = [
            frame(TEXT if index == 0 else CONTINUATION, part, final=index == len(parts) - 1, mask=mask)
            for index, part in enumerate(parts)
        ]
        between = frame(PING, b"between") if chance.random() < 0.3 else b""
        return between.join(frames)

    @staticmethod
    def _broken(text: bytes, chance: random.Random) -> bytes:
        """One or more frames that violate a rule."""
        mask = chance.randbytes(4)
        kind = chance.randrange(16)
        if kind == 0:
            return frame(TEXT, text, mask=None)
        if kind == 1:
            return frame(chance.choice([3, 4, 5, 6, 7, 11, 12, 13, 14, 15]), text, mask=mask)
        if kind == 2:
            return frame(TEXT, text, reserved=chance.randint(1, 7), mask=mask)
        if kind == 3:
            return frame(BINARY, text, mask=mask)
        if kind == 4:
            return frame(CONTINUATION, text, mask=mask)
        if kind == 5:
            return frame(TEXT, text[:8], final=False, mask=mask) + frame(TEXT, text, mask=mask)
        if kind == 6:
            return frame(TEXT, text[:80], form=chance.choice([16, 64]), mask=mask)
        if kind == 7:
            return frame(
                TEXT, text, length=chance.choice([2**63, 2**64 - 1, 2**63 - 1, 2**31, 2**32, 4097, 70_000]), form=64
            )
        if kind == 8:
            return frame(chance.choice([CLOSE, PING, PONG]), text.ljust(126, b" ")[:300], mask=mask)
        if kind == 9:
            return frame(chance.choice([CLOSE, PING, PONG]), text[:100], final=False, mask=mask)
        if kind == 10:
            return frame(TEXT, b"x", final=False) + frame(CONTINUATION, b"y", final=False) * 40
        if kind == 11:
            return frame(TEXT, text * 40, mask=mask)
        if kind == 12:
            return frame(
                TEXT, text + chance.choice([b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"]), mask=mask
            )
        if kind == 13:
            code = chance.choice(
                [0, 999, 1000, 1001, 1004, 1005, 1006, 1015, 1016, 2999, 3000, 4000, 4999, 5000, 65535]
            )
            return frame(CLOSE, code.to_bytes(2, "big") + text[:40], mask=mask)
        if kind == 14:
            return frame(CLOSE, chance.choice([b"", b"\x03", b"\x03\xe8\xff\xfe"]), mask=mask)
        return of_bytes(frame(TEXT, text, mask=mask), chance) + chance.randbytes(chance.randint(0, 200))


def attack(target: Target, amount: int, seed: int, worker: int) -> Tally:
    return asyncio.run(Driver(target, seed, worker).run(amount))
