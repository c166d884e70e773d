"""A reverse proxy that serves a gateway below a path prefix, such as `/enroute`, and removes the prefix from each request, like
`location /enroute/ { proxy_pass http://gateway/; }` of nginx. Everything else on its host belongs to somebody else."""

import socket

from relay import Relay

LONGEST_HEAD = 65_536
NOT_HERE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class PrefixRelay(Relay):
    """Each connection is used for one request or one WebSocket."""

    def __init__(self, targets: list[int], prefix: str):
        self._prefix = prefix.encode()
        self.strays: list[str] = []
        """The targets of requests that were not below the prefix."""
        super().__init__(targets)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        try:
            head, rest = self._head(client)
            method, target, version = head[0].split(b" ", 2)
            if not target.startswith(self._prefix + b"/"):
                self.strays.append(target.decode())
                client.sendall(NOT_HERE)
                server.shutdown(socket.SHUT_WR)
                return
            fields = head[1:]
            if not any(field.lower().startswith(b"upgrade:") for field in fields):
                fields = [field for field in fields if not field.lower().startswith(b"connection:")]
                fields.append(b"Connection: close")
            request = b" ".join([method, target.removeprefix(self._prefix), version])
            server.sendall(b"\r\n".join([request, *fields, b"", b""]) + rest)
        except (OSError, ValueError):
            for end in (client, server):
                self._reset(end)
            return
        self._pump(client, server)

    @staticmethod
    def _head(client: socket.socket) -> tuple[list[bytes], bytes]:
        """The lines of a request's head, and what follows it. Raises ValueError if the head does not end."""
        data = b""
        while b"\r\n\r\n" not in data:
            chunk = client.recv(LONGEST_HEAD)
            if not chunk or len(data) > LONGEST_HEAD:
                raise ValueError("no request")
            data += chunk
        head, rest = data.split(b"\r\n\r\n", 1)
        return head.split(b"\r\n"), rest
