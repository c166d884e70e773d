"""The settings of the configuration reference: which values of each are invalid, and what a gateway does with them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared import ROOT

REFUSED, STARTS, EITHER = "refused", "starts", "either"
NUMBERS = ["word", "-1", "99999999999999999999", "1.5", "0x10", "1e3", "٣", "1 2", "NaN", "1_000"]
WORDS = ["word", "ON", "1", "on off", "\u00e4"]
NO_FILES = ["/nonexistent/file", "/", "{garbage}", "{empty}", "/dev/null", "file\u00e4"]
NO_URLS = [
    "word",
    "ftp://127.0.0.1/",
    "https://",
    "http://",
    "://",
    "https://a b/",
    "http://evil.example/",
    "https://127.0.0.1:99999/",
    "https://[::1",
    "javascript:x",
    "//host/x",
    "https:///path",
]
NO_REDIS = [
    "word",
    "http://127.0.0.1:6379",
    "redis://",
    "redis://127.0.0.1:99999",
    "redis://127.0.0.1:word",
    "redis://[::1",
    "redis+sentinel://127.0.0.1",
    "rediss+what://127.0.0.1",
    "redis://127.0.0.1/x",
    "unix:",
    "redis://127.0.0.1:-1",
    "://",
]

@dataclass(frozen=True)
class Kind:
    """Invalid values of a setting, and other settings that are required for it to be read."""

    wrong: tuple[str, ...]
    beside: tuple[tuple[str, str], ...] = ()
    outcome: str = REFUSED


def kind(wrong, outcome=REFUSED, **beside) -> Kind:
    return Kind(tuple(wrong), tuple(beside.items()), outcome)


TLS = dict(TLS="on", TLS_CERTIFICATE_FILE="{certificate}", TLS_KEY_FILE="{key}")
SNS = dict(SNS_TOPICS="arn:aws:sns:eu-central-1:123456789012:orders")
OSRM = dict(ETA_OSRM_URL="http://127.0.0.1:5000")
SQS = dict(AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b")
# Kinds that a default does not reveal. A name of the reference that is not listed here, and whose default is not a number,
# on or off, is tried with values of all kinds; they may be refused or not, but must not crash the gateway.
KINDS: dict[str, Kind] = {
    "MODE": kind(["word", "PRODUCTION", "dev"]),
    "LOG_LEVEL": kind(["word", "INFO", "7"]),
    "LOG_FORMAT": kind(["word", "JSON", "7"]),
    "EVENT_LOOPS": kind(NUMBERS),
    "REDIS_LEDGER_WAIT_REPLICAS": kind(["word", "-1", "101", "1.5"]),
    "TLS_CERTIFICATE_FILE": kind(NO_FILES + ["{key}"], **TLS),
    "TLS_KEY_FILE": kind(NO_FILES + ["{certificate}", "{other_key}"], **TLS),
    "TLS_TICKET_KEY_FILES": kind(["/nonexistent", "{garbage}", "{empty}", "{garbage},{garbage}"], **TLS),
    "TLS_OCSP_RESPONSE_FILE": kind(["/nonexistent", "{garbage}", "{empty}"], EITHER, **TLS),
    "TLS_RECORD_LAYER": kind(["word", "BUILTIN", "own"], **TLS),
    "REDIS_LIVE_URL": kind(NO_REDIS),
    "REDIS_LEDGER_URL": kind(NO_REDIS),
    "REDIS_LIVE_ADMIN_URL": kind(NO_REDIS),
    "REDIS_LEDGER_ADMIN_URL": kind(NO_REDIS),
    "LISTEN_ALLOWED_ORIGINS": kind(["word", "https://a/path", "ftp://a", "https://a,word", "https://", "*"]),
    "PAGES_FRAME_ANCESTORS": kind(["word", "https://a/path", "https://a;script-src", "'self'", "https://", "*"]),
    "REDIS_PREFIX": kind(["a b", "{{}}", "*", "x" * 65, "ä", "[a]"]),
    "TOKEN_PUBLIC_KEY_FILES": kind(NO_FILES + ["{certificate}"], TOKEN_SECRET=""),
    "TOKEN_SECRET": kind(["short", "x" * 31]),
    "TOKEN_KEY_IDS": kind(["a,b,c", "a,"], EITHER, TOKEN_PUBLIC_KEY_FILES="{public}"),
    "TOKEN_JWKS_URL": kind(NO_URLS),
    "TOKEN_JWKS_CA_FILE": kind(NO_FILES, TOKEN_JWKS_URL="https://127.0.0.1:9/keys"),
    "SNS_TOPICS": kind(
        ["word", "arn:aws:sqs:eu-central-1:123456789012:orders", "arn:aws:sns:eu-central-1:x:orders", "arn:"]
    ),
    "SNS_CERTIFICATE_HOSTS": kind(["a b", "https://host/", "host:99999", ":1"], **SNS),
    "SNS_CA_FILE": kind(NO_FILES, **SNS),
    # Any text, and read with SQS_QUEUE_URL only.
    "AWS_REGION": kind([], STARTS),
    "AWS_ACCESS_KEY_ID": kind([], STARTS),
    "AWS_SECRET_ACCESS_KEY": kind([], STARTS),
    "AWS_SESSION_TOKEN": kind([], STARTS),
    "SQS_QUEUE_URL": kind(["word", "ftp://x", "http://evil.example/1/q", "https://"], **SQS),
    "ETA_OSRM_URL": kind(["word", "ftp://x", "http://", "://", "http://a b"]),
    "ETA_AZURE_KEY": kind(["a b", "ä", "a\tb"]),
    "ETA_MAPBOX_TOKEN": kind(["a b", "ä"]),
    "GEOCODING_MAPBOX_TOKEN": kind(["a b", "ä"]),
    "ETA_AZURE_KEY_FILE": kind(["/nonexistent"]),
    "ETA_MAPBOX_TOKEN_FILE": kind(["/nonexistent"]),
    "GEOCODING_MAPBOX_TOKEN_FILE": kind(["/nonexistent"]),
    "ETA_AZURE_URL": kind(["word", "http://evil.example"], ETA_AZURE_KEY="a"),
    "ETA_MAPBOX_URL": kind(["word", "http://evil.example"], ETA_MAPBOX_TOKEN="a"),
    "ETA_OSRM_DAILY_LIMIT": kind(NUMBERS, **OSRM),
    "ETA_AZURE_DAILY_LIMIT": kind(NUMBERS, ETA_AZURE_KEY="a"),
    "ETA_MAPBOX_DAILY_LIMIT": kind(NUMBERS, ETA_MAPBOX_TOKEN="a"),
    "GEOCODING_DAILY_LIMIT": kind(NUMBERS, GEOCODING_MAPBOX_TOKEN="a"),
    "ETA_PROVIDER_ORDER": kind(["word", "osrm,osrm", "mapbox"], **OSRM),
    "ETA_CA_FILE": kind(NO_FILES, **OSRM),
    "GATEWAY_NAME": kind(["a b", "ä", "x" * 254]),
    "PAGES_DIR": kind(["/nonexistent", "{garbage}"]),
    "PAGES_SIGN_IN_URL": kind(["word", "http://evil.example", "javascript:x", "https://"]),
    "PAGES_TRANSLATION_FILES": kind(["/nonexistent", "{garbage}", "{empty}", "{list}"]),
    "PAGES_LANGUAGES_DIR": kind(["/nonexistent", "{garbage}"]),
    "LISTEN_PROXY_PROTOCOL_FROM": kind(["word", "1.2.3.4/33"], LISTEN_PROXY_PROTOCOL="required"),
    "LISTEN_TRUSTED_PROXIES": kind(["word", "1.2.3.4/33", "1.2.3", "::1/129", "1.2.3.4,,word", "1.2.3.4/-1"]),
    "PAGES_LOGO_FILE": kind(["/nonexistent", "/nonexistent.png", "{garbage}"]),
    "PAGES_ACCENT": kind(["red", "#12345", "ffff00"]),
    "PAGES_ACCENT_DARK": kind(["blue", "#000", "#000000"]),
    "PAGES_SUPPORT_URL": kind(["word", "http://a.example", "javascript:x", "mailto:"]),
    "PAGES_STREETS_FILE": kind(["/nonexistent", "{garbage}"]),
    "STREETS_FILE": kind(["/nonexistent", "{garbage}"]),
    "TILES_URL": kind(["word", "http://evil.example/{{z}}/{{x}}/{{y}}.png", "https://a/"], TILES_ATTRIBUTION="a"),
    "TILES_ATTRIBUTION": kind(["a"]),
    "TILES_CA_FILE": kind(NO_FILES, TILES_URL="https://127.0.0.1:9/{{z}}/{{x}}/{{y}}.png", TILES_ATTRIBUTION="a"),
    "LISTEN_HOST": kind(["word word", "999.1.1.1", "[::1", "127.0.0.1:80"], EITHER),
    "MANAGEMENT_HOST": kind(["word word", "999.1.1.1", "[::1", "127.0.0.1:80"], EITHER),
    "TOKEN_AUDIENCE_CLAIM": kind(["a b", ".", "a..b", "\u00e4"]),
    "TOKEN_PERSON_CLAIM": kind(["a b", ".", "a..b"]),
    "TOKEN_ROLE_CLAIM": kind(["a b", ".", "a.b.c.d.e.f"]),
    "TOKEN_JOB_CLAIM": kind(["a b", ".", "\\"]),
    "TOKEN_RIDER_CLAIM": kind(["a b", "."]),
    "TOKEN_PERSON_FORM": kind(["word", "PLAIN"]),
    "TOKEN_ROLES": kind(["word", "courier:driver", ":rider"]),
    "TOKEN_DEFAULT_ROLE": kind(["word", "ops", "service"]),
    "TOKEN_JTI": kind(["word", "on"]),
    "TOKEN_ALGORITHMS": kind(["none", "es256", "HS512"]),
    "TOKEN_TYPE": kind(["a b", "a/b"]),
    "TOKEN_PROVIDERS_FILE": kind(NO_FILES),
    # Any text, and used only by other commands.
    "TOKEN_ISSUER": kind([], STARTS),
    "TOKEN_AUDIENCE": kind([], STARTS),
    "REPLAY_TOKEN": kind([], STARTS),
    "CLIENT_URL": kind([], STARTS),
    "CLIENT_TOKEN": kind([], STARTS),
    "CLIENT_CA_FILE": kind([], STARTS),
    "CLIENT_FOLDER": kind([], STARTS),
    "PAGES_LEAFLET_DIR": kind(["/nonexistent"], EITHER),
}
# Files that are not settings, and the error that is expected for each (found.md, B14).
FILES = {
    "ENROUTE_LISTEN_PORTT=1": "ENROUTE_LISTEN_PORTT",
    "garbage line": "2",
    "ENROUTE_LISTEN_ALLOWED_ORIGIN=https://a.example": "ENROUTE_LISTEN_ALLOWED_ORIGIN",
    "enroute:\n  port: 1": "enroute",
    "ENROUTE_TRACKING_STALE_AFTER_SECONDS=word": "ENROUTE_TRACKING_STALE_AFTER_SECONDS",
    "=x": "2",
    "ENROUTE_LIMIT_MALFORMED_MESSAGE=1": "MALFORMED_MESSAGE",
}
# Settings whose value may be secret, so that it may come from the file that NAME_FILE names, and what else has to be set for the
# value to be read.
SECRETS: dict[str, dict[str, str]] = {
    "REDIS_LIVE_URL": {},
    "REDIS_LEDGER_URL": {},
    "REDIS_LIVE_ADMIN_URL": {},
    "REDIS_LEDGER_ADMIN_URL": {},
    "TOKEN_SECRET": {},
    "TOKEN_JWKS_URL": {},
    "ETA_OSRM_URL": {},
    "ETA_AZURE_KEY": {},
    "ETA_AZURE_URL": dict(ETA_AZURE_KEY="a"),
    "ETA_MAPBOX_TOKEN": {},
    "ETA_MAPBOX_URL": dict(ETA_MAPBOX_TOKEN="a"),
    "GEOCODING_MAPBOX_TOKEN": {},
    "SQS_QUEUE_URL": SQS,
    "TILES_URL": dict(TILES_ATTRIBUTION="a"),
    "AWS_SECRET_ACCESS_KEY": {},
    "AWS_SESSION_TOKEN": {},
}
NO_SECRET_FILES = NO_FILES + ["{blank}", "{two_lines}", "{large}"]

for name, beside in SECRETS.items():
    # Without the setting itself, because both together are an error, whatever the file contains. A file with a word is refused
    # if the word itself is.
    refuses_words = name in KINDS and KINDS[name].wrong[:1] in (("word",), ("short",))
    KINDS[f"{name}_FILE"] = kind(NO_SECRET_FILES + ["{word}"] * refuses_words, **(beside | {name: ""}))
KINDS["REPLAY_TOKEN_FILE"] = kind(NO_SECRET_FILES, EITHER)          # only replay reads it
KINDS["CLIENT_TOKEN_FILE"] = kind(NO_SECRET_FILES, EITHER)          # only job and rider read it


def documented() -> dict[str, str]:
    """Names of the configuration reference, without ENROUTE_, with their defaults. Those of AWS are as they are."""
    names: dict[str, str] = {}
    for section in (ROOT / "deploy/configuration.md").read_text().split("\n### `")[1:]:
        name = section.split("`")[0]
        if name.startswith(("ENROUTE_", "AWS_")):
            default = re.search(r"^- Default: `([^`]*)`", section, re.MULTILINE)
            names[name.removeprefix("ENROUTE_")] = default.group(1) if default else ""
    return names
