#!/usr/bin/env python3
"""A storm of reconnects: 10,000 clients follow a job each on one of two gateways, which is killed; all of them connect to the
other one, by the rules of enroute.js. First every client makes a full TLS handshake, then every client resumes its session.
Only Python's standard library.

    storm.py ENROUTE [--clients 10000] [--processes 2] [--results results]
"""
import argparse, asyncio, heapq, itertools, json, multiprocessing, os, random, resource, select, selectors, signal, socket, ssl
import statistics, subprocess, sys, tempfile, time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{FOLDER}/fleet")

from clients import CONNECT_WITHIN, reconnect_delay
from recovery import SECRET, token
from report import commit, machine, table
from servers import Gateway, RedisSite
from status import Caller
from wire import FrameReader, TEXT, encoded

OPENING_PER_SECOND, CREATORS, LIVE_WITHIN = 400, 16, 120
KINDS = {"full handshakes": False, "resumed sessions": True}


class Client:
    """A follower of one job. `Worker` calls `progress` when its socket is ready."""

    def __init__(self, number, bearer):
        self.number, self.failures, self.session, self.socket = number, 0, None, None
        self.attempted_at = self.live_at = None
        # Every client has its own address, so the shipped limits per address apply.
        self.source = (f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}", 0)
        self.upgrade = (
            "GET /v1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: enroute.v1\r\n"
            f"Authorization: Bearer {bearer}\r\n\r\n").encode()

    def connect(self, port, tls, resumes):
        plain = socket.socket()
        plain.setblocking(False)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.bind(self.source)
        plain.connect_ex(("127.0.0.1", port))
        self.socket, self.tls, self.resumes, self.is_resumed = plain, tls, resumes, False
        self.attempted_at, self.live_at, self.step, self.head, self.reader = time.monotonic(), None, self.begin, b"", FrameReader()

    def progress(self):
        """Continues as far as the socket allows. Returns the events to wait for; raises OSError when the connection is lost."""
        try:
            self.step()
            return selectors.EVENT_READ
        except ssl.SSLWantReadError:
            return selectors.EVENT_READ
        except ssl.SSLWantWriteError:
            return selectors.EVENT_WRITE

    def begin(self):
        """The socket is connected, or failed to. Python's ssl fails if a socket becomes connected while it is wrapped."""
        if error := self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(error, os.strerror(error))
        self.socket = self.tls.wrap_socket(
            self.socket, do_handshake_on_connect=False, server_hostname="localhost",
            session=self.session if self.resumes else None)
        self.step = self.shake
        self.shake()

    def shake(self):
        self.socket.do_handshake()
        self.is_resumed = self.socket.session_reused
        self.socket.send(self.upgrade)
        self.step = self.receive
        self.receive()

    def receive(self):
        while True:
            if not (data := self.socket.recv(65_536)):
                raise ConnectionResetError("end of stream")
            if self.reader is not None and self.live_at is None:
                self.read(data)

    def read(self, data):
        if not self.head.endswith(b"\r\n\r\n"):
            self.head, found, data = (self.head + data).partition(b"\r\n\r\n")
            if not found:
                return
            if not self.head.startswith(b"HTTP/1.1 101"):
                raise ConnectionRefusedError(self.head[9:12].decode(errors="replace"))
            self.head += b"\r\n\r\n"
        for kind, payload in self.reader.frames(data):
            if kind == TEXT and payload.startswith(b'{"type":"welcome"'):
                self.socket.send(encoded(TEXT, json.dumps({"type": "subscribe", "job": f"job-{self.number}"}).encode()))
            elif kind == TEXT and payload.startswith(b'{"type":"subscribed"'):
                self.live_at, self.failures, self.reader = time.monotonic(), 0, None
                self.session = self.socket.session
            elif kind == TEXT and payload.startswith(b'{"type":"error"'):
                raise ConnectionRefusedError(payload[:200].decode(errors="replace"))

    def is_lost(self):
        """Whether the peer is gone, without letting libssl see it: it would forget the session of a connection that ended
        without close_notify, which browsers and phones do not. Data that nobody has read may still wait in the socket."""
        poll = select.poll()
        poll.register(self.socket, select.POLLRDHUP)
        return bool(poll.poll(0))

    def close(self):
        try:
            if isinstance(self.socket, ssl.SSLSocket):
                self.socket.unwrap()
        except (OSError, ValueError):
            pass
        self.socket.close()


class Worker:
    """The clients of one process, which obeys the commands of its parent."""

    def __init__(self, numbers, authority, pipe):
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        self.pipe, self.selector, self.due, self.order = pipe, selectors.EpollSelector(), [], itertools.count()
        self.tls = ssl.create_default_context(cafile=authority)
        self.clients = [Client(number, token(f"customer-{number}", "customer")) for number in numbers]
        self.refused = {}

    def open(self, port, rate):
        """Connects all clients at a rate, and returns when they follow their jobs."""
        begin = time.monotonic()
        for index, client in enumerate(self.clients):
            heapq.heappush(self.due, (begin + index / rate, next(self.order), client))
        self.run(port, False, len(self.clients))

    def storm(self, port, resumes):
        """Waits until the connections are lost, and returns figures about reconnecting."""
        self.refused, waiting, lost = {}, {c.socket.fileno(): c for c in self.clients}, []
        end = time.monotonic() + LIVE_WITHIN
        while waiting:
            if time.monotonic() > end:
                raise TimeoutError(f"{len(waiting)} of {len(self.clients)} clients did not notice the loss of their gateway")
            for key, _ in self.selector.select(0.05):
                client = waiting.get(key.fd)
                if client is not None and client.is_lost():
                    lost.append(time.time())
                    del waiting[key.fd]
                    self.drop(client)
                    self.retry(client)
            # The first clients are connected again while the last ones notice the loss.
            self.turn(port, resumes, 0)
        self.run(port, resumes, len(self.clients))
        offset = time.time() - time.monotonic()
        return {
            "lost": [min(lost), max(lost)], "live": [c.live_at + offset for c in self.clients],
            "took": [c.live_at - c.attempted_at for c in self.clients], "refused": self.refused,
            "resumed": sum(c.is_resumed for c in self.clients)}

    def run(self, port, resumes, count):
        end = time.monotonic() + LIVE_WITHIN
        while sum(c.live_at is not None for c in self.clients) < count:
            if time.monotonic() > end:
                raise TimeoutError(f"only {sum(c.live_at is not None for c in self.clients)} of {count} clients are live: {self.refused}")
            for _ in range(20):
                self.turn(port, resumes, 0.05)

    def turn(self, port, resumes, wait):
        now = time.monotonic()
        while self.due and self.due[0][0] <= now:
            client = heapq.heappop(self.due)[2]
            client.connect(port, self.tls, resumes)
            self.selector.register(client.socket, selectors.EVENT_WRITE, client)
        for key, _ in self.selector.select(min(wait, max(0, self.due[0][0] - now)) if self.due else wait):
            client = key.data
            if client.live_at is not None:
                continue
            try:
                events = client.progress()
            except OSError as error:
                self.fail(client, f"{type(error).__name__}: {error}")
                continue
            self.selector.modify(client.socket, events, client)
        if next(self.order) % 64 == 0:
            for client in self.clients:
                if client.socket is not None and client.live_at is None and now - client.attempted_at > CONNECT_WITHIN:
                    self.fail(client, "not live in time")

    def fail(self, client, why):
        self.refused[why] = self.refused.get(why, 0) + 1
        client.failures += 1
        self.drop(client)
        self.retry(client)

    def drop(self, client):
        self.selector.unregister(client.socket)
        client.close()
        client.socket, client.live_at = None, None

    def retry(self, client):
        now = time.monotonic()
        heapq.heappush(self.due, (now + reconnect_delay(client.failures, None, now), next(self.order), client))


def work(numbers, authority, pipe):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker = Worker(numbers, authority, pipe)
    while True:
        name, *arguments = pipe.recv()
        try:
            pipe.send((True, getattr(worker, name)(*arguments)))
        except Exception as error:  # the parent reports it
            pipe.send((False, f"{type(error).__name__}: {error}"))


async def create(port, authority, clients):
    """Creates a job for each client."""
    tls, bearer = ssl.create_default_context(cafile=authority), token("orders", "service")

    async def some(numbers):
        caller = Caller()
        caller.reader, caller.writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname="localhost")
        for number in numbers:
            await caller.ask(port, "POST", "jobs", dict(job=f"job-{number}", kind="delivery", customer=f"customer-{number}"), bearer)
        caller.writer.close()

    await asyncio.gather(*(some(range(index, clients, CREATORS)) for index in range(CREATORS)))


class Storm:
    def __init__(self, options, folder):
        self.options, self.folder, self.authority = options, folder, f"{folder}/certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", f"{folder}/key.pem", "-out", self.authority],
            check=True, stderr=subprocess.DEVNULL)
        with open(f"{folder}/ticket.key", "wb") as file:
            file.write(os.urandom(80))

    def measure(self, kind, resumes):
        options, folder = self.options, tempfile.mkdtemp(dir=self.folder)
        redis = RedisSite(folder, False)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ENROUTE_")} | {
            "ENROUTE_REDIS_LIVE_URL": redis.url, "ENROUTE_MODE": "development", "ENROUTE_LISTEN_HOST": "127.0.0.1",
            "ENROUTE_TLS_CERTIFICATE_FILE": self.authority, "ENROUTE_TLS_KEY_FILE": f"{self.folder}/key.pem",
            "ENROUTE_TLS_TICKET_KEY_FILES": f"{self.folder}/ticket.key", "ENROUTE_TOKEN_SECRET": SECRET.decode(),
            "ENROUTE_EVENT_LOOPS": "1", "ENROUTE_LOG_LEVEL": "info"}
        gateways = [Gateway(options.enroute, name, folder, environment) for name in ("a", "b")]
        for gateway in gateways:
            gateway.start()
        for gateway in gateways:
            gateway.wait_until_ready()
        asyncio.run(create(gateways[0].port, self.authority, options.clients))
        workers, pipes = [], []
        for index in range(options.processes):
            ours, theirs = multiprocessing.Pipe()
            workers.append(multiprocessing.Process(
                target=work, args=(range(index, options.clients, options.processes), self.authority, theirs), daemon=True))
            workers[-1].start()
            pipes.append(ours)
        try:
            return self.run(kind, resumes, gateways, redis, pipes)
        finally:
            for worker in workers:
                worker.kill()
                worker.join()
            for gateway in gateways:
                gateway.child.end()
            for node in redis.nodes.values():
                node.end()

    @staticmethod
    def ask(pipes, *command):
        for pipe in pipes:
            pipe.send(command)
        answers = [pipe.recv() for pipe in pipes]
        for is_done, answer in answers:
            if not is_done:
                sys.exit(f"storm.py: {answer}")
        return [answer for _, answer in answers]

    def run(self, kind, resumes, gateways, redis, pipes):
        count, (killed, other), node = self.options.clients, gateways, next(iter(redis.nodes.values()))
        before = killed.child.cpu()
        self.ask(pipes, "open", killed.port, OPENING_PER_SECOND / len(pipes))
        opening = killed.child.cpu() - before
        for pipe in pipes:
            pipe.send(("storm", other.port, resumes))
        before, redis_before, accepted = other.child.cpu(), node.cpu(), other.metric("enroute_connections_accepted_total")
        pauses, at = other.metric("enroute_accept_pauses_total"), time.time()
        killed.child.end(signal.SIGKILL)
        answers = [pipe.recv() for pipe in pipes]
        for is_done, answer in answers:
            if not is_done:
                sys.exit(f"storm.py: {answer}")
        cpu, redis_cpu = other.child.cpu() - before, node.cpu() - redis_before
        answers = [answer for _, answer in answers]
        live = sorted(moment - at for answer in answers for moment in answer["live"])
        took = sorted(seconds for answer in answers for seconds in answer["took"])
        refused = {}
        for answer in answers:
            for why, number in answer["refused"].items():
                refused[why] = refused.get(why, 0) + number
        return {
            "kind": kind, "clients": count, "resumed": sum(answer["resumed"] for answer in answers),
            "gateway CPU µs per reconnect": round(cpu / count * 1e6), "Redis CPU µs per reconnect": round(redis_cpu / count * 1e6),
            "gateway CPU µs per connection opened before": round(opening / count * 1e6),
            "all noticed after s": round(max(answer["lost"][1] for answer in answers) - at, 2),
            "median live after s": round(statistics.median(live), 2), "all live after s": round(live[-1], 2),
            "attempt ms": {"p50": round(took[count // 2] * 1000), "p99": round(took[count * 99 // 100] * 1000)},
            "connections accepted": round(other.metric("enroute_connections_accepted_total") - accepted),
            "pauses of accepting": round(other.metric("enroute_accept_pauses_total") - pauses),
            "failed attempts": refused}


def markdown(result):
    rows = [[
        run["kind"], run["resumed"], run["gateway CPU µs per reconnect"], run["Redis CPU µs per reconnect"],
        run["median live after s"], run["all live after s"], f"{run['attempt ms']['p50']} / {run['attempt ms']['p99']}",
        sum(run["failed attempts"].values()), run["pauses of accepting"]] for run in result["runs"]]
    heads = [
        "", "resumed", "gateway: CPU µs per reconnect", "Redis: CPU µs", "half are live after s", "all are live after s",
        "attempt ms: p50 / p99", "failed attempts", "pauses of accepting"]
    return f"""# A storm of reconnects, {result['date']}

`make -C benchmarks storm` with {result['clients']} clients at commit {result['commit']}, on {result['machine']}.
Everything shares these cores: two gateways with one event loop each, one Redis, and {result['processes']} client
processes. Each client follows a job of its own. SIGKILL ends one gateway, on which all clients are; each client waits a
random time of up to 3 s, as `enroute.js` does, and connects to the other gateway, which has shipped limits and the same
ticket key (TLS 1.3, ECDSA P-256).

{table(heads, rows)}

*CPU* is the process's own, from the kill until the last client follows its job again, and contains its idle time.
*Attempt* is the time from a client's last `connect` to its subscription; it includes waiting in the accept queue
(a gateway accepts 1,000 connections a second after a burst of 1,000) and for the client's own process.
"""


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("enroute")
    options.add_argument("--clients", type=int, default=10_000)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--results", help="the folder for storm.md and storm.json; without it, the result is printed")
    options = options.parse_args()
    options.enroute = os.path.abspath(options.enroute)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as folder:
        storm = Storm(options, folder)
        runs = [storm.measure(kind, resumes) for kind, resumes in KINDS.items()]
    result = {
        "date": time.strftime("%Y-%m-%d"), "machine": machine(), "commit": commit(FOLDER), "clients": options.clients,
        "processes": options.processes, "runs": runs}
    text = markdown(result)
    print(text)
    if options.results:
        for name, content in (("storm.json", json.dumps(result, indent=1, ensure_ascii=False) + "\n"), ("storm.md", text)):
            with open(f"{options.results}/{name}", "w") as file:
                file.write(content)


if __name__ == "__main__":
    main()
