"""What a page is made of: everything of our own that its HTML leads to, directly or by imports, found by reading
the files as the gateway serves them. Leaflet is not ours; streets and texts are data."""

import gzip
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import bounds

LEADS = re.compile(r"""(?:src|href)\s*=\s*["']([^"'#]+)["']|from\s*["']([^"']+)["']|import\s*\(?\s*["']([^"']+)["']"""
                   r"""|url\(["']?([^"')]+)["']?\)|["'](/assets/[\w./-]+|/worker\.js)["']""")
NOT_OURS = re.compile(r"^/assets/(leaflet/|tiles/|streets\.geojson)|^/api/")
TEXT = ("text/", "application/json", "application/javascript", "application/manifest", "image/svg")
MANIFEST = "application/manifest+json"
BEST = 9


@dataclass(frozen=True)
class Asset:
    """One file of ours, as it was served."""

    path: str
    type: str
    body: bytes

    @property
    def compressed(self) -> int:
        """Bytes, as gzip at its best; what is compressed already (PNG) counts as it is."""
        return min(len(self.body), len(gzip.compress(self.body, BEST)))


def fetch(url: str, **headers) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (their names in lower case) and body; redirects are none of ours."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=bounds.ANSWER_SECONDS) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as answer:
        return answer.code, {name.lower(): value for name, value in answer.headers.items()}, answer.read()


def own_assets(site_url: str, page: str) -> list[Asset]:
    """All of them; a link that leads nowhere fails the test that asks."""
    found: dict[str, Asset] = {}
    waiting = [page]
    while waiting:
        path = waiting.pop()
        if path in found or NOT_OURS.search(path):
            continue
        status, headers, body = fetch(site_url + path)
        assert status == 200, f"{page} leads to {path}, which is {status}"
        kind = headers.get("content-type", "").split(";")[0]
        found[path] = Asset(path, kind, body)
        # The manifest's icons are loaded when somebody installs the page.
        if not kind.startswith(TEXT) or kind == MANIFEST:
            continue
        text = without_comments(body.decode())
        for match in LEADS.finditer(text):
            target = urljoin(site_url + path, next(group for group in match.groups() if group))
            if urlsplit(target).netloc == urlsplit(site_url).netloc:
                address = urlsplit(target).path
                if "." in address.rsplit("/", 1)[-1]:
                    waiting.append(address)
    return list(found.values())


def without_comments(text: str) -> str:
    """Prose of ours names files too."""
    return re.sub(r"/\*.*?\*/|^\s*//.*?$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
