"""A proxy that delays Redis: its replies reach the gateway a configurable number of seconds later, in order. The driver is another
process, so the delay is in shared memory."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading

CHUNK = 65_536
# Shared with the drivers, which are forked after this: seconds.
delay = multiprocessing.get_context("fork").Value("d", 0.0)


class HeldRedis:
    """Listens on a loopback port and forwards to a Unix socket."""

    def __init__(self, socket: str):
        self._socket = socket
        self._loop = asyncio.new_event_loop()
        self._is_ready = threading.Event()
        self.port = 0
        threading.Thread(target=self._run, name="held", daemon=True).start()
        self._is_ready.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._relay, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._is_ready.set()
        self._loop.run_forever()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            redis_reader, redis_writer = await asyncio.open_unix_connection(self._socket)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._flow(reader, redis_writer, False), self._flow(redis_reader, writer, True))

    async def _flow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_held: bool) -> None:
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                due, data = await waiting.get()
                if (left := due - self._loop.time()) > 0:
                    await asyncio.sleep(left)
                if not data:
                    return writer.close()
                writer.write(data)
                await writer.drain()

        delivering = asyncio.create_task(deliver())
        try:
            while data := await reader.read(CHUNK):
                waiting.put_nowait((self._loop.time() + (delay.value if is_held else 0), data))
        except OSError:
            pass
        waiting.put_nowait((0, b""))
        try:
            await delivering
        except OSError:
            pass
