"""The files of a page: everything of this project that its HTML loads, directly or by imports, found by reading the
files as the gateway sends them. Leaflet is not part of the project; streets and texts are data."""

import gzip
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import bounds

LEADS = re.compile(r"""(?:src|href)\s*=\s*["']([^"'#]+)["']|from\s*["']([^"']+)["']|import\s*\(?\s*["']([^"']+)["']"""
                   r"""|url\(["']?([^"')]+)["']?\)|(?:["'`]\.\.|\$\{gateway\})(/assets/[\w./-]+|/worker\.js)["'`]"""
                   r"""|\$\{GATEWAY\}(assets/[\w./-]+)""")
NOT_OURS = re.compile(r"^/assets/(leaflet/|tiles/|streets\.geojson)|^/api/")
TEXT = ("text/", "application/json", "application/javascript", "application/manifest", "image/svg")
MANIFEST = "application/manifest+json"
# What a browser sends over plain HTTP.
TAKES = {"Accept-Encoding": "gzip, deflate"}


@dataclass(frozen=True)
class Asset:
    """One file of the project, as transferred to a client that accepts gzip."""

    path: str
    type: str
    # The `content-encoding`, or empty.
    encoding: str
    # Size of the encoded body in bytes.
    sent: int


def fetch(url: str, **headers) -> tuple[int, dict[str, str], bytes]:
    """Returns status, headers with lower-case names, and body. Redirects are not followed."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=bounds.ANSWER_SECONDS) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as answer:
        return answer.code, {name.lower(): value for name, value in answer.headers.items()}, answer.read()


def own_assets(site_url: str, page: str) -> list[Asset]:
    """Returns all files. A missing file fails the test."""
    found: dict[str, Asset] = {}
    waiting = [page]
    while waiting:
        path = waiting.pop()
        if path in found or NOT_OURS.search(path):
            continue
        status, headers, body = fetch(site_url + path, **TAKES)
        assert status == 200, f"{page} leads to {path}, which is {status}"
        kind = headers.get("content-type", "").split(";")[0]
        encoding = headers.get("content-encoding", "")
        assert encoding in ("", "gzip"), f"{path} comes in an encoding that nobody asked for: {encoding}"
        found[path] = Asset(path, kind, encoding, len(body))
        # The icons of the manifest are loaded only when the page is installed.
        if not kind.startswith(TEXT) or kind == MANIFEST:
            continue
        text = without_comments((gzip.decompress(body) if encoding else body).decode())
        for match in LEADS.finditer(text):
            target = urljoin(site_url + path, next(group for group in match.groups() if group))
            if urlsplit(target).netloc == urlsplit(site_url).netloc:
                address = urlsplit(target).path
                if "." in address.rsplit("/", 1)[-1]:
                    waiting.append(address)
    assert len(found) > 1, f"{page} loads no file"
    return list(found.values())


def without_comments(text: str) -> str:
    """Comments mention file names too."""
    return re.sub(r"/\*.*?\*/|^\s*//.*?$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
