"""Requests that HTTP/1.1 forbids, or that two programs in a row may interpret differently (RFC 9112 section 11.2)."""

from __future__ import annotations

import random

from mutations import of_bytes

# A request that must never be processed on its own: it is hidden in the bodies, chunks and headers of others.
SMUGGLED = b"GET /assets/rider.css HTTP/1.1\r\nHost: a\r\n\r\n"


def heads(chance: random.Random) -> bytes:
    """Returns a request that violates RFC 9112, or that a proxy and a server may interpret differently."""
    pick = chance.choice
    path = pick(
        ["/", "/openapi.json", "/api/v1/zones", "/rider", "/v1", "/api/v1/jobs/visit-1", "/assets/track.js", "*"]
    )
    line = f"GET {path} HTTP/1.1"
    host = "Host: 127.0.0.1\r\n"
    smuggled = SMUGGLED.decode()
    kind = chance.randrange(30)
    if kind == 0:
        line = pick(
            [f"GET {path} HTTP/{version}" for version in ("1.0", "0.9", "2.0", "1.2", "11.1", "1", "", "9.9", "x.y")]
        )
        return f"{line}\r\n{host}\r\n".encode()
    if kind == 1:
        return f"{line}\r\n{pick(['', host + host, 'Host: a, b', 'Host:', 'Host: a b', 'Host: /', 'host : a'])}\r\n\r\n".encode()
    if kind == 2:
        lengths = pick(
            ["-1", "+5", "5, 5", "5, 6", "0x5", "5 5", "", "99999999999999999999", "5;", "1e1", "٥", "5\t", "00005"]
        )
        return f"POST {path} HTTP/1.1\r\n{host}Content-Length: {lengths}\r\n\r\n12345{smuggled}".encode()
    if kind == 3:
        return f"POST {path} HTTP/1.1\r\n{host}Content-Length: 5\r\nContent-Length: {pick(['5', '6', '0'])}\r\n\r\n12345{smuggled}".encode()
    if kind == 4:
        coding = pick(
            [
                "chunked",
                "Chunked",
                "xchunked",
                "chunked, identity",
                "identity, chunked",
                "gzip, chunked",
                " chunked",
                "chunked\x0b",
                "\tchunked",
                "chunked;q=1",
                "gzip",
                "identity",
                ",chunked,",
                "chunked, chunked",
            ]
        )
        return (
            f"POST {path} HTTP/1.1\r\n{host}Transfer-Encoding: {coding}\r\nContent-Length: {pick(['4', '0', '60'])}\r\n\r\n"
            f"0\r\n\r\n{smuggled}"
        ).encode()
    if kind == 5:
        name = pick(
            [
                "Transfer-Encoding ",
                "Transfer\x0bEncoding",
                " Transfer-Encoding",
                "Transfer-Encoding\t",
                "Transfer_Encoding",
                "Foo: bar\r\n Transfer-Encoding",
                "X:\nTransfer-Encoding",
                "X:\rTransfer-Encoding",
            ]
        )
        return f"POST {path} HTTP/1.1\r\n{host}{name}: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{smuggled}".encode()
    if kind == 6:
        size = pick(
            [
                "-1",
                "0x1",
                "g",
                "",
                " 1",
                "1 ",
                "ffffffffffffffff",
                "10000000000000000",
                "7fffffffffffffff",
                "1;a",
                "+1",
                "1\r",
                "\n1",
                "00000000000000000000001",
            ]
        )
        return f"POST {path} HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n{size}\r\na\r\n0\r\n\r\n".encode()
    if kind == 7:
        extension = ";" + pick(["a", "a=b", 'a="b"', "a=" + "b" * 5000, ";" * 3000, 'a="' + "x" * 9000, "\x00"])
        return (
            f"POST {path} HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n1{extension}\r\na\r\n0\r\n\r\n".encode()
        )
    if kind == 8:
        return (
            f"POST {path} HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
            f"{pick(['X: y', 'Content-Length: 5', 'Transfer-Encoding: chunked', 'x' * 9000, ': a', 'X' * 100 + chr(0)])}\r\n\r\n"
        ).encode()
    if kind == 9:
        # The announced size differs from the actual one.
        return f"POST {path} HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n{pick(['1', 'a', 'fff'])}\r\nabc{pick(['', chr(13), 'X'])}\r\n0\r\n\r\n".encode()
    if kind == 10:
        return f"{line}\r\n{host}{'X-A: ' + 'a' * pick([4000, 8000, 8300, 20_000, 70_000])}\r\n\r\n".encode()
    if kind == 11:
        return (
            f"{line}\r\n{host}" + "".join(f"X-{index}: a\r\n" for index in range(pick([60, 70, 100, 1000]))) + "\r\n"
        ).encode()
    if kind == 12:
        return f"GET /{'a' * pick([2000, 8000, 9000, 40_000])} HTTP/1.1\r\n{host}\r\n".encode()
    if kind == 13:
        name = pick(["", " ", "a b", "a\x00", "a\x7f", "ä", "(a)", "a:b", "@", '"a"', "a/b", "[a]"])
        return f"{line}\r\n{host}{name}: x\r\n\r\n".encode()
    if kind == 14:
        value = pick(["a\x00b", "a\nb", "a\rb", "a\r\n b", "\x01", "\x7f", "a\x0bb", "ä", "\x80"])
        return f"{line}\r\n{host}X: {value}\r\n\r\n".encode("latin-1")
    if kind == 15:
        return pick(
            [
                b"\r\n" * 20,
                b"\n",
                b"\0" * 100,
                b"GET",
                b"GET /",
                b"GET / ",
                b"GET / HTTP/1.1",
                b"GET / HTTP/1.1\r\n",
                b" ",
                b"GET / HTTP/1.1\r\nHost",
                b"GET / HTTP/1.1\r\nHost: a\r\n",
                b"{}",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                b"\x80" * 9,
            ]
        )
    if kind == 16:
        method = pick(
            [
                "get",
                "G ET",
                "",
                "GET\t",
                "CONNECT",
                "M-SEARCH",
                "A" * 300,
                "G\x00ET",
                "ÄÖ",
                "SOURCE",
                "PURGE",
                "QUERY",
                "PRI",
            ]
        )
        return f"{method} {path} HTTP/1.1\r\n{host}\r\n".encode()
    if kind == 17:
        target = pick(
            [
                "http://127.0.0.1/rider",
                "http://evil.example/",
                "//evil.example/rider",
                "127.0.0.1:80",
                "?",
                "#",
                "",
                "\\",
                "/%00",
                "/%",
                "/a b",
                "/\x01",
                "/..;/",
                "/../../etc/passwd",
                "/assets/../../../etc/passwd",
                "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
                "/assets/..%5c..",
                "https://a:b@127.0.0.1/rider",
                "/\xff",
                "*",
            ]
        )
        return f"GET {target} HTTP/1.1\r\n{host}\r\n".encode("latin-1")
    if kind == 18:
        return f"{line}\n{host.strip()}\n\n".encode()
    if kind == 19:
        # Bodies of requests that must not have one, with a request in them.
        method = pick(["GET", "HEAD", "DELETE", "OPTIONS"])
        return f"{method} {path} HTTP/1.1\r\n{host}Content-Length: {len(SMUGGLED)}\r\n\r\n{smuggled}".encode()
    if kind == 20:
        return f"POST {path} HTTP/1.1\r\n{host}Expect: {pick(['100-continue', 'x', '100-continue, x', '200-ok'])}\r\nContent-Length: 5\r\n\r\n12345".encode()
    if kind == 21:
        upgrade = pick(["h2c", "websocket", "WebSocket, h2c", "", "TLS/1.0", "websocket/13", ","])
        more = pick(
            [
                "",
                "Sec-WebSocket-Version: 8\r\n",
                "Sec-WebSocket-Key: x\r\n",
                "Sec-WebSocket-Version: 13\r\n",
                "Connection: close\r\n",
                "HTTP2-Settings: AAMAAABkAAQAAP__\r\n",
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + "A" * 22 + "==\r\n",
            ]
        )
        return f"{line}\r\n{host}Connection: {pick(['Upgrade', 'keep-alive, Upgrade', 'upgrade, http2-settings'])}\r\nUpgrade: {upgrade}\r\n{more}\r\n".encode()
    if kind == 22:
        return (
            f"GET /v1 HTTP/1.1\r\n{host}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: {pick(['13', '12', 'x', '13, 8'])}\r\n"
            f"Sec-WebSocket-Key: {pick(['A' * 22 + '==', 'AA==', '', 'ä' * 12])}\r\nSec-WebSocket-Protocol: "
            f"{pick(['enroute.v1', '', ',', 'enroute.v2', 'enroute.v1, ticket.x', 'ticket.' + 'a' * 500])}\r\n"
            f"{pick(['', 'Origin: https://evil.example' + chr(13) + chr(10), 'Sec-WebSocket-Extensions: permessage-deflate' + chr(13) + chr(10)])}\r\n"
        ).encode() + chance.randbytes(20)
    if kind == 23:
        good = f"GET /rider HTTP/1.1\r\n{host}\r\n"
        return (good * pick([2, 5, 20]) + pick(["GARBAGE\r\n\r\n", "GET", "\0\0"])).encode()
    if kind == 24:
        return (
            f"{line}\r\n{host}Connection: {pick(['close', 'keep-alive', 'close, keep-alive', 'x', 'transfer-encoding', 'host', ''])}\r\n\r\n".encode()
            * 2
        )
    if kind == 25:
        return f"{line}\r\n{host}X: a\r\n\tfolded\r\n  more\r\n\r\n".encode()
    if kind == 26:
        return f"\r\n\r\n{line}\r\n{host}\r\n".encode()
    if kind == 27:
        return f"POST /api/v1/events HTTP/1.1\r\n{host}Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x1f\x8bzzz".encode(
            "latin-1"
        )
    if kind == 28:
        return f"POST {path} HTTP/1.1\r\n{host}Content-Length: 100000\r\n\r\n".encode() + b"x" * pick(
            [0, 10, 99_999, 100_000]
        )
    good = f'POST /api/v1/sign-ins/redeem HTTP/1.1\r\n{host}Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{{"code":"ab"}}'
    return of_bytes(good.encode(), chance, [SMUGGLED])
