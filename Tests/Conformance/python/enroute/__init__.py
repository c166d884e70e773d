"""A small client of the Enroute protocol for Python, written from the protocol documents alone.

It exists to prove that the documents are enough, and to be read: `views.py` and `reconnecting.py` decide, `client.py` acts.
"""

from .client import Client
from .clock import Clock
from .errors import Disconnected, Refused
from .views import JobView

__all__ = ["Client", "Clock", "Disconnected", "JobView", "Refused"]
