"""Faults of clients, balancers and keys; and of the services that Enroute uses or that use it."""

import contextlib
import json
import subprocess
import threading

from faults import Stage, fault, tries
from followers import following
from order_system import HOME, OrderSystem, Refused
from riders import Rider
from trips import to_the_door

NO_SPEED = to_the_door(HOME, speed=5)


@fault("EnrouteSignInFailures")
def tokens_have_another_key(stage: Stage) -> None:
    """Tokens of a sign-in service whose key the gateways do not have."""
    site = stage.site()
    orders, secret = OrderSystem(site), site.secret
    site.secret = "0" * 64
    wrong = orders.token("service", "orders")
    site.secret = secret

    def sign_in() -> None:
        for _ in range(5):
            with contextlib.suppress(Refused):
                orders.ask("GET", "jobs/any", bearer=wrong)

    stage.fires("EnrouteSignInFailures", while_=sign_in)
    stage.clears("EnrouteSignInFailures")


@fault("EnrouteHandshakesTimeOut", "EnrouteConnectionsRefused")
def connections_that_send_nothing_and_too_many_of_one_address(stage: Stage) -> None:
    site = stage.site(LIMIT_REQUEST_HEAD_SECONDS=1, LIMIT_CONNECTIONS_PER_ADDRESS=30)
    stage.fires("EnrouteHandshakesTimeOut", "EnrouteConnectionsRefused", while_=lambda: stage.sockets(site, 20))
    stage.clears("EnrouteHandshakesTimeOut", "EnrouteConnectionsRefused")


@fault("EnrouteProxyHeadersRefused")
def a_balancer_without_proxy_header(stage: Stage) -> None:
    site = stage.site(LISTEN_PROXY_PROTOCOL="required", LISTEN_PROXY_PROTOCOL_FROM="127.0.0.1")
    request = b"GET / HTTP/1.1\r\nHost: enroute\r\n\r\n"
    stage.fires("EnrouteProxyHeadersRefused", while_=lambda: stage.sockets(site, 5, request))
    stage.clears("EnrouteProxyHeadersRefused")


@fault("EnrouteCertificateExpiresSoon", "EnrouteCertificateExpires")
def a_certificate_expires(stage: Stage) -> None:
    """A certificate of ten days, then one of a day, then one of a year; SIGHUP each time."""
    site = stage.site(is_secure=True)
    gateway = site.gateways[0]

    def renew(days: int) -> None:
        subprocess.run(
            ["openssl", "req", "-x509", "-key", str(site.folder / "key.pem"), "-days", str(days), "-subj",
             "/CN=localhost", "-out", str(site.folder / "certificate.pem")], check=True, capture_output=True)
        gateway.process.child.send_signal(1)

    renew(10)
    stage.fires("EnrouteCertificateExpiresSoon")
    renew(1)
    stage.fires("EnrouteCertificateExpires")
    stage.notifies_only("EnrouteCertificateExpires")
    renew(365)
    stage.clears("EnrouteCertificateExpiresSoon", "EnrouteCertificateExpires")


@fault("EnrouteKeysNotRefreshed")
def the_issuer_is_unavailable(stage: Stage) -> None:
    """A key server that nobody can reach when the gateway starts. A token with an unknown key makes the gateway try again,
    at most every 30 s."""
    port = stage.reserved_port()
    site = stage.site(TOKEN_JWKS_URL=f"http://127.0.0.1:{port}/keys")
    orders = OrderSystem(site)
    stage.fires("EnrouteKeysNotRefreshed")
    stage.service(lambda _: (200, json.dumps({"keys": [ISSUER_KEY]})), port)
    token = "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6Im5ldyJ9.e30.AAAA"

    def use_new_key() -> None:
        with contextlib.suppress(Refused):
            orders.ask("GET", "jobs/any", bearer=token)

    stage.clears("EnrouteKeysNotRefreshed", while_=use_new_key)


# The public key of RFC 7515, appendix A.3.
ISSUER_KEY = {
    "kty": "EC", "crv": "P-256", "kid": "old", "alg": "ES256", "use": "sig",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}


@fault("EnrouteRiderUnreachableWithTask")
def a_rider_with_a_task_disappears(stage: Stage) -> None:
    site = stage.site(RIDER_HEARTBEAT_TIMEOUT_SECONDS=1)
    orders = OrderSystem(site)
    orders.approve("rita")
    orders.ask("PATCH", "riders/me/status", {"status": "online"}, bearer=orders.token("rider", "rita"))
    orders.delivery("accepted", rider="rita")
    stage.fires("EnrouteRiderUnreachableWithTask")
    stage.clears("EnrouteRiderUnreachableWithTask")


@fault("EnrouteEventQueueDown", "EnrouteEventsRefused")
def another_system_sends_malformed_events_and_its_queue_fails(stage: Stage) -> None:
    port = stage.reserved_port()
    site = stage.site(
        launcher=["env", "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret"],
        SQS_QUEUE_URL=f"http://127.0.0.1:{port}/1/orders")
    orders = OrderSystem(site)
    event = {"specversion": "1.0", "id": "1", "source": "/orders", "type": "unknown", "time": "yesterday"}
    stage.fires("EnrouteEventQueueDown", "EnrouteEventsRefused", while_=tries(orders, "POST", "events", event))
    # A queue without messages answers after a while.
    stage.service(lambda _: (threading.Event().wait(0.5), (200, "{}"))[1], port)
    stage.clears("EnrouteEventQueueDown", "EnrouteEventsRefused")


@fault("EnrouteWebhooksUndelivered")
def an_endpoint_does_not_accept_events(stage: Stage) -> None:
    """Nothing listens there. The second attempt is the last one."""
    site = stage.site(WEBHOOK_ALLOWED_NETWORKS="127.0.0.0/8", WEBHOOK_RETRY_SECONDS="1")
    orders = OrderSystem(site)
    webhook = orders.ask("POST", "webhooks", {"url": f"https://127.0.0.1:{stage.reserved_port()}/hooks"})
    orders.visit("on_the_way")
    stage.fires("EnrouteWebhooksUndelivered")
    orders.ask("DELETE", f"webhooks/{webhook['id']}")
    stage.clears("EnrouteWebhooksUndelivered")


@fault("EnrouteETAProviderDown", "EnrouteETAKeyRefused", "EnrouteETABudgetUsedUp")
def providers_of_arrival_times_fail(stage: Stage) -> None:
    """OSRM that answers 500, and Azure Maps that refuses the key and whose budget is one request."""
    is_well = []

    def answer(request) -> tuple[int, str]:
        if not request.path.startswith("/route/v1"):
            return 401, "{}"
        return (200, '{"code":"Ok","routes":[{"duration":60,"distance":500}]}') if is_well else (500, "{}")

    server = stage.service(answer)
    url = f"http://127.0.0.1:{server.server_port}"
    site = stage.site(
        ETA_OSRM_URL=url, ETA_AZURE_URL=url, ETA_AZURE_KEY="key", ETA_AZURE_DAILY_LIMIT=1, ETA_INTERVAL_SECONDS=10)
    orders = OrderSystem(site)

    def drive() -> None:
        visit = orders.visit("on_the_way")
        rider = Rider(orders, visit).travel()
        stage.callback(rider.close)
        stage.enter_context(following(visit))
        rider.drive(NO_SPEED, every=0.5)

    drive()
    # The key is refused once, because the budget allows one request: this alert does not last.
    stage.fires("EnrouteETAKeyRefused", "EnrouteETABudgetUsedUp")
    stage.fires("EnrouteETAProviderDown")
    is_well.append(True)
    site.settings["ETA_AZURE_DAILY_LIMIT"] = 1_000
    site.gateways[0].process.kill()
    site.gateways[0].start()
    drive()
    stage.clears("EnrouteETAProviderDown", "EnrouteETABudgetUsedUp")
    stage.clears("EnrouteETAKeyRefused")
