"""What goes over the sockets of a page, and when: a page's WebSocket is listened to from within, before any of its
own scripts runs, so that the times are those at which the page itself was told."""

from dataclasses import dataclass

from playwright.sync_api import BrowserContext, Page

# `drawn` is the first animation frame after a message: what the page made of it is on the screen then.
LISTENER = """(() => {
  const heard = window.heardOnSockets = [], said = window.saidOnSockets = [];
  const Real = WebSocket;
  window.WebSocket = class extends Real {
    constructor(...words) {
      super(...words);
      this.addEventListener('message', ({data}) => {
        const entry = {at: Date.now(), drawn: null, text: data};
        heard.push(entry);
        requestAnimationFrame(() => requestAnimationFrame(() => { entry.drawn = Date.now(); }));
      });
    }
    send(text) { said.push({at: Date.now(), text}); super.send(text); }
  };
})()"""


def listen(context: BrowserContext) -> None:
    """Before the page is opened."""
    context.add_init_script(LISTENER)


@dataclass(frozen=True)
class Delivered:
    """A fix, from the rider's page to the customer's: ms since the epoch."""

    captured: int
    said: int
    heard: int
    drawn: int


def delivered(rider: Page, customer: Page) -> list[Delivered]:
    """Every fix that the rider's page sent and the customer's page drew."""
    said = rider.evaluate("""() => saidOnSockets.flatMap(({at, text}) => {
      const message = JSON.parse(text);
      return message.type === 'location' ? message.fixes.map((fix) => [fix.at, at]) : [];
    })""")
    heard = customer.evaluate("""() => heardOnSockets.filter((entry) => entry.drawn).flatMap(({at, drawn, text}) => {
      const message = JSON.parse(text);
      return message.type === 'location' ? [[message.at, at, drawn]] : [];
    })""")
    by_capture = {captured: (at, drawn) for captured, at, drawn in heard}
    return [Delivered(captured, at, *by_capture[captured]) for captured, at in said if captured in by_capture]
