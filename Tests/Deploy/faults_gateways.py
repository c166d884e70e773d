"""Faults of gateways: processes that end, start again, run out of something or are of another version."""

import re
import threading

from faults import Stage, fault
from monitoring import free_port
from order_system import OrderSystem
from processes import Process
from stage import Site, enroute
from websocket import WebSocket


@fault("EnrouteGatewayDown", "EnrouteNoGatewayReady", "EnrouteGatewayRestarts")
def gateways_crash(stage: Stage) -> None:
    """SIGKILL of one gateway, then of both; then one gateway that ends again and again."""
    site = stage.site(gateways=2)
    one, other = (gateway.process for gateway in site.gateways)
    one.kill()
    stage.fires("EnrouteGatewayDown")
    assert "EnrouteNoGatewayReady" not in stage.monitoring.firing(stage.job), "the other gateway is ready"
    other.kill()
    stage.fires("EnrouteNoGatewayReady")
    stage.notifies_only("EnrouteNoGatewayReady")
    for gateway in site.gateways:
        gateway.start()
    stage.clears("EnrouteNoGatewayReady", "EnrouteGatewayDown")
    gateway, expression = site.gateways[0], f'process_start_time_seconds{{job="{stage.job}"}}'
    for _ in range(3):
        before = stage.monitoring.query(expression)
        gateway.process.kill()
        gateway.start()
        stage.monitoring.until(lambda: stage.monitoring.query(expression) != before, "a scrape of the new process")
    stage.fires("EnrouteGatewayRestarts")
    stage.clears("EnrouteGatewayRestarts")


@fault("EnrouteGatewayNotReady")
def one_gateway_does_not_reach_redis(stage: Stage) -> None:
    """A gateway whose Redis does not run yet, beside one that has a Redis."""
    site, socket, management = stage.site(), stage.folder / "late.sock", free_port()
    gateway = Process("gateway-2", [str(enroute()), "serve", "--port", "0"], stage.folder / "gateway-2.log",
                      site.environment() | {"ENROUTE_REDIS_LIVE_URL": f"unix:{socket}",
                                            "ENROUTE_MANAGEMENT_PORT": str(management)})
    stage.callback(gateway.end)
    stage.monitoring.scrape(stage.job, site.gateways[0].management, management)
    stage.fires("EnrouteGatewayNotReady")
    stage.redis("late")
    stage.clears("EnrouteGatewayNotReady")


@fault("EnrouteVersionsDiffer")
def one_gateway_has_another_version(stage: Stage) -> None:
    """There is one build here: a relay in front of the second gateway's metrics rewrites its version."""
    site = stage.site(gateways=2)

    def older(_) -> tuple[int, str]:
        text = site.gateways[1].manage("/metrics")[1]
        return 200, text.replace('version="', 'version="0.0.1-')

    relay = stage.service(older)
    stage.monitoring.scrape(stage.job, site.gateways[0].management, relay.server_port)
    stage.fires("EnrouteVersionsDiffer")
    stage.monitoring.watch(stage.job, site)
    stage.clears("EnrouteVersionsDiffer")


@fault("EnrouteSettingsDiffer")
def one_gateway_has_another_retention(stage: Stage) -> None:
    """A gateway with a lower retention, beside one with the default."""
    site, management = stage.site(), free_port()
    gateway = Process("gateway-2", [str(enroute()), "serve", "--port", "0"], stage.folder / "gateway-2.log",
                      site.environment() | {"ENROUTE_JOB_RETENTION_SECONDS": "14400",
                                            "ENROUTE_MANAGEMENT_PORT": str(management)})
    stage.callback(gateway.end)
    stage.monitoring.scrape(stage.job, site.gateways[0].management, management)
    stage.fires("EnrouteSettingsDiffer")
    stage.monitoring.watch(stage.job, site)
    stage.clears("EnrouteSettingsDiffer")


@fault("EnrouteDescriptorsNearLimit", "EnrouteOverloaded")
def descriptors_run_out(stage: Stage) -> None:
    """`ulimit -n 512` and as many connections to one of two gateways."""
    site = stage.site(
        gateways=2, launcher=["prlimit", "--nofile=512:512"], LIMIT_REQUEST_HEAD_SECONDS=60,
        OVERLOAD_DESCRIPTOR_PERCENT=95, EVENT_LOOPS=1)
    opened = stage.sockets(site, 405)
    stage.fires("EnrouteDescriptorsNearLimit")
    opened += stage.sockets(site, 70)
    stage.fires("EnrouteOverloaded")
    stage.notifies_only("EnrouteOverloaded")
    for connection in opened:
        connection.close()
    stage.clears("EnrouteDescriptorsNearLimit", "EnrouteOverloaded")


@fault("EnrouteMemoryNearLimit", "EnrouteSessionsShed")
def memory_runs_out(stage: Stage) -> None:
    """Connections almost reach the limit of the memory, then exceed it, so idle sessions are closed. When the connections
    are gone, the gateway accepts again without a restart."""
    site = stage.site(EVENT_LOOPS=1, LIMIT_REQUEST_HEAD_SECONDS=60)
    gateway = site.gateways[0]
    used = stage.monitoring.query(f'process_resident_memory_bytes{{job="{stage.job}"}}')[0] / 1_048_576
    site.settings["OVERLOAD_MEMORY_MB"] = int(used * 1.4)
    gateway.process.kill()
    gateway.start()
    orders = OrderSystem(site)
    # The sessions become idle after 10 s; until then connections fill the memory.
    idle = [WebSocket(site.url, orders.token("customer", f"anna-{number}")) for number in range(20)]
    for socket in idle:
        stage.callback(socket.cut)
    filler = Filler(stage, site)
    stage.fires("EnrouteMemoryNearLimit", while_=lambda: filler.fill(0.92))
    stage.fires("EnrouteSessionsShed", while_=lambda: filler.fill(1))
    filler.close()
    stage.monitoring.until(lambda: gateway.manage("/readyz")[0] == 200, "the gateway to accept again")
    stage.clears("EnrouteMemoryNearLimit", "EnrouteSessionsShed")


class Filler:
    """Fills a gateway's memory with connections whose requests never end."""

    STEP, MOST = 100, 4_000
    """Connections opened at once, and open at the same time: the gateway closes the oldest ones after a while."""

    def __init__(self, stage: Stage, site: Site):
        self.stage, self.site, self.opened = stage, site, []

    def fill(self, share: float) -> None:
        """Opens some more connections if the gateway accepts them and uses less than this share of its limit."""
        gateway, limit = self.site.gateways[0], self.site.settings["OVERLOAD_MEMORY_MB"] * 1_048_576
        memory = re.search(r"^process_resident_memory_bytes (\S+)$", gateway.manage("/metrics")[1], re.MULTILINE)
        if float(memory[1]) >= share * limit or gateway.manage("/readyz")[0] != 200:
            return
        if len(self.opened) >= self.MOST:
            self.close(self.STEP)
        self.opened += self.stage.sockets(self.site, self.STEP, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 4_000)

    def close(self, count: int | None = None) -> None:
        """Closes the oldest connections, or all."""
        for connection in self.opened[:count]:
            connection.close()
        del self.opened[:count]


@fault("EnrouteEventLoopLag")
def a_gateway_has_too_little_time(stage: Stage) -> None:
    """SIGSTOP for 130 ms of each 180 ms, as on a machine whose CPU others use."""
    site = stage.site(EVENT_LOOPS=1)
    process, is_over = site.gateways[0].process, threading.Event()

    def pulse() -> None:
        while not is_over.is_set():
            process.freeze()
            is_over.wait(0.13)
            process.thaw()
            is_over.wait(0.05)

    thread = threading.Thread(target=pulse, daemon=True)
    thread.start()
    try:
        stage.fires("EnrouteEventLoopLag")
    finally:
        is_over.set()
        thread.join()
    stage.clears("EnrouteEventLoopLag")
