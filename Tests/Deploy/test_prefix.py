"""Gateways below a path prefix, as the README of each balancer describes it: https://example.com/enroute/. Pages, links, the
REST interface, WebSockets and the commands work there; the rest of the host belongs to somebody else.
Tests/Browser/test_prefix.py opens the pages in a browser."""

import http.client
import json
import os
import re
from urllib.parse import urljoin, urlsplit

import pytest

import bounds
from balancers import HAPROXY, HAPROXY_BELOW_PREFIX, NGINX, NGINX_BELOW_PREFIX, PREFIX, UNVERIFIED, HAProxy, Nginx, get
from callers import connect, still_answers
from order_system import OrderSystem
from stage import enroute

BALANCERS = pytest.mark.parametrize("balancer", [HAProxy, Nginx])
ADDRESSES = re.compile(r'\s(?:href|src)="([^":#]+)"')


def read(url: str, **headers) -> tuple[int, str]:
    """The status and the body of a response. Redirects are not followed."""
    address = urlsplit(url)
    connection = http.client.HTTPSConnection(
        address.hostname, address.port, timeout=bounds.ANSWER_SECONDS, context=UNVERIFIED)
    try:
        connection.request("GET", f"{address.path}?{address.query}" if address.query else address.path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        connection.close()


@BALANCERS
def test_pages_with_all_their_files_are_below_the_prefix_and_nothing_else_of_the_host_is(behind, balancer):
    site, proxy = behind(balancer, 7, gateways=1, has_prefix=True)
    assert "warn" not in proxy.check().lower()
    found = set()
    for path in ["/track/visit-1", "/rider", "/ops", "/docs", "/docs/", "/none/at/all"]:
        status, html = read(site.url + path, Accept="text/html")
        assert status == (404 if "none" in path else 200), path
        found |= {urljoin(site.url + path, address) for address in ADDRESSES.findall(html)}
    status, manifest = read(f"{site.url}/manifest.webmanifest?page=rider")
    assert status == 200
    assert urljoin(f"{site.url}/manifest.webmanifest", json.loads(manifest)["start_url"]) == f"{site.url}/rider"
    found |= {f"{site.url}/worker.js", f"{site.url}/assets/icon-192.png"}
    assert {f"{site.url}/assets/{name}" for name in ("track.js", "rider.js", "ops.js", "docs.js")} <= found
    assert [url for url in sorted(found) if not url.startswith(f"{site.url}/") or read(url)[0] != 200] == []
    # Not /, where nginx shows a page of its own.
    for path in ["/track/visit-1", "/api/v1/texts", "/readyz", f"{PREFIX}-2/rider"]:
        assert get(site.port, path, is_secure=True)[0] in (404, 503), path


@BALANCERS
def test_the_interface_a_websocket_and_a_tracking_link_work_below_the_prefix(behind, balancer):
    site, _ = behind(balancer, 7, gateways=1, has_prefix=True)
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    client = connect(orders)
    assert still_answers(client)
    link = orders.ask("POST", f"jobs/{visit.name}/links")
    assert link["url"] == f"/track/{visit.name}#{link['link']}"
    status, html = read(f"{site.url}{link['url'].split('#')[0]}", Authorization=f"Link {link['link']}")
    assert status == 200 and '"status":"on_the_way"' in html
    client.close()


@BALANCERS
def test_the_commands_use_a_gateway_below_the_prefix(behind, balancer, start, tmp_path):
    site, _ = behind(balancer, 7, gateways=1, has_prefix=True)
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    token = tmp_path / "token"
    token.write_text(orders.bearer)
    token.chmod(0o600)

    def run(*words: str):
        options = ["--url", f"{site.url}/", "--ca", str(site.certificate()), "--token-file", str(token)]
        return start("enroute", [str(enroute()), *words, *options], dict(os.environ))

    linking = run("job", "link", visit.name)
    assert linking.child.wait(bounds.ANSWER_SECONDS) == 0
    assert linking.log.read_text().startswith(f"{site.url}/track/{visit.name}#")
    following = run("job", "follow", visit.name)
    following.wait_until(lambda: "on_the_way" in following.log.read_text(), "the status")
    visit.status("work_in_progress", "completed")
    assert following.child.wait(bounds.ANSWER_SECONDS) == 0
    assert "completed" in following.log.read_text()


@pytest.mark.parametrize("folder, changes", [(HAPROXY, HAPROXY_BELOW_PREFIX), (NGINX, NGINX_BELOW_PREFIX)])
def test_the_guide_names_the_lines_that_change(folder, changes):
    guide = (folder / "README.md").read_text()
    lines = [line.strip() for change in changes.values() for line in change.splitlines()]
    assert [line for line in lines if line != "balance leastconn" and line not in guide] == []
