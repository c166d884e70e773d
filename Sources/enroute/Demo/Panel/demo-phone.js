// The receiver of the rider's phone on the demo's stage. Only the demo's rider page loads this script. It replaces the
// browser's location with the readings that the stage sends, and presses the buttons that the stage names. Everything else is
// the real page. In a separate tab, the page uses the location of the device.

(() => {
  const stage = document.querySelector('meta[name="enroute-stage"]')?.content;
  if (!stage || window.parent === window) return;

  const DENIED = 1;
  /** ms between two taps, because the page ignores a tap right after a change. */
  const BETWEEN_TAPS = 2_500;
  /** ms that a tap can be seen. */
  const SEEN = 700;

  const permission = new EventTarget();
  permission.state = 'granted';
  let position = null;
  let next = 1;
  const watches = new Map();
  const waiting = [];

  const refuse = (failed) => failed?.({code: DENIED, message: 'denied', PERMISSION_DENIED: DENIED});

  const geolocation = {
    watchPosition(found, failed) {
      const id = next++;
      watches.set(id, {found, failed});
      if (permission.state === 'denied') setTimeout(() => refuse(failed));
      return id;
    },
    clearWatch: (id) => watches.delete(id),
    getCurrentPosition(found, failed) {
      if (permission.state === 'denied') setTimeout(() => refuse(failed));
      else if (position) setTimeout(() => found(position));
      else waiting.push({found, failed});
    },
  };
  Object.defineProperty(navigator, 'geolocation', {value: geolocation, configurable: true});
  const query = navigator.permissions?.query.bind(navigator.permissions);
  if (query) {
    navigator.permissions.query = (which) => (which?.name === 'geolocation' ? Promise.resolve(permission) : query(which));
  }

  function allow(state) {
    if (permission.state === state) return;
    permission.state = state;
    permission.dispatchEvent(new Event('change'));
    if (state !== 'denied') return;
    for (const {failed} of [...watches.values(), ...waiting.splice(0)]) refuse(failed);
  }

  function receive({lat, lon, acc, spd, hdg, at}) {
    position = {
      coords: {latitude: lat, longitude: lon, accuracy: acc, speed: spd, heading: hdg ?? null, altitude: null}, timestamp: at,
    };
    for (const {found} of [...watches.values(), ...waiting.splice(0)]) found(position);
  }

  let tappedAt = -Infinity;
  /** Whether travel mode has been on during this trip. Whoever deactivates it later keeps it off. */
  let hasTravelled = false;

  /** The button to press, if the page shows it. */
  function buttonFor(name) {
    if (name !== 'travel') return document.querySelector(`#jobs [data-verb="${CSS.escape(name)}"]`);
    hasTravelled ||= Boolean(document.querySelector('#jobs .travel[data-state="on"]'));
    return hasTravelled ? null : document.querySelector('#jobs .travel[data-state="off"]:not([hidden])');
  }

  function press(name) {
    if (name !== 'travel') hasTravelled = false;
    const button = buttonFor(name);
    const now = performance.now();
    if (!button || button.disabled || now - tappedAt < BETWEEN_TAPS) return;
    tappedAt = now;
    button.scrollIntoView({block: 'nearest'});
    show(button);
    // The button of the final step must be held, but a click without a pointer performs the step at once.
    button.click();
  }

  /** Shows where the finger is. */
  function show(button) {
    const {left, top, width, height} = button.getBoundingClientRect();
    const finger = document.createElement('span');
    finger.setAttribute('aria-hidden', 'true');
    finger.style.cssText = `position:fixed;left:${left + width / 2 - 24}px;top:${top + height / 2 - 24}px;`
      + 'width:48px;height:48px;border-radius:50%;background:rgb(255 255 255 / 55%);'
      + 'box-shadow:0 0 0 3px rgb(0 0 0 / 35%);pointer-events:none;z-index:9999';
    document.body.append(finger);
    setTimeout(() => finger.remove(), SEEN);
  }

  addEventListener('message', ({origin, source, data}) => {
    if (origin !== stage || source !== window.parent || data?.type !== 'enroute-phone') return;
    allow(data.permission === 'denied' ? 'denied' : 'granted');
    if (data.fix) receive(data.fix);
    if (typeof data.press === 'string') press(data.press);
    window.parent.postMessage({type: 'enroute-phone-ready'}, stage);
  });
})();
