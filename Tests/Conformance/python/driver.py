#!/usr/bin/env python3
"""The Python client as a program for the conformance kit (README.md)."""

import asyncio
import json
import os
import sys

sys.dont_write_bytecode = True

from enroute import Client, Clock, Disconnected, Refused

SHOWN = ("job", "status", "tracking", "position", "eta", "unavailable", "ended")


def report(saw, **members):
    print(json.dumps({"saw": saw} | members), flush=True)


class Driver:
    def __init__(self, client_class=Client):
        self._class, self._client, self._waiting, self._requests = client_class, None, {}, 0

    async def run(self):
        reader = asyncio.StreamReader(limit=1 << 20)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        report("ready", can=["follow", "link", "resume", "renew", "ride"], speed=1000)
        async for line in reader:
            command = json.loads(line)
            if command["do"] == "stop":
                break
            await getattr(self, "_" + command.pop("do"))(command)
        if self._client:
            await self._client.stop()

    async def _start(self, command):
        self._clock = Clock(command["speed"], command["now"] / 1000)
        self._client = self._class(
            command["url"], self._ask, self._clock,
            on_view=lambda view: report("view", **{name: getattr(view, name) for name in SHOWN}, steps=view.steps),
            on_status=lambda event: report("status", **{name: event[name] for name in ("job", "epoch", "id", "status")}),
            on_connection=lambda state, end: report("connection", state=state, **({"code": end.code} if end else {})),
            on_error=lambda job, code: report("error", job=job, code=code))
        self._running = asyncio.create_task(self._client.run())

    async def _ask(self):
        """The application's credential: the kit has it."""
        self._requests += 1
        answer = self._waiting[self._requests] = asyncio.get_running_loop().create_future()
        report("credential", request=self._requests)
        given = await answer
        if "fails" in given:
            raise RuntimeError(given["fails"])
        return {name: given[name] for name in ("token", "link") if name in given}

    async def _credential(self, command):
        self._waiting.pop(command["request"]).set_result(command)

    async def _follow(self, command):
        self._client.follow(command["job"], command.get("after"))

    async def _unfollow(self, command):
        self._client.unfollow(command["job"])

    async def _travel(self, command):
        self._request(command, self._client.rider.travel(command["job"], command["active"]))

    async def _unavailable(self, command):
        self._request(command, self._client.rider.unavailable(command["reason"], command.get("job")))

    async def _availability(self, command):
        self._request(command, self._client.rider.availability(command["status"], command.get("device")))

    async def _report(self, command):
        self._client.rider.report(command["jobs"], command["fix"] | {"at": int(self._clock.now() * 1000)})

    def _request(self, command, request):
        async def answered():
            try:
                await request
                report("answer", request=command["request"], ok=True)
            except (Refused, Disconnected) as error:
                report("answer", request=command["request"], ok=False, code=error.code)

        asyncio.create_task(answered())


if __name__ == "__main__":
    asyncio.run(Driver().run())
    # Reading stdin may continue in its own thread.
    sys.stdout.flush()
    os._exit(0)
