"""The rider's page as tests open it: signed in by a one-time code, with a spy between the page and the browser. It counts
each request for the location and each reading, can hold requests while the browser's question is "open", and records
map apps instead of opening them."""

from playwright.sync_api import Error, Locator, Page, expect

from devices import ROME, Devices
from order_system import Job, OrderSystem
from wire import Wire

SPY = """(() => {
  const spy = window.spy = {calls: [], held: [], opened: [], readings: 0, isHolding: false, failsWith: null};
  for (const name of ['getCurrentPosition', 'watchPosition']) {
    const real = Geolocation.prototype[name];
    Geolocation.prototype[name] = function (found, failed, options) {
      spy.calls.push(name);
      const count = (position) => { spy.readings += 1; found(position); };
      const ask = () => spy.failsWith === null ? real.call(this, count, failed, options)
        : queueMicrotask(() => failed({code: spy.failsWith, message: 'so says the test'}));
      if (!spy.isHolding) return ask();
      spy.held.push(ask);
      return 0;
    };
  }
  HTMLAnchorElement.prototype.click = function () { spy.opened.push(this.href); };
})()"""

# A page that was loaded over plain HTTP from another host.
INSECURE = "Object.defineProperty(window, 'isSecureContext', {value: false})"

ANDROID = ("Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile "
           "Safari/537.36")
IPHONE = ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
          "Version/17.5 Mobile/15E148 Safari/604.1")


class RiderPage:
    """One rider's phone."""

    def __init__(self, orders: OrderSystem, devices: Devices, person: str, *jobs: Job, scripts=(), words="",
                 has_wire: bool = False, **options):
        """`jobs`: for a rider without a zone, whose jobs are in the address. `words`: query parameters such as
        `lang=de`. `has_wire`: the test can send messages to the page like a gateway (`wire`)."""
        self.orders, self.person = orders, person
        phone = {"width": 390, "height": 844, "is_phone": True, "geolocation": ROME}
        self.page: Page = devices.open(None, **phone | options)
        self.wire = Wire(self.page) if has_wire else None
        for script in (SPY, *scripts):
            self.page.context.add_init_script(script)
        query = "&".join([f"job={job.name}" for job in jobs] + ([words] if words else []))
        self.page.goto(orders.sign_in_url(f"/rider?{query}" if query else "/rider", "rider", person))
        expect(self.page.locator("#work")).to_be_visible()

    def pause_time(self, ahead_ms: int) -> None:
        """The page's time advances by less than `ahead_ms`. Then it passes only in `page.clock.run_for`."""
        while True:
            try:
                return self.page.clock.pause_at((self.page.evaluate("Date.now()") + ahead_ms) / 1_000)
            except Error as error:
                # The machine paused for longer than that.
                if "to the past" not in str(error):
                    raise

    # Content of the page

    @property
    def switch(self) -> Locator:
        return self.page.get_by_role("switch")

    @property
    def message(self) -> Locator:
        return self.page.locator("#availability-message")

    @property
    def panel(self) -> Locator:
        return self.page.locator("#permission")

    @property
    def announcer(self) -> Locator:
        return self.page.locator("#announcer")

    def card(self, job: Job) -> Locator:
        return self.page.locator(f'#jobs > li[data-job="{job.name}"]')

    def travel(self, job: Job) -> Locator:
        return self.page.locator(f"#travel-{job.name}")

    def navigate(self, job: Job) -> Locator:
        return self.page.locator(f"#navigate-{job.name}")

    def next(self, job: Job) -> Locator:
        """The large button for the next step."""
        return self.card(job).locator(".next")

    def undo(self, job: Job) -> Locator:
        return self.card(job).get_by_role("button", name="Undo")

    def press(self, job: Job) -> None:
        """Puts a pointer on the large button and leaves it there."""
        self.next(job).scroll_into_view_if_needed()
        box = self.next(job).bounding_box()
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.page.mouse.down()

    def complete(self, job: Job) -> None:
        """Holds the button of the final step."""
        expect(self.next(job)).to_have_text("Hold to complete")
        expect(self.next(job)).to_have_attribute("aria-disabled", "false")
        self.press(job)
        expect(self.undo(job)).to_be_visible()
        self.page.mouse.up()

    def panel_says(self, phase: str) -> Locator:
        """The panel, once it shows this phase."""
        expect(self.panel).to_be_visible()
        expect(self.panel).to_have_attribute("data-phase", phase)
        return self.panel

    # The page's use of the browser

    @property
    def locations_asked(self) -> list[str]:
        return self.page.evaluate("spy.calls")

    @property
    def opened(self) -> list[str]:
        return self.page.evaluate("spy.opened")

    def hold_question(self) -> None:
        """Keeps the browser's question open until it is answered."""
        self.page.evaluate("spy.isHolding = true")

    def answer_question(self, is_yes: bool) -> None:
        self.allow() if is_yes else self.deny()
        self.page.evaluate("spy.isHolding = false; spy.held.splice(0).forEach((ask) => ask())")

    def refuse(self, job: Job) -> Locator:
        """Activates travel mode for the first time and answers the browser's question with no. Returns the panel."""
        self.hold_question()
        self.travel(job).click()
        self.panel_says("explaining").get_by_role("button", name="Continue").click()
        self.panel_says("asking")
        self.answer_question(is_yes=False)
        return self.panel_says("refused")

    def allow(self) -> None:
        self.page.context.grant_permissions(["geolocation"])

    def deny(self) -> None:
        """Changes the permission as in the browser's settings. Playwright can only grant; the DevTools protocol can also
        revoke, as long as its session stays open."""
        session = self.page.context.browser.new_browser_cdp_session()
        for context in session.send("Target.getBrowserContexts")["browserContextIds"]:
            session.send("Browser.setPermission", {
                "permission": {"name": "geolocation"}, "setting": "denied", "browserContextId": context})

    def move(self, lat: float, lon: float) -> None:
        self.page.context.set_geolocation({"latitude": lat, "longitude": lon, "accuracy": 8})

    def hide(self, is_hidden: bool) -> None:
        """Hides the page as another app would. Pages of a headless browser are always in front."""
        self.page.evaluate("""(isHidden) => {
          Object.defineProperty(document, 'hidden', {value: isHidden, configurable: true});
          document.dispatchEvent(new Event('visibilitychange'));
        }""", is_hidden)

    def listen(self) -> None:
        """Records the page's messages with the page's clock in ms, and the gateway's messages."""
        self.page.evaluate("""() => {
          const [real, heard] = [WebSocket.prototype.send, new WeakSet()];
          [spy.sent, spy.heard] = [[], []];
          WebSocket.prototype.send = function (text) {
            if (!heard.has(this)) this.addEventListener('message', ({data}) => spy.heard.push(JSON.parse(data)));
            heard.add(this);
            spy.sent.push({at: performance.now(), message: JSON.parse(text)});
            return real.call(this, text);
          };
        }""")

    @property
    def now_ms(self) -> float:
        """The page's clock, as in the recordings of `listen`."""
        return self.page.evaluate("performance.now()")

    def said(self, kind: str) -> list[dict]:
        """Returns the page's messages of a type since `listen`."""
        return [each for each in self.page.evaluate("spy.sent") if each["message"]["type"] == kind]

    def wait_until_answered(self, kind: str, member: str) -> None:
        """Waits until the gateway accepted the first message of a type with this member; it answers in order."""
        self.page.wait_for_function("""([kind, member]) => {
          const said = spy.sent.filter(({message}) => message.type === kind);
          const first = said.findIndex(({message}) => message[member] !== undefined);
          return first >= 0 && spy.heard.filter(({type, replyTo}) => type === 'ok' && replyTo === kind).length > first;
        }""", arg=[kind, member])

    @property
    def unavailable_reasons(self) -> list[str]:
        return [each["message"]["reason"] for each in self.said("unavailable")]

    # The gateway's state

    @property
    def known(self) -> dict:
        return self.orders.ask("GET", f"riders/{self.person}")


def go_online(orders: OrderSystem, person: str) -> None:
    """Creates a rider in a zone before the page is opened, so that their tasks are there from the start."""
    orders.ask("PATCH", "riders/me/status", {"status": "online"}, bearer=orders.token("rider", person))
