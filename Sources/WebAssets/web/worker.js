// The service worker of all pages. It caches what a page needs to open offline, and the last state of a job, so that a
// customer in a lift can still read "on its way". It never caches positions, addresses or who is coming, because a cache
// is a file that outlives the journey. Requests that are not listed here pass unchanged: the APIs, tiles, other origins.

const SHELL = 'enroute-shell-1';
const STATES = 'enroute-states-1';
const PATIENCE = 3_000;                  // ms to wait for the network before a cached response is used
const KEEP = 24 * 3_600_000;             // ms for which a cached state is useful
const MOST_STATES = 20;
const REPEATED = 600_000;                // ms in which a message may come twice: its sender repeats it without a response
/** The address of the gateway, which may have a path prefix, with a slash at its end: this file is in its top folder. */
const GATEWAY = new URL('.', location);

addEventListener('install', () => skipWaiting());

addEventListener('activate', (event) => event.waitUntil((async () => {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith('enroute-') && ![SHELL, STATES].includes(name))
    .map((name) => caches.delete(name)));
  await clients.claim();
})()));

/** When somebody signs out, all cached states are deleted. */
addEventListener('message', (event) => {
  if (event.data?.type === 'forget') event.waitUntil(caches.delete(STATES));
  if (event.data?.type === 'near') event.waitUntil(expect(event.data));
});

/** Where that is kept: track-push.js looks there. */
const near = (job) => `${GATEWAY}near/${job}`;
/** Where it is kept once it was shown, until the job's page is opened later than `REPEATED`. */
const shown = (job) => `${near(job)}/shown`;

/** Keeps what to show when a rider is near, in the reader's language. Without an address, it forgets that. */
async function expect({job, title, body, url}) {
  const cache = await caches.open(STATES);
  if (url) await cache.put(near(job), new Response(JSON.stringify({title, body, url})));
  else await cache.delete(near(job));
}

/** The gateway's message contains only a job. */
addEventListener('push', (event) => event.waitUntil((async () => {
  let job = '';
  try { ({job} = event.data.json()); } catch { /* A message of somebody else; browsers insist on showing something. */ }
  const cache = await caches.open(STATES);
  const first = await cache.match(near(job));
  const kept = await (first ?? await cache.match(shown(job)))?.json() ?? {};
  const {title = 'About 2 minutes away', body = '', url = `${GATEWAY}track/${job}`} = kept;
  if (first) await cache.put(shown(job), new Response(JSON.stringify({...kept, at: Date.now()})));
  await cache.delete(near(job));
  await registration.showNotification(title, {body, tag: `near-${job}`, icon: `${GATEWAY}assets/icon-192.png`, data: {url}});
})()));

/** Opens the page of the job, or the tab that shows it already. */
addEventListener('notificationclick', (event) => {
  event.notification.close();
  const {url} = event.notification.data;
  const path = new URL(url, location.origin).pathname;
  event.waitUntil((async () => {
    const tabs = await clients.matchAll({type: 'window', includeUncontrolled: true});
    const tab = tabs.find((one) => new URL(one.url).pathname === path);
    await (tab ? tab.focus() : clients.openWindow(url));
  })());
});

addEventListener('fetch', (event) => {
  const {request} = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || !url.href.startsWith(GATEWAY)) return;
  const path = url.pathname.slice(GATEWAY.pathname.length);
  const isTracking = /^track\/[^/]+$/.test(path);
  if (request.headers.has('authorization')) {
    if (isTracking) event.respondWith(state(request, url));
  } else if (request.mode === 'navigate') {
    // One cached page serves all jobs: without a credential the page contains no state.
    if (isTracking) event.respondWith(page(request, `${GATEWAY}track/`));
    else if (['rider', 'ops'].includes(path)) event.respondWith(page(request, url.pathname));
  } else if (isAsset(path)) {
    event.respondWith(asset(request, url.pathname + url.search));
  }
});

const isAsset = (path) => path === 'manifest.webmanifest'
  || path.startsWith('assets/') && !path.startsWith('assets/tiles/');

/**
 * Whether the page that was opened last came from the cache. Then its assets come from the cache too, so that versions match.
 */
let isKept = false;

/** Loads a page from the network, or from the cache if the network takes too long. */
async function page(request, key) {
  const cache = await caches.open(SHELL);
  const answer = fetch(request);
  const old = await isLate(answer) ? await cache.match(key) : undefined;
  isKept = old !== undefined;
  return old ?? newest(cache, key, await answer);
}

/** Loads an asset from where its page came from, and from the other place if it is missing there. */
async function asset(request, key) {
  const cache = await caches.open(SHELL);
  const old = await cache.match(key);
  if (isKept && old) return old;
  try {
    return await newest(cache, key, await fetch(request));
  } catch (error) {
    if (old) return old;
    throw error;
  }
}

async function newest(cache, key, response) {
  if (response.ok) await cache.put(key, response.clone());
  return response;
}

/** Whether the network is too slow or fails. If nothing is cached, the request continues to wait. */
function isLate(answer) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), PATIENCE);
    answer.then(() => resolve(false), () => resolve(true)).finally(() => clearTimeout(timer));
  });
}

/** Loads the page of a job with its state, or the state cached for the same person if the network fails and the page accepts it. */
async function state(request, url) {
  const key = `/kept${url.pathname}/${await owner(request.headers.get('authorization'))}`;
  const cache = await caches.open(STATES);
  const answer = fetch(request);
  const isKeptUseful = request.cache !== 'reload';
  const old = isKeptUseful && await isLate(answer) ? await kept(cache, key) : null;
  if (old) return old;
  const response = await answer;
  if (isKeptUseful && response.status === 503) return await kept(cache, key) ?? response;
  if ([401, 404].includes(response.status)) await cache.delete(key);
  if (response.ok) await keep(cache, key, response.clone());
  const message = shown(url.pathname.split('/').pop());
  if (Date.now() - (await (await cache.match(message))?.json())?.at > REPEATED) await cache.delete(message);
  return response;
}

async function keep(cache, key, response) {
  const html = withoutPlaces(await response.text());
  if (html === null) return;
  const headers = new Headers(response.headers);
  headers.set('Enroute-Kept', String(Date.now()));
  await cache.delete(key);
  await cache.put(key, new Response(html, {headers}));
  const keys = await cache.keys();
  await Promise.all(keys.slice(0, Math.max(0, keys.length - MOST_STATES)).map((old) => cache.delete(old)));
}

async function kept(cache, key) {
  const response = await cache.match(key);
  if (!response) return null;
  if (Date.now() - Number(response.headers.get('Enroute-Kept')) < KEEP) return response;
  await cache.delete(key);
  return null;
}

/** Identifies the owner of a credential: the person of a token, so that a newer token matches, or the digest of a link. */
async function owner(authorization) {
  try {
    const payload = authorization.split(' ')[1].split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    const {sub, role} = JSON.parse(atob(payload));
    if (sub) return `${role}-${sub}`;
  } catch { /* The credential is a link. */ }
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(authorization));
  return Array.from(new Uint8Array(digest).slice(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Removes who is coming, the positions of rider and customer and everything that reveals them; null if this is not a job's page. */
function withoutPlaces(html) {
  const first = /(<script type="application\/json" id="first">)(.*?)(<\/script>)/s;
  const json = first.exec(html)?.[2];
  if (!json) return null;
  const {position, positionAgeMs, destination, eta, unavailable, travelDeadline, riderCard, ...rest} = JSON.parse(json);
  if (['live', 'stale'].includes(rest.tracking)) Object.assign(rest, {tracking: 'waiting', text: 'waiting'});
  const text = JSON.stringify({...rest, position: null, kept: Date.now()}).replaceAll('<', '\\u003c');
  // Of the page's other data, only the times of the steps are cached.
  const more = /(<script type="application\/json" id="more">)(.*?)(<\/script>)/s;
  return html.replace(first, (_, open, __, close) => open + text + close)
    .replace(more, (_, open, json, close) => `${open}${JSON.stringify({times: JSON.parse(json).times})}${close}`);
}
