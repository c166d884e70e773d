"""Faults of Redis, and of deliveries."""

import contextlib
import time

from faults import Stage, fault, tries
from followers import following
from monitoring import free_port
from order_system import HOME, OrderSystem
from processes import Process
from riders import Rider
from trips import to_the_door
from websocket import WebSocket

ROOMY = dict(
    LIMIT_MESSAGES_PER_SECOND=100_000, LIMIT_MESSAGES_BURST=100_000, LIMIT_MESSAGES_PER_PERSON_PER_SECOND=100_000,
    LIMIT_MESSAGES_PER_PERSON_BURST=100_000, LIMIT_MESSAGES_PER_ADDRESS_PER_SECOND=100_000,
    LIMIT_MESSAGES_PER_ADDRESS_BURST=100_000, LIMIT_OPERATIONS_SUBSCRIPTIONS=10_000)


@fault("EnrouteRedisDown", "EnrouteRESTUnavailable", "EnrouteDeliverySLOFastBurn", "EnrouteDeliverySLOSlowBurn")
def redis_hangs_and_is_slow(stage: Stage) -> None:
    """SIGSTOP of the redis-server, then `CLIENT PAUSE`, so that each location takes more than 2 s. The slow burn clears
    only after two hours (here: minutes): rule tests show that."""
    site = stage.site(gateways=2)
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    rider = Rider(orders, visit).travel()
    read = tries(orders, "GET", f"jobs/{visit.name}")
    trip, begun = to_the_door(HOME, speed=5), time.monotonic()
    for _ in range(7):
        stage.enter_context(following(visit))
    with following(visit) as follower:
        rider.drive(trip, every=0.4)
        follower.socket.hear(type="location")
        site.redis.freeze()
        stage.fires("EnrouteRedisDown", "EnrouteRESTUnavailable", while_=read)
        stage.notifies_only("EnrouteRedisDown", while_=read)
        rider.halt()
        site.redis.thaw()
        stage.clears("EnrouteRedisDown", "EnrouteRESTUnavailable", while_=read)

        def deliver_slowly() -> None:
            heard = len(follower.socket.heard)
            site.redis_says("CLIENT", "PAUSE", "2200", "WRITE")
            rider.report(trip.at(time.monotonic() - begun))
            follower.socket.hear(after=heard, type="location")

        stage.fires("EnrouteDeliverySLOFastBurn", "EnrouteDeliverySLOSlowBurn", while_=deliver_slowly)
        rider.drive(trip, every=0.4, from_second=time.monotonic() - begun)
        stage.clears("EnrouteDeliverySLOFastBurn", while_=read)
        assert follower.socket.is_open, "the follower was disconnected"
    rider.close()


@fault("EnroutePositionsSuppressed", "EnrouteAuditEntriesLost")
def the_ledger_hangs(stage: Stage) -> None:
    """SIGSTOP of the ledger only: revocations cannot be read, and 1,200 entries do not fit into the audit buffer."""
    ledger, path = stage.redis("ledger")
    site = stage.site(REDIS_LEDGER_URL=f"unix:{path}", EVENT_LOOPS=1, **ROOMY)
    orders = OrderSystem(site)
    visits = [orders.visit() for _ in range(30)]
    watchers = [WebSocket(site.url, orders.token("ops", f"ops-{number}")) for number in range(40)]
    for watcher in watchers:
        stage.callback(watcher.cut)
        for visit in visits:
            watcher.say({"type": "subscribe", "job": visit.name})
    for watcher in watchers:
        for visit in visits:
            watcher.hear(type="subscribed", job=visit.name)
    visit = orders.visit("on_the_way")
    rider = Rider(orders, visit).travel()
    with following(visit):
        rider.drive(to_the_door(HOME, speed=5), every=0.1)
        ledger.freeze()
        for watcher in watchers:
            watcher.cut()
        stage.fires("EnroutePositionsSuppressed", "EnrouteAuditEntriesLost")
        stage.notifies_only("EnrouteRedisDown")
        ledger.thaw()
        stage.clears("EnroutePositionsSuppressed", "EnrouteAuditEntriesLost")
    rider.close()


@fault("EnrouteRedisRefusesCommands", "EnrouteRedisSlow", "EnrouteRedisInvalidValues")
def redis_is_full_slow_and_has_malformed_messages(stage: Stage) -> None:
    """`maxmemory`, `CLIENT PAUSE`, and a message that Enroute did not write."""
    site = stage.site()
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    with following(visit):
        site.redis_says("SPUBLISH", f"job:{{{visit.name}}}:events", "not Enroute's")
        stage.fires("EnrouteRedisInvalidValues")
        site.redis_says("CONFIG", "SET", "maxmemory", "1")
        create = tries(orders, "POST", "jobs", {"job": "full", "kind": "service", "customer": "anna"})
        stage.fires("EnrouteRedisRefusesCommands", while_=create)
        site.redis_says("CONFIG", "SET", "maxmemory", "0")
        stage.clears("EnrouteRedisRefusesCommands")
        stage.fires("EnrouteRedisSlow", while_=lambda: site.redis_says("CLIENT", "PAUSE", "180", "ALL"))
        stage.clears("EnrouteRedisSlow", "EnrouteRedisInvalidValues")


@fault("EnrouteRedisReplicaLost")
def the_replica_dies(stage: Stage) -> None:
    """SIGKILL of the only replica, which then starts again."""
    site, port = stage.site(), free_port()
    site.redis_says("CONFIG", "SET", "port", str(port))
    folder = stage.folder / "replica"
    folder.mkdir()

    def start() -> Process:
        replica = Process("replica", [
            "redis-server", "--port", "0", "--unixsocket", str(folder / "redis.sock"), "--save", "", "--dir", str(folder),
            "--replicaof", "127.0.0.1", str(port)], stage.folder / "replica.log")
        stage.callback(replica.end)
        replica.wait_until(lambda: "state=online" in site.redis_says("INFO", "replication"), "its synchronization")
        return replica

    replica = start()
    gateway = site.gateways[0]
    stage.monitoring.until(
        lambda: 'enroute_redis_replicas{role="ledger"} 1' in gateway.manage("/metrics")[1], "the replica in the metrics")
    replica.kill()
    stage.fires("EnrouteRedisReplicaLost")
    assert "redis has fewer replicas" in gateway.process.log.read_text()
    start()
    stage.clears("EnrouteRedisReplicaLost")
    assert "redis has more replicas" in gateway.process.log.read_text()


@fault("EnrouteFollowersBehind", "EnrouteServerErrors", "EnrouteMessagesFailed")
def somebody_else_writes_to_the_ledger(stage: Stage) -> None:
    """Records that change without a message, and keys of another type."""
    site = stage.site(**ROOMY)
    orders = OrderSystem(site)
    visits = [orders.visit() for _ in range(12)]
    broken = orders.visit()
    socket = WebSocket(site.url, orders.token("ops", "olga"))
    stage.callback(socket.cut)
    for visit in visits:
        socket.say({"type": "subscribe", "job": visit.name})
        socket.hear(type="subscribed", job=visit.name)
    for visit in visits:
        site.redis_says("HSET", f"job:{{{visit.name}}}", "epoch", "xxxx")
    site.redis_says("SET", f"job:{{{broken.name}}}", "of another program")
    change = tries(orders, "GET", f"jobs/{broken.name}")

    def ask() -> None:
        change()
        socket.say({"type": "subscribe", "job": broken.name})

    stage.fires("EnrouteServerErrors", "EnrouteMessagesFailed", while_=ask)
    stage.fires("EnrouteFollowersBehind")
    stage.clears("EnrouteServerErrors", "EnrouteMessagesFailed", "EnrouteFollowersBehind")


@fault("EnrouteFollowersSlow", "EnrouteOutboxOverflows")
def followers_do_not_read(stage: Stage) -> None:
    """Clients that send requests and do not read the answers: with a long queue they wait, with the usual one they are
    disconnected."""
    site = stage.site(LIMIT_SOCKET_SEND_BYTES=4_096, LIMIT_QUEUE_BYTES=4_194_304, LIMIT_WRITE_STALL_SECONDS=600, **ROOMY)
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")

    def flood(names: str) -> list[WebSocket]:
        """Clients whose requests have more responses than the kernel holds."""
        deaf = [stage.deaf(site.url, orders.token("ops", f"{names}-{number}")) for number in range(14)]
        for client in deaf:
            with contextlib.suppress(OSError):
                for _ in range(3_000):
                    client.say({"type": "subscribe", "job": visit.name})
        return deaf

    deaf = flood("slow")
    stage.fires("EnrouteFollowersSlow")
    for client in deaf:
        client.cut()
    stage.clears("EnrouteFollowersSlow")
    site.settings |= {"LIMIT_QUEUE_BYTES": 16_384}
    site.gateways[0].process.kill()
    site.gateways[0].start()
    flood("slower")
    stage.fires("EnrouteOutboxOverflows")
    stage.clears("EnrouteOutboxOverflows")
