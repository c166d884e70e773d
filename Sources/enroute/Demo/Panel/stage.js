// The demo's stage: shows the pages of the customer, the rider and the desk, passes the readings of the simulated receiver to
// the rider's page, and causes faults. It requests all its data from the demo once a second.

const element = (id) => document.getElementById(id);
const POLL_INTERVAL = 1_000;      // ms
const GIVE_UP = 5_000;            // ms to wait for the state
/** ms for which the rider's page counts as ready after it answered. */
const READY_FOR = 4_000;
/** The sizes that the pages in the frames believe to have, in CSS pixels. */
const PHONE = {width: 390, height: 800};
const DESK = {width: 1_280};
/** Below this scale a page lays itself out for a narrower screen instead, to stay readable. */
const SMALLEST = 0.55;

export const times = (what, count) => (
  count === 0 ? `never ${what}` : count === 1 ? `${what} once` : `${what} ${count} times`);
export const ms = (value) => (Number.isFinite(value) ? `${Math.round(value)} ms` : '–');

/** What the demo shows of its gateways: `A up, killed once; B restarts`. */
export const gatewayText = (gateways) => gateways
  .map(({name, isUp, kills}) => `${name} ${isUp ? 'up' : 'restarts'}${kills ? `, ${times('killed', kills)}` : ''}`).join(' · ');

/** Writing the same text again would make a screen reader repeat it. */
function put(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

async function ask(path, body) {
  const init = {signal: AbortSignal.timeout(GIVE_UP)};
  if (body !== undefined) {
    Object.assign(init, {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body)});
  }
  const trouble = element('trouble');
  try {
    const answer = await fetch(path, init);
    if (answer.status === 409) return null;
    if (!answer.ok) throw new Error(`${path} returned ${answer.status}.`);
    put(trouble, '');
    trouble.hidden = true;
    return answer.status === 204 ? null : await answer.json();
  } catch {
    put(trouble, 'The demo isn’t responding. Has it ended? Start it again with make run.');
    trouble.hidden = false;
    return null;
  }
}

// ---- the frames ----

/** The features that each page may use in its frame. The frame starts at the stage's origin, so the page's has to be named. */
const ALLOWED = {customer: ['web-share', 'clipboard-write'], rider: ['screen-wake-lock'], desk: ['clipboard-write']};
let openOrder = 0;
/** Whether the rider's page is in its frame. */
let isLoaded = false;
let readyAt = -Infinity;

/** Opens the pages: the rider's and the desk once, the customer's for each order. */
function open({origins, order}) {
  for (const [page, features] of Object.entries(ALLOWED)) {
    element(page).allow = features.map((feature) => `${feature} ${origins[page]}`).join('; ');
  }
  for (const page of ['rider', 'desk']) {
    if (element(page).getAttribute('src')) continue;
    if (page === 'rider') element(page).addEventListener('load', () => { isLoaded = true; });
    element(page).src = `/open/${page}`;
  }
  if (!order || order.number === openOrder) return;
  openOrder = order.number;
  element('customer').src = `/open/customer?order=${order.number}`;
  checkCertificate(origins);
}

let isChecked = false;
/** With TLS, a frame stays empty until somebody has accepted the certificate. */
async function checkCertificate(origins) {
  if (isChecked || !origins.customer.startsWith('https:')) return;
  isChecked = true;
  const pages = ['customer', 'rider', 'desk'];
  // A file that gateways give to pages of every origin.
  const isTrusted = await Promise.all(pages.map((page) => fetch(`${origins[page]}/assets/enroute-timing.js`)
    .then(() => true, () => false)));
  for (const page of pages) element(`accept-${page}`).href = `${origins[page]}/api/v1/texts`;
  element('certificate').hidden = isTrusted.every(Boolean);
}

/** Sends the rider's page what its receiver reads. */
function locate({origins, phone}) {
  if (isLoaded) element('rider').contentWindow?.postMessage({type: 'enroute-phone', ...phone}, origins.rider);
}

addEventListener('message', ({source, data}) => {
  if (source === element('rider').contentWindow && data?.type === 'enroute-phone-ready') readyAt = performance.now();
});

/** Scales each page to its frame. */
function fit() {
  for (const frame of document.querySelectorAll('iframe')) {
    const {clientWidth: width, clientHeight: height} = frame.parentElement;
    const size = frame.id === 'desk' ? DESK : PHONE;
    const scale = Math.min(1, Math.max(SMALLEST, width / size.width));
    frame.style.setProperty('--scale', String(scale));
    frame.style.setProperty('--width', `${width / scale}px`);
    frame.style.setProperty('--height', `${height / scale}px`);
  }
}

// ---- the buttons ----

const buttons = new Map();

function makeButton({id}) {
  const [item, button, expectation, result] = ['li', 'button', 'p', 'p'].map((name) => document.createElement(name));
  button.type = 'button';
  Object.assign(expectation, {id: `expect-${id}`, className: 'expectation'});
  Object.assign(result, {id: `result-${id}`, className: 'result'});
  button.setAttribute('aria-describedby', expectation.id);
  result.setAttribute('role', 'status');
  item.append(button, expectation, result);
  button.addEventListener('click', async () => {
    if (button.getAttribute('aria-disabled') === 'true') return;
    await ask(`/faults/${id}`, {});
    poll();
  });
  element('faults').append(item);
  return {item, button, expectation, result};
}

export function resultText({isRunning, result}) {
  return isRunning ? 'Happening now…' : result ?? '';
}

const REAL = 'All of it is real: processes are killed and connections are cut.';

function showFaults(faults, order) {
  put(element('hint'), order?.isUnderway ? REAL : `${REAL} The rider’s phone can be broken while Rosa is on the way.`);
  for (const fault of faults) {
    if (!buttons.has(fault.id)) buttons.set(fault.id, makeButton(fault));
    const {item, button, expectation, result} = buttons.get(fault.id);
    put(button, fault.title);
    put(expectation, fault.expectation);
    // A disabled button would lose focus.
    button.setAttribute('aria-disabled', String(!fault.isPossible));
    item.dataset.state = fault.isRunning ? 'running' : fault.result ? 'measured' : 'idle';
    put(result, resultText(fault));
  }
}

// ---- the state ----

function show(state) {
  if (!state) return;
  open(state);
  locate(state);
  put(element('plot'), state.plot);
  if (document.activeElement !== element('speed')) element('speed').value = state.speed;
  put(element('speed-value'), `× ${state.speed}`);
  element('again').hidden = !state.order?.isOver;
  put(element('town'), `${state.riders} riders · ${state.orders} orders`);
  showFaults(state.faults, state.order);
  put(element('p50'), ms(state.p50Ms));
  put(element('p95'), ms(state.p95Ms));
  put(element('received'), state.received.toLocaleString('en'));
  put(element('gateways'), gatewayText(state.gateways));
  put(element('redis'), times('restarted', state.redisRestarts));
}

let isAsking = false;
async function poll() {
  if (isAsking) return;
  isAsking = true;
  try {
    show(await ask(`/state?phone=${performance.now() - readyAt < READY_FOR ? 1 : 0}`));
  } finally {
    isAsking = false;
  }
}

element('speed').addEventListener('input', (event) => {
  put(element('speed-value'), `× ${event.target.value}`);
  ask('/set', {speed: Number(event.target.value)});
});
element('again').addEventListener('click', async () => {
  await ask('/again', {});
  element('plot').focus?.();
  poll();
});
new ResizeObserver(fit).observe(element('stage'));
addEventListener('resize', fit);
setInterval(poll, POLL_INTERVAL);
fit();
poll();
