"""JSON Schema as far as our documents use it, compiled into functions once, so that hundreds of thousands of responses can be
checked. An unknown keyword fails when the schema is read, so that nothing is silently skipped."""

from __future__ import annotations

import re
from typing import Any, Callable

Check = Callable[[Any, str], str | None]
IGNORED = {
    "description",
    "examples",
    "example",
    "default",
    "title",
    "format",
    "contentEncoding",
    "deprecated",
    "$schema",
    "contentMediaType",
    "readOnly",
    "writeOnly",
    "$comment",
}
TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: (isinstance(value, int) and not isinstance(value, bool))
    or (isinstance(value, float) and value.is_integer()),
}


class Schemas:
    """Checks for the schemas of one document."""

    def __init__(self, document: dict):
        self._document = document
        self._known: dict[str, Check] = {}

    def resolve(self, value: dict) -> dict:
        """Resolves a `$ref`; other members beside it take precedence."""
        while "$ref" in value:
            target: Any = self._document
            for part in value["$ref"].removeprefix("#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            value = target | {name: member for name, member in value.items() if name != "$ref"}
        return value

    def check(self, schema: Any) -> Check:
        """Returns a function from (value, path) to what is wrong with it, or None."""
        if isinstance(schema, bool):
            return lambda value, path: None if schema else f"{path}: nothing is allowed here"
        checks = [self._word(word, schema) for word in schema if word not in IGNORED]
        checks = [check for check in checks if check]
        if len(checks) == 1:
            return checks[0]

        def all_of(value: Any, path: str) -> str | None:
            for check in checks:
                if wrong := check(value, path):
                    return wrong
            return None

        return all_of

    def _reference(self, reference: str) -> Check:
        # Once per location, even if a schema contains itself.
        if reference not in self._known:
            self._known[reference] = lambda value, path: self._known[reference](value, path)
            self._known[reference] = self.check(self.resolve({"$ref": reference}))
        return self._known[reference]

    def _word(self, word: str, schema: dict) -> Check | None:
        wanted = schema[word]
        match word:
            case "$ref":
                return self._reference(wanted)
            case "type":
                names = [wanted] if isinstance(wanted, str) else wanted
                tests = [TYPES[name] for name in names]
                return (
                    lambda value, path: None
                    if any(test(value) for test in tests)
                    else f"{path}: is not {names}: {value!r:.80}"
                )
            case "const":
                return lambda value, path: None if value == wanted else f"{path}: is not {wanted!r}: {value!r:.80}"
            case "enum":
                return lambda value, path: None if value in wanted else f"{path}: is not one of {wanted}: {value!r:.80}"
            case "pattern":
                pattern = re.compile(wanted)
                return lambda value, path: (
                    None
                    if not isinstance(value, str) or pattern.search(value)
                    else f"{path}: does not match {wanted}: {value!r:.80}"
                )
            case "minLength" | "maxLength":
                return self._bound(word, wanted, lambda value: len(value) if isinstance(value, str) else None)
            case "minItems" | "maxItems":
                return self._bound(word, wanted, lambda value: len(value) if isinstance(value, list) else None)
            case "minProperties" | "maxProperties":
                return self._bound(word, wanted, lambda value: len(value) if isinstance(value, dict) else None)
            case "minimum" | "maximum":
                return self._bound(word, wanted, lambda value: value if TYPES["number"](value) else None)
            case "exclusiveMinimum" | "exclusiveMaximum":
                limit, is_least = wanted, word == "exclusiveMinimum"
                return lambda value, path: (
                    None
                    if not TYPES["number"](value) or (value > limit if is_least else value < limit)
                    else f"{path}: {word} {limit}: {value!r:.80}"
                )
            case "uniqueItems":
                return lambda value, path: (
                    f"{path}: an item occurs twice"
                    if wanted and isinstance(value, list) and any(item in value[:at] for at, item in enumerate(value))
                    else None
                )
            case "required":
                return (
                    lambda value, path: next((f"{path}: lacks {name}" for name in wanted if name not in value), None)
                    if isinstance(value, dict)
                    else None
                )
            case "properties":
                return self._members(wanted)
            case "additionalProperties":
                return self._others(set(schema.get("properties", {})), self.check(wanted))
            case "propertyNames":
                return self._names(self.check(wanted))
            case "if":
                return self._choice(self.check(wanted), schema)
            case "then" | "else":
                return lambda value, path: None
            case "items":
                return self._items(self.check(wanted))
            case "anyOf" | "oneOf" | "allOf":
                return self._several(word, [self.check(one) for one in wanted])
            case "not":
                unwanted = self.check(wanted)
                return lambda value, path: None if unwanted(value, path) else f"{path}: matches a schema under `not`"
        raise ValueError(f"The schema uses {word}, which schema.py does not support.")

    @staticmethod
    def _bound(word: str, limit: float, measure: Callable[[Any], float | None]) -> Check:
        is_least = word.startswith("min")

        def check(value: Any, path: str) -> str | None:
            size = measure(value)
            if size is None or (size >= limit if is_least else size <= limit):
                return None
            return f"{path}: {word} {limit}: {value!r:.80}"

        return check

    @staticmethod
    def _names(check: Check) -> Check:
        return lambda value, path: (
            next((wrong for name in value if (wrong := check(name, f"{path}: the name {name}"))), None)
            if isinstance(value, dict)
            else None
        )

    def _choice(self, condition: Check, schema: dict) -> Check:
        branches = [self.check(schema[word]) if word in schema else None for word in ("then", "else")]

        def check(value: Any, path: str) -> str | None:
            branch = branches[1 if condition(value, path) else 0]
            return branch(value, path) if branch else None

        return check

    def _members(self, properties: dict) -> Check:
        checks = {name: self.check(schema) for name, schema in properties.items()}

        def check(value: Any, path: str) -> str | None:
            if isinstance(value, dict):
                for name, member in value.items():
                    if name in checks and (wrong := checks[name](member, f"{path}.{name}")):
                        return wrong
            return None

        return check

    @staticmethod
    def _others(named: set[str], others: Check) -> Check:
        def check(value: Any, path: str) -> str | None:
            if isinstance(value, dict):
                for name, member in value.items():
                    if name not in named and (wrong := others(member, f"{path}.{name}")):
                        return wrong
            return None

        return check

    @staticmethod
    def _items(of_one: Check) -> Check:
        def check(value: Any, path: str) -> str | None:
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if wrong := of_one(item, f"{path}[{index}]"):
                        return wrong
            return None

        return check

    @staticmethod
    def _several(word: str, checks: list[Check]) -> Check:
        def check(value: Any, path: str) -> str | None:
            wrongs = [wrong for one in checks if (wrong := one(value, path))]
            right = len(checks) - len(wrongs)
            if word == "allOf":
                return wrongs[0] if wrongs else None
            if right == 0:
                return f"{path}: matches no schema of {word}: " + "; ".join(wrongs)[:200]
            return f"{path}: matches {right} schemas of oneOf" if word == "oneOf" and right > 1 else None

        return check
