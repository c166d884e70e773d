"""The documented interface of the gateway, to check its behavior against: /openapi.json for responses, /asyncapi.json for
messages, the protocol's documents for close codes."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from schema import Check, Schemas
from shared import ROOT

CLOSE_CODES = ROOT / "Sources/EnrouteWire/protocol/close-codes.md"
GOLDEN = ROOT / "Tests/EnrouteWireTests/Golden/client"


@dataclass
class Operation:
    """One method of one path."""

    name: str
    method: str
    template: str
    parameters: list[dict]
    bodies: dict[str, Any]
    is_open: bool
    # By status: the check for each media type; none for an empty body.
    answers: dict[int, dict[str, Check | None]]
    headers: dict[int, list[str]]

    def fits(self, path: str) -> bool:
        return bool(self.pattern.fullmatch(path))

    def __post_init__(self) -> None:
        parts = re.split(r"\{\w+\}", self.template)
        self.pattern = re.compile("[^/]+".join(map(re.escape, parts)), re.DOTALL)
        self.literals = sum(map(len, parts))


class Interface:
    """The operations of /openapi.json."""

    def __init__(self, document: dict):
        schemas = Schemas(document)
        self.operations: list[Operation] = []
        self.problem = schemas.check({"$ref": "#/components/schemas/Problem"})
        for template, path in document["paths"].items():
            shared = [schemas.resolve(one) for one in path.get("parameters", [])]
            for method, described in path.items():
                if method in ("parameters", "summary", "description"):
                    continue
                own = [schemas.resolve(one) for one in described.get("parameters", [])]
                answers, headers = {}, {}
                for status, answer in described["responses"].items():
                    answer = schemas.resolve(answer)
                    answers[int(status)] = {
                        media: schemas.check(content["schema"]) if "json" in media and "schema" in content else None
                        for media, content in answer.get("content", {}).items()
                    }
                    headers[int(status)] = [
                        name.lower()
                        for name, header in answer.get("headers", {}).items()
                        if schemas.resolve(header).get("required")
                    ]
                body = schemas.resolve(described.get("requestBody", {}))
                bodies = {
                    media: schemas.resolve(content.get("schema", {}))
                    if isinstance(content.get("schema", {}), dict)
                    else {}
                    for media, content in body.get("content", {}).items()
                }
                self.operations.append(
                    Operation(
                        described["operationId"],
                        method.upper(),
                        template,
                        shared + own,
                        bodies,
                        described.get("security") == [],
                        answers,
                        headers,
                    )
                )
        self.schemas = schemas

    def asked(self, method: str, path: str) -> tuple[Operation | None, bool]:
        """The operation that a request is for, and whether the path exists with another method."""
        path = path.split("?", 1)[0]
        # Nothing is at a path with an empty segment. A slash at the end is ignored.
        if "//" in path:
            return None, False
        path = "/" + path.strip("/")
        fits = [one for one in self.operations if one.fits(path)]
        # A path parameter may match a literal: the literal takes precedence.
        most = max((one.literals for one in fits), default=0)
        wanted = "GET" if method == "HEAD" else method
        best = [one for one in fits if one.literals == most]
        return next((one for one in best if one.method == wanted), None), bool(fits)

    def wrong(self, method: str, path: str, answer: Answer, is_again: bool = False) -> str | None:
        """Returns how a response differs from its documentation; None if it does not."""
        operation, is_there = self.asked(method, path)
        media = answer.headers.get("content-type", "").split(";")[0].strip()
        if operation is None:
            allowed = {400, 405} if is_there else {400, 404, 405}
            if answer.status not in allowed:
                return f"{answer.status} where no operation exists"
            if method == "HEAD":
                return "a response to HEAD has a body" if answer.body else None
            return self._problem(answer, media, is_again)
        where = operation.name
        if answer.status not in operation.answers:
            return f"{where}: {answer.status} is not documented"
        documented = operation.answers[answer.status]
        for name in operation.headers[answer.status]:
            if name not in answer.headers:
                return f"{where}: {answer.status} lacks the header {name}"
        if method == "HEAD":
            return f"{where}: a response to HEAD has a body" if answer.body else None
        if not documented:
            return f"{where}: {answer.status} has a body" if answer.body else None
        if media not in documented:
            return f"{where}: {answer.status} as {media or 'nothing'} is not documented"
        if media == "application/problem+json":
            wrong = self._problem(answer, media, is_again)
            return f"{where}: {wrong}" if wrong else None
        check = documented[media]
        if check is None:
            return None
        try:
            value = json.loads(self._content(answer))
        except (ValueError, OSError, EOFError, zlib.error):
            return f"{where}: {answer.status} is not JSON"
        wrong = check(value, "$")
        return f"{where}: {answer.status} does not match its schema: {wrong}" if wrong else None

    @staticmethod
    def _content(answer: Answer) -> bytes:
        """Returns the body without its content coding: large responses are compressed if the request accepts gzip."""
        return gzip.decompress(answer.body) if answer.headers.get("content-encoding") == "gzip" else answer.body

    def _problem(self, answer: Answer, media: str, is_again: bool) -> str | None:
        if media != "application/problem+json":
            return f"{answer.status} is not a problem document but {media or 'nothing'}"
        try:
            value = json.loads(answer.body)
        except ValueError:
            return "a problem document is not JSON"
        if wrong := self.problem(value, "$"):
            return f"a problem document does not match its schema: {wrong}"
        if value["status"] != answer.status:
            return "a problem document has another status than its response"
        trace = answer.headers.get("traceresponse")
        # A response repeated because of an idempotency key contains the trace of the first time.
        if trace and trace.split("-")[1] != value["traceId"] and not is_again:
            return "a problem document has another trace than its response"
        return None


@dataclass
class Answer:
    """One HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def trace(self) -> str:
        parts = self.headers.get("traceresponse", "").split("-")
        return parts[1] if len(parts) == 4 else ""


class Messages:
    """The messages that a gateway may send over a WebSocket, and those of a client."""

    def __init__(self, document: dict):
        schemas = Schemas(document)
        messages = document["components"]["messages"]

        def side(action: str) -> list[dict]:
            operations = [one for one in document["operations"].values() if one["action"] == action]
            names = [one["$ref"].rsplit("/", 1)[1] for operation in operations for one in operation["messages"]]
            return [messages[name] for name in names]

        self._checks = {one["name"]: schemas.check(one["payload"]) for one in side("send")}
        examples = [example["payload"] for one in side("receive") for example in one.get("examples", [])]
        golden = [
            json.loads(line)
            for file in sorted(GOLDEN.glob("*.jsonl"))
            for line in file.read_text().splitlines()
            if line.strip()
        ]
        self.examples: list[dict] = examples + golden

    def wrong(self, text: bytes) -> str | None:
        """Returns what is wrong with a message of the gateway."""
        try:
            value = json.loads(text.decode("utf-8"))
        except (ValueError, UnicodeDecodeError):
            return "a message of the gateway is not JSON in UTF-8"
        if not isinstance(value, dict) or value.get("type") not in self._checks:
            return f"a message of the gateway has an undocumented type: {text[:80]!r}"
        wrong = self._checks[value["type"]](value, "$")
        return f"{value['type']} does not match its schema: {wrong}" if wrong else None


def close_codes() -> set[int]:
    """The codes in the tables of protocol/close-codes.md."""
    codes: set[int] = set()
    for line in CLOSE_CODES.read_text().splitlines():
        if found := re.match(r"\|\s*((?:\d{4}(?:,\s*)?)+)\s*\|", line):
            codes |= {int(code) for code in found.group(1).split(",")}
    if 4500 not in codes:
        raise ValueError("interface.py found no table of close codes in protocol/close-codes.md.")
    return codes


def decoded(path: str) -> str:
    return unquote(path, errors="replace")
