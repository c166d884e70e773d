"""An order system: creates jobs, changes their status, assigns riders and requests links. It uses the REST API with the
role `service`, so that a test only describes what happens in the world."""

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
HOME = (41.9028, 12.4964)      # lat, lon of the default destination
UNVERIFIED = ssl._create_unverified_context()


class Refused(Exception):
    """The gateway's response was not 2xx."""

    def __init__(self, status: int, problem: dict, what: str):
        super().__init__(f"{what}: {status} {problem}")
        self.status, self.problem = status, problem


@dataclass(frozen=True)
class Job:
    """A job. Its customer and rider have names of their own, so tests do not affect each other."""

    orders: "OrderSystem"
    name: str
    kind: str
    customer: str
    rider: str | None

    def status(self, *statuses: str) -> "Job":
        """Sets statuses one after the other."""
        for status in statuses:
            self.orders.ask("POST", f"jobs/{self.name}/status", {"status": status})
        return self

    def assign(self, rider: str, instead_of: str | None = None) -> None:
        body = {"rider": rider} | ({"insteadOf": instead_of} if instead_of else {})
        self.orders.ask("PUT", f"jobs/{self.name}/assignment", body)

    def link(self, viewers: int = 5, expires_in: int = bounds.LINK_SECONDS) -> dict:
        """Returns `{link, id, url, expiresAt, viewers}`; `url` starts with the site's address."""
        answer = self.orders.ask("POST", f"jobs/{self.name}/links", {"viewers": viewers, "expiresInSeconds": expires_in})
        return answer | {"url": f"{self.orders.site.url}/track/{self.name}#{answer['link']}"}

    @property
    def guest_url(self) -> str:
        """The address of the customer's page with a new link."""
        return self.link()["url"]

    @property
    def state(self) -> dict:
        """The snapshot of the job."""
        return self.orders.ask("GET", f"jobs/{self.name}")


class OrderSystem:
    """The service's side of a site's REST API."""

    def __init__(self, site: Site):
        self.site = site
        self.bearer = self.token("service", "orders")

    def token(self, role: str, person: str, **claims) -> str:
        return tokens.token(self.site.secret, role, person, **claims)

    def visit(self, *statuses: str, **members) -> Job:
        """Creates a service visit with its own rider and takes it through `statuses`."""
        return self._make("service", members).status(*statuses)

    def delivery(self, *statuses: str, **members) -> Job:
        return self._make("delivery", members).status(*statuses)

    def approve(self, rider: str, zone: str = "rome", capacity: int = 3) -> None:
        """Registers a rider in a zone, where they can go online."""
        self.ask("PUT", f"riders/{rider}", {"zone": zone, "approved": True, "capacity": capacity})

    def sign_in_url(self, path: str, role: str, person: str) -> str:
        """Returns a page's address with a one-time code that signs a person in. No URL contains a token."""
        code = self.ask("POST", "sign-ins", {}, bearer=self.token(role, person))["code"]
        return f"{self.site.url}{path}#in.{code}"

    def revoke(self, what: str, name: str) -> None:
        """Revokes something. `what`: users, tokens, jobs, links."""
        self.ask("DELETE", f"grants/{what}/{name}")

    def ask(self, method: str, path: str, body: dict | None = None, bearer: str | None = None) -> dict:
        """Raises Refused unless the response is 2xx, and OSError without a response."""
        address = urlsplit(self.site.url)
        if address.scheme == "https":
            connection = http.client.HTTPSConnection(
                address.hostname, address.port, timeout=bounds.ANSWER_SECONDS, context=UNVERIFIED)
        else:
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=bounds.ANSWER_SECONDS)
        try:
            connection.request(
                method, f"{address.path}/api/v1/{path}", body=None if body is None else json.dumps(body),
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
