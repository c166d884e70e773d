"""One address in front of the gateways, like a load balancer: a TCP relay whose connections a test can cut, hold and
redirect. It forwards bytes without reading them, so pages see what a network would show them."""

import socket
import struct
import threading

import bounds

CHUNK_BYTES = 65_536
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close sends a reset


class Relay:
    """Listens on a loopback port and relays each connection to the first of `targets` that accepts it."""

    def __init__(self, targets: list[int]):
        self.targets = list(targets)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        self._flows = threading.Event()
        self._flows.set()
        self._is_refusing = False
        self._is_over = False
        threading.Thread(target=self._accept, name=f"relay-{self.port}", daemon=True).start()

    @property
    def connections(self) -> int:
        with self._lock:
            return len(self._pairs)

    def cut(self) -> int:
        """Resets all connections, like a balancer that restarts, and returns their number. New ones are accepted."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for end in pair:
                self._reset(end)
        return len(pairs)

    def go_dark(self) -> None:
        """Stops all traffic without notice: the half-open connection of a phone in a tunnel."""
        self._flows.clear()

    def come_back(self) -> None:
        """Delivers held traffic and accepts new connections."""
        self._is_refusing = False
        self._flows.set()

    def refuse(self) -> None:
        """Cuts all connections and resets new ones until `come_back`."""
        self._is_refusing = True
        self.cut()

    def close(self) -> None:
        self._is_over = True
        self._flows.set()
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while not self._is_over:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._flows.wait()
        server = None if self._is_refusing else self._reach()
        if server is None:
            self._reset(client)
            return
        with self._lock:
            self._pairs.add((client, server))
        back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
        back.start()
        self._forward(client, server)
        back.join()
        with self._lock:
            self._pairs.discard((client, server))
        for end in (client, server):
            end.close()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        self._pump(client, server)

    def _reach(self) -> socket.socket | None:
        for port in list(self.targets):
            try:
                server = socket.create_connection(("127.0.0.1", port), timeout=bounds.CONNECT_SECONDS)
            except OSError:
                continue
            server.settimeout(None)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return server
        return None

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        """Forwards bytes until one side ends, and ends the other side the same way."""
        try:
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while chunk := source.recv(CHUNK_BYTES):
                self._flows.wait()
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (source, sink):
                self._reset(end)

    @staticmethod
    def _reset(end: socket.socket) -> None:
        """Closes a socket and wakes its reader."""
        try:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()
