// The service worker, in an isolated context: what it caches, for whom, and what it never caches.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import test from 'node:test';
import vm from 'node:vm';

import {Clock, settled} from './clock.mjs';

const SOURCE = readFileSync(new URL('../../Sources/WebAssets/web/worker.js', import.meta.url), 'utf8');
const ORIGIN = 'https://enroute.example';

/** A browser's caches by name. */
class Caches {
  all = new Map();
  async open(name) {
    if (!this.all.has(name)) this.all.set(name, new Map());
    const entries = this.all.get(name);
    const key = (request) => typeof request === 'string' ? request : request.key;
    return {
      put: async (request, response) => {
        entries.set(key(request), {
          status: response.status, headers: [...response.headers], text: await response.text(),
        });
      },
      match: async (request) => {
        const kept = entries.get(key(request));
        return kept && new Response(kept.text, {status: kept.status, headers: kept.headers});
      },
      delete: async (request) => entries.delete(key(request)),
      keys: async () => [...entries.keys()].map((name) => ({key: name})),
    };
  }
  async keys() { return [...this.all.keys()]; }
  async delete(name) { return this.all.delete(name); }
  get text() { return JSON.stringify([...this.all].map(([name, entries]) => [name, [...entries]])); }
}

/** A worker and its network, which gives the responses of `network`. @param prefix the path below which the gateway is */
function worker(network, prefix = '') {
  const listeners = {};
  const caches = new Caches();
  const clock = new Clock();
  const world = {
    caches, network, clock, asked: 0, now: Date.now(), notified: [],
    addEventListener: (type, listener) => { listeners[type] = listener; },
  };
  const context = vm.createContext({
    ...world, addEventListener: world.addEventListener, location: new URL(`${ORIGIN}${prefix}/worker.js`), skipWaiting: () => {},
    clients: {claim: async () => {}}, ...clock.timers, URL, Response, Headers, TextEncoder, crypto, atob,
    Date: {now: () => world.now},
    registration: {showNotification: async (title, {body, data}) => { world.notified.push([title, body, data.url]); }},
    fetch: async (request) => { world.asked += 1; return world.network(request); },
  });
  vm.runInContext(SOURCE, context);
  /** The response, or undefined for requests that the worker does not handle. */
  world.get = async (path, {authorization, cache, mode = 'cors', method = 'GET', origin = ORIGIN} = {}) => {
    let answer;
    const headers = new Headers(authorization ? {authorization} : {});
    listeners.fetch({
      request: {url: origin + path, cache, method, mode, headers}, respondWith: (promise) => { answer = promise; },
    });
    return answer;
  };
  world.dispatch = async (type, event = {}) => {
    const waits = [];
    listeners[type]({...event, waitUntil: (promise) => waits.push(promise)});
    await Promise.all(waits);
  };
  return world;
}

const bearer = (person, jti = '1') => {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `Bearer ${part({alg: 'ES256'})}.${part({sub: person, role: 'customer', jti})}.c2ln`;
};
const ANNA = bearer('anna');
const snapshot = {
  job: 'j1', kind: 'service', status: 'on_the_way', tracking: 'live', text: 'live', steps: [], epoch: 'e', id: '1-0',
  position: {lat: 41.9123, lon: 12.5456, id: '1795248617611000'}, positionAgeMs: 12, missed: [],
  riderCard: {name: 'Rosa', contact: 'tel:+390612345'},
  destination: {lat: 41.8765, lon: 12.4321}, eta: {state: 'ok', seconds: 60, at: 1}, travelDeadline: 5,
};
const page = (first = snapshot) => new Response(
  `<html><h1>On the way</h1><script type="application/json" id="first">${JSON.stringify(first)}</script></html>`,
  {headers: {'content-type': 'text/html'}});
const offline = () => { throw new TypeError('no network'); };
const first = (html) => JSON.parse(/id="first">(.*?)<\/script>/s.exec(html)[1]);

test('APIs, tiles, other origins and changes are not handled', async () => {
  const {get} = worker(() => new Response('x'));
  for (const path of ['/api/v1/jobs/j1', '/v1', '/assets/tiles/1/0/0', '/openapi.json']) {
    assert.equal(await get(path), undefined, path);
    assert.equal(await get(path, {authorization: ANNA}), undefined, path);
    assert.equal(await get(path, {mode: 'navigate'}), undefined, path);
  }
  assert.equal(await get('/track/j1', {method: 'POST', authorization: ANNA}), undefined);
  assert.equal(await get('/assets/page.css', {origin: 'https://other.example'}), undefined);
});

test('a page and its assets open offline, and are fresh online', async () => {
  const world = worker((request) => new Response(`one ${request.url}`));
  const text = async (path, options) => (await (await world.get(path, options)).text());
  await text('/track/j1', {mode: 'navigate'});
  await text('/assets/page.css');
  world.network = () => new Response('two');
  assert.equal(await text('/assets/page.css'), 'two');
  world.network = offline;
  assert.equal(await text('/assets/page.css'), 'two');
  // One cached page for all jobs.
  assert.equal(await text('/track/j2', {mode: 'navigate'}), `one ${ORIGIN}/track/j1`);
  await assert.rejects(text('/rider', {mode: 'navigate'}));
});

test('below a path prefix its own pages open offline, and other pages of the host are not handled', async () => {
  const world = worker((request) => new Response(request.url), '/shop');
  const text = async (path, options) => (await (await world.get(path, options)).text());
  for (const path of ['/shop/track/j1', '/shop/rider', '/shop/ops']) await text(path, {mode: 'navigate'});
  for (const path of ['/shop/assets/page.css', '/shop/manifest.webmanifest']) await text(path);
  world.network = offline;
  assert.equal(await text('/shop/track/j2', {mode: 'navigate'}), `${ORIGIN}/shop/track/j1`);
  for (const path of ['/shop/rider', '/shop/ops']) assert.equal(await text(path, {mode: 'navigate'}), ORIGIN + path);
  for (const path of ['/shop/assets/page.css', '/shop/manifest.webmanifest']) assert.equal(await text(path), ORIGIN + path);
  for (const path of ['/track/j1', '/rider', '/shopping/track/j1', '/shop/track/', '/shop/track/j1/']) {
    assert.equal(await world.get(path, {mode: 'navigate'}), undefined, path);
    assert.equal(await world.get(path, {authorization: ANNA}), undefined, path);
  }
  assert.equal(await world.get('/assets/page.css'), undefined);
});

test('an error response is not cached', async () => {
  const world = worker(() => new Response('sorry', {status: 503}));
  assert.equal((await world.get('/assets/page.css')).status, 503);
  world.network = offline;
  await assert.rejects(world.get('/assets/page.css'));
});

test('the last state is cached without locations, per person and with its time', async () => {
  const world = worker(() => page());
  const seen = await (await world.get('/track/j1', {authorization: ANNA})).text();
  assert.deepEqual(first(seen), snapshot);
  for (const secret of ['41.9123', '12.5456', '41.8765', '12.4321', 'seconds', 'Rosa', 'tel:', 'Bearer', ANNA.slice(7)]) {
    assert.ok(!world.caches.text.includes(secret), secret);
  }
  world.network = offline;
  // A newer token of the same person finds the same state.
  const kept = await (await world.get('/track/j1', {authorization: bearer('anna', '2')})).text();
  assert.ok(kept.includes('<h1>On the way</h1>'));
  const {status, tracking, position, destination, kept: time} = first(kept);
  assert.deepEqual([status, tracking, position, destination, time], ['on_the_way', 'waiting', null, undefined, world.now]);
  await assert.rejects(world.get('/track/j1', {authorization: bearer('bert')}));
  await assert.rejects(world.get('/track/j2', {authorization: ANNA}));
  await assert.rejects(world.get('/track/j1', {authorization: `Link ${'0'.repeat(32)}`}));
});

test('besides the snapshot, only the times of the steps are cached', async () => {
  const more = {times: {accepted: 1795248617611}, shop: {lat: 41.7654, lon: 12.6543}, rider: 'Ugo'};
  const world = worker(() => new Response(`<html><script type="application/json" id="first">${
    JSON.stringify(snapshot)}</script><script type="application/json" id="more">${JSON.stringify(more)}</script></html>`));
  await (await world.get('/track/j1', {authorization: ANNA})).text();
  for (const secret of ['41.7654', '12.6543', 'Ugo']) assert.ok(!world.caches.text.includes(secret), secret);
  world.network = offline;
  const kept = await (await world.get('/track/j1', {authorization: ANNA})).text();
  assert.ok(kept.includes('id="more">{"times":{"accepted":1795248617611}}</script>'));
});

test('a cached state replaces a gateway error, and a refusal deletes it', async () => {
  const world = worker(() => page());
  const link = {authorization: `Link ${'a'.repeat(32)}`};
  await world.get('/track/j1', link);
  world.network = () => new Response('down', {status: 503});
  assert.equal((await world.get('/track/j1', link)).status, 200);
  world.network = () => new Response('gone', {status: 404});
  assert.equal((await world.get('/track/j1', link)).status, 404);
  world.network = offline;
  await assert.rejects(world.get('/track/j1', link));
});

test('a state is cached for a day, at most twenty of them, and none after signing out', async () => {
  const world = worker(() => page());
  for (let job = 0; job < 30; job += 1) await world.get(`/track/j${job}`, {authorization: ANNA});
  assert.equal(world.caches.all.get('enroute-states-1').size, 20);
  world.network = offline;
  assert.equal((await world.get('/track/j29', {authorization: ANNA})).status, 200);
  world.now += 24 * 3_600_000;
  await assert.rejects(world.get('/track/j29', {authorization: ANNA}));
  await world.dispatch('message', {data: {type: 'forget'}});
  assert.ok(!world.caches.all.has('enroute-states-1'));
});

test('caches of older workers are deleted, caches of others are not', async () => {
  const world = worker(offline);
  for (const name of ['enroute-shell-0', 'enroute-shell-1', 'others']) await world.caches.open(name);
  await world.dispatch('activate');
  assert.deepEqual((await world.caches.keys()).sort(), ['enroute-shell-1', 'others']);
});

test('a text cannot close the script element that contains it', async () => {
  const world = worker(() => page({...snapshot, epoch: 'a\u003c/b'}));
  await world.get('/track/j1', {authorization: ANNA});
  assert.ok(world.caches.text.includes('a\\\\u003c/b'));
});

/** Whether a promise has settled by now. */
const settles = (promise) => Promise.race([promise.then(() => true), settled().then(() => false)]);

/** A response that arrives when the test says so. */
const slow = () => {
  let comes;
  return {answer: new Promise((resolve) => { comes = resolve; }), comes: (response) => comes(response)};
};

test('without a cached copy a late response is awaited and cached', async () => {
  for (const [path, options] of [
    ['/track/j1', {mode: 'navigate'}], ['/assets/page.css', {}], ['/track/j1', {authorization: ANNA}],
  ]) {
    const {answer, comes} = slow();
    const world = worker(() => answer);
    const asked = world.get(path, options);
    await world.clock.pass(20_000);
    comes(page());
    assert.deepEqual(first(await (await asked).text()), snapshot);
    world.network = offline;
    assert.equal((await world.get(path, options)).status, 200);
  }
});

test('a cached copy is used after 3 s, and the late response is not cached in its place', async () => {
  for (const options of [{mode: 'navigate'}, {authorization: ANNA}]) {
    const world = worker(() => page());
    await world.get('/track/j1', options);
    const {answer, comes} = slow();
    world.network = () => answer;
    const asked = world.get('/track/j1', options);
    await world.clock.pass(2_999);
    assert.ok(!(await settles(asked)));
    await world.clock.pass(1);
    assert.equal(first(await (await asked).text()).status, 'on_the_way');
    comes(page({...snapshot, status: 'completed'}));
    await world.clock.pass(0);
    world.network = offline;
    assert.equal(first(await (await world.get('/track/j1', options)).text()).status, 'on_the_way');
  }
});

test('a cached page uses cached assets, and a page from the network waits for the network', async () => {
  const world = worker(() => new Response('old'));
  const text = async (path, options) => (await world.get(path, options)).text();
  await text('/rider', {mode: 'navigate'});
  for (const path of ['/assets/rider.js', '/assets/page.js']) await text(path);
  // After a deployment the page is late and its assets would be quick.
  const late = slow();
  world.network = (request) => (request.mode === 'navigate' ? late.answer : new Response('new'));
  const opened = text('/rider', {mode: 'navigate'});
  await world.clock.pass(3_000);
  assert.equal(await opened, 'old');
  assert.deepEqual([await text('/assets/rider.js'), await text('/assets/page.js')], ['old', 'old']);
  // An asset that is not cached is requested.
  assert.equal(await text('/assets/other.js'), 'new');
  // The page is quick and some of its assets are late.
  const module = slow();
  world.network = (request) => (request.url.endsWith('page.js') ? module.answer : new Response('new'));
  assert.equal(await text('/rider', {mode: 'navigate'}), 'new');
  assert.equal(await text('/assets/rider.js'), 'new');
  const loaded = text('/assets/page.js');
  await world.clock.pass(20_000);
  module.comes(new Response('new'));
  assert.equal(await loaded, 'new');
});

test('a page that needs the present gets no cached state', async () => {
  const world = worker(() => page());
  const ask = async () => (await world.get('/track/j1', {authorization: ANNA, cache: 'reload'})).status;
  assert.equal(await ask(), 200);
  world.network = () => new Response('', {status: 503});
  assert.equal(await ask(), 503);
  world.network = offline;
  await assert.rejects(ask());
  assert.equal((await world.get('/track/j1', {authorization: ANNA})).status, 200);
});

test('a message that arrives twice has the texts and the URL twice, and they are forgotten afterwards', async () => {
  const world = worker(() => page());
  const url = `${ORIGIN}/track/j1#secret`;
  const message = {data: {json: () => ({type: 'near', job: 'j1'})}};
  const open = () => world.get('/track/j1', {authorization: ANNA});
  await world.dispatch('message', {data: {type: 'near', job: 'j1', title: 'Gleich da', body: 'Ihre Bestellung', url}});
  await world.dispatch('push', message);
  // The page queries this to find out whether a message is still to come.
  assert.ok(!world.caches.all.get('enroute-states-1').has(`${ORIGIN}/near/j1`));
  await open();
  await world.dispatch('push', message);
  assert.deepEqual(world.notified, [['Gleich da', 'Ihre Bestellung', url], ['Gleich da', 'Ihre Bestellung', url]]);
  world.now += 600_001;
  await open();
  assert.ok(!world.caches.text.includes('secret'));
  await world.dispatch('push', message);
  assert.deepEqual(world.notified[2], ['About 2 minutes away', '', `${ORIGIN}/track/j1`]);
});
