"""What an order system does: makes jobs, moves them on, gives them to riders, asks for links. All of it by the REST
interface, as the role `service`, so that a test says only what happened in the world."""

import http.client
import itertools
import json
import secrets
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

import bounds
import tokens
from stage import Site

NUMBERS = itertools.count(1)
HOME = (41.9028, 12.4964)      # lat, lon of a destination where a test names none
UNVERIFIED = ssl._create_unverified_context()


class Refused(Exception):
    """The gateway's answer was not 2xx."""

    def __init__(self, status: int, problem: dict, what: str):
        super().__init__(f"{what}: {status} {problem}")
        self.status, self.problem = status, problem


@dataclass(frozen=True)
class Job:
    """A job that exists. Its customer and its rider have names of their own, so that tests never meet."""

    orders: "OrderSystem"
    name: str
    kind: str
    customer: str
    rider: str | None

    def status(self, *statuses: str) -> "Job":
        """One status after the other."""
        for status in statuses:
            self.orders.ask("POST", f"jobs/{self.name}/status", {"status": status})
        return self

    def assign(self, rider: str, instead_of: str | None = None) -> None:
        body = {"rider": rider} | ({"insteadOf": instead_of} if instead_of else {})
        self.orders.ask("PUT", f"jobs/{self.name}/assignment", body)

    def link(self, viewers: int = 5, expires_in: int = bounds.LINK_SECONDS) -> dict:
        """`{link, id, url, expiresAt, viewers}`; `url` begins at the site."""
        answer = self.orders.ask("POST", f"jobs/{self.name}/links", {"viewers": viewers, "expiresInSeconds": expires_in})
        return answer | {"url": f"{self.orders.site.url}/track/{self.name}#{answer['link']}"}

    @property
    def guest_url(self) -> str:
        """The customer's page by a new link."""
        return self.link()["url"]

    @property
    def state(self) -> dict:
        """The snapshot."""
        return self.orders.ask("GET", f"jobs/{self.name}")


class OrderSystem:
    """The service's side of the REST interface of a site."""

    def __init__(self, site: Site):
        self.site = site
        self.bearer = self.token("service", "orders")

    def token(self, role: str, person: str, **claims) -> str:
        return tokens.token(self.site.secret, role, person, **claims)

    def visit(self, *statuses: str, **members) -> Job:
        """A service visit, with a rider of its own, that went through `statuses`."""
        return self._make("service", members).status(*statuses)

    def delivery(self, *statuses: str, **members) -> Job:
        return self._make("delivery", members).status(*statuses)

    def approve(self, rider: str, zone: str = "rome", capacity: int = 3) -> None:
        """Puts a rider into a zone, where it may declare that it works."""
        self.ask("PUT", f"riders/{rider}", {"zone": zone, "approved": True, "capacity": capacity})

    def sign_in_url(self, path: str, role: str, person: str) -> str:
        """A page of ours with a one-time code that signs a person in: no token is ever in a URL."""
        code = self.ask("POST", "sign-ins", {}, bearer=self.token(role, person))["code"]
        return f"{self.site.url}{path}#in.{code}"

    def revoke(self, what: str, name: str) -> None:
        """`what`: users, tokens, jobs, links."""
        self.ask("DELETE", f"grants/{what}/{name}")

    def ask(self, method: str, path: str, body: dict | None = None, bearer: str | None = None) -> dict:
        """Raises Refused for what is not 2xx, OSError when nobody answers."""
        address = urlsplit(self.site.url)
        if self.site.is_secure:
            connection = http.client.HTTPSConnection(
                address.hostname, address.port, timeout=bounds.ANSWER_SECONDS, context=UNVERIFIED)
        else:
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=bounds.ANSWER_SECONDS)
        try:
            connection.request(
                method, f"/api/v1/{path}", body=None if body is None else json.dumps(body),
                headers={"Authorization": f"Bearer {bearer or self.bearer}", "Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        value = json.loads(text) if text else {}
        if not 200 <= answer.status < 300:
            raise Refused(answer.status, value, f"{method} {path}")
        return value

    def _make(self, kind: str, members: dict) -> Job:
        name = f"{kind}-{next(NUMBERS)}-{secrets.token_hex(3)}"
        customer, rider = members.pop("customer", f"customer-of-{name}"), members.pop("rider", f"rider-of-{name}")
        lat, lon = members.pop("destination", HOME)
        body = {"job": name, "kind": kind, "customer": customer, "destination": {"lat": lat, "lon": lon}} | members
        self.ask("POST", "jobs", body | ({"rider": rider} if rider else {}))
        return Job(self, name, kind, customer, rider)
