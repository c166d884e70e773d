# Checks that a peer fulfils its contract: verify.py NAME [CONNECTIONS [MESSAGES [JOBS]]], with the interpreter of .venv.
#
# Starts Redis and the peer on free ports, follows over WSS, publishes 200-byte messages, and reports whether every follower
# received all of them, in order and unchanged, under the right cipher, and the resources that the server used. It stops only
# processes that it started. This is not a benchmark: the client is slower than most peers.
import asyncio
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uvloop
from websockets.asyncio.client import connect

FOLDER = Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    """A free port whose successor is free as well."""
    for _ in range(100):
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue
    raise RuntimeError("no two free ports in a row")


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def usage(pid):
    """User and system seconds, resident megabytes and threads of a process and its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own = int(fields[11]) / TICKS, int(fields[12]) / TICKS, int(fields[21]) * 4096 / 1e6, int(fields[17])
    children = [usage(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return tuple(map(sum, zip(own, *children)))


def payload(number):
    return (f'{{"sequence":{number},"padding":"').ljust(198, "x") + '"}'


class Publisher:
    """Publishes as described by the peer."""

    async def open(self, kind, port, redis_port):
        self.kind = kind
        to = {"redis": redis_port, "http": port + 1, "nats": port + 1}[kind["kind"]]
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", to)
        if kind["kind"] == "nats":
            self.writer.write(b'CONNECT {"verbose":false}\r\n')

    async def publish(self, job, text):
        def fill(template):
            return template.replace("{job}", job).replace("{payload}", text)

        if self.kind["kind"] == "redis":
            channel, body = fill(self.kind["channel"]), fill(self.kind.get("envelope", "{payload}"))
            self.writer.write(f"*3\r\n$7\r\nPUBLISH\r\n${len(channel)}\r\n{channel}\r\n${len(body)}\r\n{body}\r\n".encode())
            await self.reader.readline()
        elif self.kind["kind"] == "nats":
            self.writer.write(f"PUB {fill(self.kind['subject'])} {len(text)}\r\n{text}\r\n".encode())
            await self.writer.drain()
        else:
            path = "/" + fill(self.kind["url"]).split("/", 3)[3]
            self.writer.write(f"POST {path} HTTP/1.1\r\nHost: peer\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            assert head.split()[1] in ("201", "202"), head
            length = [line.split(":")[1] for line in head.lower().splitlines() if line.startswith("content-length:")]
            await self.reader.readexactly(int(length[0]))


async def follow(port, job, about, context, expected, opened, ciphers):
    async with connect(
        f"wss://127.0.0.1:{port}{about['path'].replace('{job}', job)}", ssl=context, compression=None, max_queue=None,
        subprotocols=about["subprotocol"] and [about["subprotocol"]], ping_interval=None, open_timeout=60,
    ) as stream:
        ciphers.add(stream.transport.get_extra_info("cipher")[:2])
        for hello in about["hello"]:
            await stream.send(hello.replace("{job}", job))
        while about["subscribed"]:
            frame = await stream.recv()
            if about["subscribed"] in (frame if isinstance(frame, str) else frame.decode()):
                break
        opened.release()
        number = 0
        async for frame in stream:
            text = frame if isinstance(frame, str) else frame.decode()
            while (at := text.find('{"sequence"')) >= 0:
                assert text[at : at + 200] == payload(number), f"wanted {number}, got {text!r}"
                number, text = number + 1, text[at + 200 :]
            if number == expected:
                return


async def verify(name, connections, messages, jobs, port, redis_port, pid, redis_pid):
    about = json.loads(subprocess.check_output([FOLDER / name, "describe"]))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opened, ciphers = asyncio.Semaphore(0), set()
    empty = usage(pid)
    followers = []
    for index in range(connections):
        followers.append(asyncio.create_task(follow(port, f"job{index % jobs}", about, context, messages, opened, ciphers)))
        if about["subscribed"]:
            await asyncio.wait([asyncio.create_task(opened.acquire()), followers[-1]], return_when=asyncio.FIRST_COMPLETED)
    if not about["subscribed"]:
        await asyncio.sleep(2)
    full, redis_full = usage(pid), usage(redis_pid)
    publisher = Publisher()
    await publisher.open(about["publish"], port, redis_port)
    rate = min(200, 6000 * jobs / connections) / jobs  # messages per second and job: at most 6,000 deliveries in total
    started = time.monotonic()
    for number in range(messages):
        await asyncio.sleep(max(0, started + number / rate - time.monotonic()))
        for job in range(jobs):
            await publisher.publish(f"job{job}", payload(number))
    await asyncio.wait_for(asyncio.gather(*followers), 30)
    after, redis_after = usage(pid), usage(redis_pid)
    delivered = connections * messages

    def micros(before, now):
        return (now - before) * 1e6 / delivered

    print(
        f"{name}: {delivered} delivered in order to {connections} of {jobs} jobs, {sorted(ciphers)};",
        f"CPU per delivery {micros(sum(full[:2]), sum(after[:2])):.1f} us (user {micros(full[0], after[0]):.1f}),",
        f"of Redis {micros(sum(redis_full[:2]), sum(redis_after[:2])):.1f};",
        f"opening {(sum(full[:2]) - sum(empty[:2])) * 1e6 / connections:.0f} us a connection;",
        f"{empty[2]:.0f} MB empty, {full[2]:.0f} MB full ({(full[2] - empty[2]) * 1000 / connections:.0f} KB a connection), {after[3]} threads",
    )


def main():
    name = sys.argv[1]
    connections, messages, jobs = [int(word) for word in sys.argv[2:]] + [200, 100, 1][len(sys.argv) - 2 :]
    home = Path(tempfile.mkdtemp())
    certificate, key = str(home / "cert.pem"), str(home / "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)  # fmt: skip
    redis_port, port = free_port(), free_port()
    redis = subprocess.Popen(
        ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", ""], cwd=home, stdout=subprocess.DEVNULL)
    peer = None
    try:
        while not answers(redis_port):
            time.sleep(0.05)
        peer = subprocess.Popen([FOLDER / name, "start", str(port), str(redis_port), certificate, key], stdout=subprocess.PIPE)
        line = peer.stdout.readline()
        assert line == b"ready\n", line
        uvloop.run(verify(name, connections, messages, jobs, port, redis_port, peer.pid, redis.pid))
        handshake = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_2"], input=b"", capture_output=True)
        print(f"{name}: TLS 1.2 {'accepted' if handshake.returncode == 0 else 'refused'}")
    finally:
        for process in (peer, redis):
            if process:
                process.terminate()
                process.wait()


main()
