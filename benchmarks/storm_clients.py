"""The clients of storm.py: each follows one job over TLS, and reconnects by the rules of enroute.js when its gateway is gone. A
process runs thousands of them with one selector, and obeys the commands of its parent."""
import heapq, itertools, json, os, resource, select, selectors, signal, socket, ssl, time

from recovery import token
from timing import CONNECT_WITHIN, reconnect_delay
from wire import FrameReader, TEXT, encoded

LIVE_WITHIN = 120


class Client:
    """A follower of one job. `Worker` calls `progress` when its socket is ready."""

    def __init__(self, number, bearer):
        self.number, self.failures, self.session, self.socket = number, 0, None, None
        self.attempted_at = self.live_at = None
        # Every client has an address of its own, so the shipped limits for an address apply.
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
        """The socket is connected, or could not connect. Python's ssl fails if a socket connects while it is being wrapped."""
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
        """Whether the peer is gone. libssl does not see that: it would forget the session of a connection that ended without
        close_notify, which browsers and phones keep. Unread data may still wait in the socket."""
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
        """Waits until the connections are lost, and returns what reconnecting was like."""
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
