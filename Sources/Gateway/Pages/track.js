// The customer's page: follows one job and shows it. The connection knows nothing of the page, and what is shown is
// derived from one state, so that a late, lost or repeated message leaves nothing behind.

const STALE_AFTER = 30_000;        // ms without a position until it is called old
const SMOOTHING = 900;             // ms in which the marker glides to a new position
const RECONNECT_FIRST = 3_000;     // ms, then full jitter up to
const RECONNECT_LONGEST = 30_000;
const SILENCE = 40_000;            // ms without any message, in spite of our pings, until the connection is given up
const PING = 20_000;
const PROBE = 4_000;               // ms for an answer once the network is back

const job = decodeURIComponent(location.pathname.split('/').pop());
const link = location.hash.slice(1);

const state = {
  snapshot: null,    // the last whole state
  eta: null,         // the newest word on the arrival
  position: null,    // the newest location message, until it may not be shown any more
  ended: null,       // reason, once following has ended
  online: false,
  degraded: false,   // the gateway hears nothing from Redis: what is shown may be old
  refused: null,     // a sentence, when coming back is of no use
  clockOffset: 0,    // the server's clock minus ours, ms
};

// ---- the connection ----

let socket = null;
let attempts = 0;
let lastHeard = 0;
let planned;

/** Opens a connection unless there is one; whatever attempt was planned is this one. */
function connect() {
  clearTimeout(planned);
  if (socket || isOver()) return;
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
  socket = new WebSocket(`${scheme}//${location.host}/v1`, 'enroute.v1');
  socket.onopen = () => say({type: 'auth', link});
  socket.onmessage = (event) => { lastHeard = Date.now(); heard(JSON.parse(event.data)); };
  socket.onclose = (event) => closed(event.code);
}

function say(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

/** When the gateway wants us back, if it said so. */
let comeBackAt = null;

/** Nothing more comes: neither a message nor a network that is back opens another connection. */
const isOver = () => Boolean(state.ended || state.refused);

/** Coming back is of no use: where somebody was is not shown any more either. */
function refuse(sentence) {
  state.refused = sentence;
  take(null, true);
}

function closed(code) {
  state.online = false;
  socket = null;
  if (code >= 4500) {
    refuse(REFUSALS[code] ?? 'This page can not be shown at the moment.');
  } else if (!isOver()) {
    const ceiling = attempts === 0 ? RECONNECT_FIRST : Math.min(RECONNECT_LONGEST, 1000 * 2 ** attempts);
    attempts += 1;
    const wait = comeBackAt === null
      ? Math.random() * ceiling : Math.max(0, comeBackAt - Date.now()) + Math.random() * 300;
    planned = setTimeout(connect, wait);
    comeBackAt = null;
  }
  render();
}

setInterval(() => {
  if (!socket || socket.readyState !== WebSocket.OPEN) return;
  if (Date.now() - lastHeard > SILENCE) socket.close();
  else if (Date.now() - lastHeard > PING) say({type: 'ping'});
}, 5_000);

/** The network is back: connect at once, or ask whether the connection survived. */
addEventListener('online', () => {
  if (!socket) {
    attempts = 0;
    connect();
    return;
  }
  const asked = Date.now();
  say({type: 'ping'});
  setTimeout(() => { if (lastHeard < asked) socket?.close(); }, PROBE);
});
addEventListener('offline', () => { state.online = false; render(); });

// ---- what is heard ----

/** Asks for the job, from where we were. */
function subscribe() {
  const seen = state.snapshot;
  say({type: 'subscribe', job, ...(seen && {since: {epoch: seen.epoch, id: seen.id}})});
}

function heard(message) {
  // Whatever is heard shows that the connection stands.
  state.online = state.snapshot !== null;
  switch (message.type) {
    case 'welcome': {
      state.clockOffset = message.serverTime - Date.now();
      attempts = 0;
      state.degraded = false;
      subscribe();
      break;
    }
    // Both are the whole state: while we were away another rider may have come, and travel mode have ended.
    case 'subscribed':
    case 'reset':
      state.online = true;
      state.snapshot = message.snapshot;
      state.eta = message.snapshot.eta ?? null;
      take(message.snapshot.position, true);
      break;
    case 'status':
      Object.assign(state.snapshot, {
        status: message.status, statusAt: message.at, epoch: message.epoch, id: message.id,
      });
      announce(headline());
      break;
    case 'location':
      state.snapshot.tracking = 'live';
      state.snapshot.dark = undefined;
      take(message);
      break;
    case 'eta':
      state.eta = message;
      break;
    case 'tracking':
      state.snapshot.tracking = message.state;
      state.snapshot.reason = message.reason;
      if (message.state !== 'live' && message.state !== 'stale') {
        take(null, true);
        state.eta = null;
      }
      announce(headline());
      break;
    case 'dark': state.snapshot.dark = message.text; break;
    case 'ended':
      state.ended = message.reason;
      take(null, true);
      announce(headline());
      socket.close(1000);
      break;
    case 'error':
      if (message.re !== 'subscribe') break;
      if (message.retry) {
        setTimeout(subscribe, message.retryIn ?? 1000);
      } else {
        refuse('There is nothing to follow here.');
        socket.close(1000);
      }
      break;
    case 'degraded': state.degraded = true; break;
    case 'restored': state.degraded = false; break;
    case 'goaway': comeBackAt = Date.now() + message.retryIn; break;
  }
  render();
}

/** A newer position is kept; an older one never takes its place, unless everything begins anew. */
function take(position, anew = false) {
  if (position === null || position === undefined) {
    if (anew) { state.position = null; map.forget(); }
    return;
  }
  if (!anew && state.position && BigInt(position.id) <= BigInt(state.position.id)) return;
  state.position = position;
  map.show(position, anew);
}

// ---- words ----

const WORDS = {
  pending_vendor_acceptance: 'Waiting for vendor to accept your order', accepted: 'Your order is accepted',
  preparing: 'Your order is being prepared', ready_for_pickup: 'Ready for pickup', in_transit: 'Your order is on its way',
  delivered: 'Delivered', allocation_failed: 'We\u2019re having trouble finding a rider',
  assigned: 'A technician is assigned', on_the_way: 'The technician is on the way',
  work_in_progress: 'The technician has arrived.', completed: 'The visit is completed', cancelled: 'Cancelled',
};

/** Closes after which nobody comes back. */
const REFUSALS = {
  4500: 'This link is not valid any more.',
  4502: 'This link is not valid any more.',
  4504: 'This link is open in as many places as it may be. Close it in one of them, then load this page again.',
};

/** Ends of following that the job's status does not explain. */
const ENDS = {
  revoked: 'You can not follow this any more.',
  reassigned: 'You can not follow this any more.',
};

/** Why nothing is on the map although somebody is on the way. */
const PAUSES = {
  time_limit: 'Live location has ended: it may be shared for a limited time only.',
  reassigned: 'Somebody else is coming now. Live location will be available once they enable it.',
  deactivated: 'Live location is paused. It will be back once it is switched on again.',
  arrived: 'The journey has ended at your address.',
};

/** Why nothing new is seen; other reasons are no news to a customer. */
const DARKNESS = {
  dark_network: 'There is no connection to the phone at the moment.',
  dark_no_fix: 'The phone is searching for its position.',
  dark_permission_denied: 'The phone does not share its location at the moment.',
  dark_services_disabled: 'Location is switched off on the phone at the moment.',
  dark_low_battery: 'The phone\u2019s battery is low.',
  dark_navigation_handoff: 'A navigation app is in use. The location may come less often.',
  dark_hidden: 'Location is paused.',
};

const isTravelling = () => ['on_the_way', 'in_transit'].includes(state.snapshot?.status);
const isTracked = () => isTravelling() && ['live', 'stale'].includes(state.snapshot.tracking) && state.position;

function headline() {
  if (state.refused) return state.refused;
  if (ENDS[state.ended]) return ENDS[state.ended];
  if (!state.snapshot) return 'One moment \u2026';
  return WORDS[state.snapshot.status] ?? state.snapshot.status;
}

function detail() {
  if (!state.snapshot || state.refused || ENDS[state.ended]) return '';
  if (state.degraded) return 'Updates are delayed at the moment. What you see may be a little old.';
  if (isTravelling() && !isTracked()) {
    const {reason, travelDeadline} = state.snapshot;
    // A snapshot gives no reason, but the time of the limit.
    const isTimeUp = travelDeadline && travelDeadline <= Date.now() + state.clockOffset;
    const pause = PAUSES[isTimeUp ? 'time_limit' : reason];
    if (pause) return pause;
    if (state.snapshot.tracking === 'waiting' && DARKNESS[state.snapshot.dark]) return DARKNESS[state.snapshot.dark];
    if (state.snapshot.tracking === 'ended') return 'Live location is switched off.';
    return state.snapshot.kind === 'service'
      ? 'Technician is on the way. Live location will be available once the technician enables it.'
      : 'Live location will be available once the rider enables it.';
  }
  if (isTracked() && state.snapshot.tracking === 'stale') {
    return DARKNESS[state.snapshot.dark] ?? 'The location is not up to date. You see where it was last.';
  }
  return 'Since ' + new Intl.DateTimeFormat(undefined, {hour: 'numeric', minute: '2-digit'}).format(state.snapshot.statusAt);
}

function ago(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const format = new Intl.RelativeTimeFormat(undefined, {numeric: 'auto'});
  return seconds < 60 ? format.format(-seconds, 'second') : format.format(-Math.floor(seconds / 60), 'minute');
}

const age = () => Date.now() + state.clockOffset - state.position.received;

/** Great-circle distance, m. */
function distance(a, b) {
  const radians = Math.PI / 180;
  const h = Math.sin((b.lat - a.lat) * radians / 2) ** 2
    + Math.cos(a.lat * radians) * Math.cos(b.lat * radians) * Math.sin((b.lon - a.lon) * radians / 2) ** 2;
  return 2 * 6_371_008.8 * Math.asin(Math.sqrt(h));
}

/** Degrees clockwise from north. */
function bearing(a, b) {
  const radians = Math.PI / 180;
  const y = Math.sin((b.lon - a.lon) * radians) * Math.cos(b.lat * radians);
  const x = Math.cos(a.lat * radians) * Math.sin(b.lat * radians)
    - Math.sin(a.lat * radians) * Math.cos(b.lat * radians) * Math.cos((b.lon - a.lon) * radians);
  return Math.atan2(y, x) / radians;
}

function twin() {
  const destination = state.snapshot.destination;
  if (!destination) return '';
  const metres = distance(state.position, destination);
  const far = metres < 1000
    ? new Intl.NumberFormat(undefined, {style: 'unit', unit: 'meter'}).format(Math.round(metres / 10) * 10)
    : new Intl.NumberFormat(undefined, {style: 'unit', unit: 'kilometer', maximumFractionDigits: 1}).format(metres / 1000);
  return `${state.snapshot.kind === 'service' ? 'Technician' : 'Rider'} is ${far} away.`;
}

/** When somebody arrives, by our clock, whoever's zone that is; counts down by itself. */
function arrival() {
  const {eta} = state;
  if (!eta) return '';
  const who = state.snapshot.kind === 'service' ? 'The technician' : 'Your order';
  if (eta.state === 'recalculating') return 'ETA recalculating...';
  if (eta.state !== 'ok') return eta.after ? `${who} comes after another stop.` : 'ETA unavailable';
  const minutes = Math.ceil((eta.arrivesAt - Date.now() - state.clockOffset) / 60_000);
  if (minutes < 1) return `${who} arrives any moment.`;
  const at = new Intl.DateTimeFormat(undefined, {hour: 'numeric', minute: '2-digit'})
    .format(eta.arrivesAt - state.clockOffset);
  return `${who} arrives in about ${minutes} min, at ${at}${eta.after ? ', after another stop' : ''}.`;
}

// ---- what is shown ----

const element = (id) => document.getElementById(id);
const show = (id, text) => { if (element(id).textContent !== text) element(id).textContent = text; };

let announced = 0;
function announce(text) {
  if (Date.now() - announced < 2_000 && element('announcer').textContent === text) return;
  announced = Date.now();
  show('announcer', text);
}

function render() {
  show('headline', headline());
  show('detail', detail());
  element('offline').hidden = state.online || isOver() || !state.snapshot;
  element('tracking').hidden = !isTracked();
  if (!isTracked()) return;
  map.open();
  // The gateway says so; while it can not be heard our own clock does.
  const isStale = state.snapshot.tracking === 'stale' || age() > STALE_AFTER;
  map.mark(isStale);
  show('age', isStale || !state.online ? `Last updated ${ago(age())}` : `Updated ${ago(age())}`);
  show('arrival', arrival());
  show('twin', twin());
}
setInterval(render, 1_000);

// ---- the map ----

const map = {
  leaflet: null, rider: null, home: null, from: null, to: null, since: 0, heading: 0, follows: true,

  open() {
    if (this.leaflet) return;
    this.leaflet = L.map('map', {tap: false, preferCanvas: true, attributionControl: false, zoomSnap: 0.5});
    L.control.scale().addTo(this.leaflet);
    this.drawStreets();
    const destination = state.snapshot.destination;
    const bounds = L.latLngBounds([[state.position.lat, state.position.lon]]);
    if (destination) {
      const svg = '<svg viewBox="-14 -14 28 28" width="36" height="36" aria-hidden="true">'
        + '<path class="body" d="M0-12 12 0H9v11H-9V0h-3z"/></svg>';
      this.home = L.marker([destination.lat, destination.lon], {
        icon: L.divIcon({className: 'home', html: svg, iconSize: [36, 36]}), alt: 'Your address', keyboard: false,
      }).addTo(this.leaflet);
      bounds.extend([destination.lat, destination.lon]);
    }
    this.leaflet.fitBounds(bounds, {padding: [40, 40], maxZoom: 17, animate: false});
    this.leaflet.on('dragstart zoomstart', () => { if (!this.moving) { this.follows = false; element('follow').hidden = false; } });
    element('follow').onclick = () => { this.follows = true; element('follow').hidden = true; };
    this.show(state.position, true);
    requestAnimationFrame(() => this.frame());
  },

  async drawStreets() {
    const answer = await fetch('/assets/streets.geojson');
    if (answer.status !== 200) return;
    const colour = getComputedStyle(document.documentElement).getPropertyValue('--street').trim();
    L.geoJSON(await answer.json(), {style: {color: colour, weight: 1.5}, interactive: false}).addTo(this.leaflet);
  },

  show(position, atOnce) {
    if (!this.leaflet) return;
    const to = {lat: position.lat, lon: position.lon};
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    // A phone that does not say where it heads still shows it by moving.
    const moved = this.to && distance(this.to, to) > 3;
    if (position.hdg !== undefined && (position.spd ?? 2) > 1.5) this.heading = position.hdg;
    else if (position.hdg === undefined && moved && !atOnce) this.heading = bearing(this.to, to);
    this.from = atOnce || still || !this.to ? to : this.here();
    this.to = to;
    this.since = performance.now();
    if (!this.rider) {
      const svg = '<svg viewBox="-14 -14 28 28" width="40" height="40" aria-hidden="true">'
        + '<path class="body" d="M0-13 9 11 0 6-9 11z"/></svg>';
      this.rider = L.marker([to.lat, to.lon], {
        icon: L.divIcon({className: 'rider', html: svg, iconSize: [40, 40]}), alt: 'Technician', zIndexOffset: 1000,
        keyboard: false,
      }).addTo(this.leaflet);
    }
  },

  here() {
    const part = Math.min(1, (performance.now() - this.since) / SMOOTHING);
    return {
      lat: this.from.lat + (this.to.lat - this.from.lat) * part,
      lon: this.from.lon + (this.to.lon - this.from.lon) * part,
    };
  },

  frame() {
    if (this.rider && this.to) {
      const here = this.here();
      this.rider.setLatLng([here.lat, here.lon]);
      const icon = this.rider.getElement()?.firstChild;
      if (icon) icon.style.transform = `rotate(${this.heading}deg)`;
      if (this.follows && !this.leaflet.getBounds().pad(-0.02).contains([here.lat, here.lon])) {
        this.moving = true;
        this.leaflet.panTo([here.lat, here.lon], {animate: false});
        this.moving = false;
      }
    }
    requestAnimationFrame(() => this.frame());
  },

  mark(isStale) { this.rider?.getElement()?.classList.toggle('stale', isStale); },

  forget() {
    this.rider?.remove();
    this.rider = this.from = this.to = null;
    this.heading = 0;
  },
};

if (link) connect(); else { state.refused = 'This link is not complete.'; }
addEventListener('load', render);
