"""The smoke test of peers/node-ws, the peer that needs only Debian's packages."""
import base64, json, os, socket, ssl, subprocess

from recovery import Redis, free_port, wait_for
from smoke_processes import Failed, Server, is_up, redis, run

FOLDER = os.path.dirname(os.path.abspath(__file__))


def certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-keyout",
         f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"], check=True, stderr=subprocess.DEVNULL)
    return f"{folder}/certificate.pem", f"{folder}/key.pem"


def frame(file):
    head = file.read(2)
    return file.read(head[1] & 127).decode()


def connect(port, path, certificate):
    """Opens a WebSocket; returns its socket and its input."""
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    opened = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=10))
    key = base64.b64encode(os.urandom(16)).decode()
    opened.sendall((
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
    file = opened.makefile("rb")
    if b" 101 " not in file.readline():
        raise Failed("peers/node-ws: the upgrade was refused")
    while file.readline() != b"\r\n":
        pass
    return opened, file


def node_ws(folder):
    """The peer that needs only Debian's packages: it starts, and a follower receives what is published and what a rider sends."""
    peer = f"{FOLDER}/peers/node-ws"
    run("peers/node-ws check", peer, "check")
    description = json.loads(run("peers/node-ws describe", peer, "describe"))
    redis_port, port = free_port(), free_port()
    with redis(redis_port, folder):
        wait_for("redis", lambda: is_up(redis_port))
        files = certificate(folder)
        with Server(peer, "start", str(port), str(redis_port), *files, stdout=subprocess.DEVNULL):
            wait_for(description["name"], lambda: is_up(port))
            follower, received = connect(port, "/jobs/j1", files[0])
            rider, _ = connect(port, description["road"]["path"].replace("{job}", "j1"), files[0])
            with follower, rider, socket.create_connection(("127.0.0.1", redis_port)) as commands:
                if frame(received) != "subscribed":
                    raise Failed("peers/node-ws: no confirmation of the subscription")
                commands.sendall(Redis.command("PUBLISH", "location:j1", "a location"))
                if frame(received) != "a location":
                    raise Failed("peers/node-ws: a follower did not receive the published message")
                location = b'{"lat":41.9,"lon":12.5}'
                for text in (b'{"lat":91,"lon":12.5}', location):
                    rider.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
                if frame(received).encode() != location:
                    raise Failed("peers/node-ws: a follower did not receive the rider's location, or an invalid one")
                commands.sendall(Redis.command("GET", "position:j1"))
                answers = commands.makefile("rb")
                if (answers.readline(), answers.readline(), answers.readline().strip())[2] != location:
                    raise Failed("peers/node-ws: the last position is not in Redis")
    print("peers/node-ws: a follower received the published message and the rider's location", flush=True)
