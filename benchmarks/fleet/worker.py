"""A child process of the fleet that answers JSON commands, a line each: the order system (orders.py) or clients (crowd.py)."""
import json, os, subprocess, sys

from servers import Child, Failed

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Worker:
    """A process that answers JSON commands."""

    def __init__(self, group, name, script, folder, plan):
        path = f"{folder}/{name}.json"
        with open(path, "w") as file:
            json.dump(plan, file)
        self.child = Child(
            group, name, [sys.executable, f"{FOLDER}/{script}"], folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.send({"plan": path})

    def send(self, message):
        self.child.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.process.stdin.flush()

    def ask(self, do, **arguments):
        self.send({"do": do, **arguments})
        return self.answer()

    def answer(self):
        line = self.child.process.stdout.readline()
        if not line:
            raise Failed(f"{self.child.name} ended:\n{self.child.tail()}")
        return json.loads(line)
