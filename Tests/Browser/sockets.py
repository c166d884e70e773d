"""The messages on the sockets of a page and their times. The page's WebSocket is observed from within before any script of
the page runs, so the times are those of the page itself."""

from dataclasses import dataclass

from playwright.sync_api import BrowserContext, Page

# `drawn` is the first animation frame after a message, when the page's reaction is on the screen.
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
    """Call it before the page is opened."""
    context.add_init_script(LISTENER)


@dataclass(frozen=True)
class Delivered:
    """A fix from the rider's page to the customer's, in ms since the epoch."""

    captured: int
    said: int
    heard: int
    drawn: int


def delivered(rider: Page, customer: Page) -> list[Delivered]:
    """Returns every fix that the rider's page sent and the customer's page drew."""
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
