// The demo's stage: what it shows for a state of the demo, and the receiver of the rider's phone.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import vm from 'node:vm';

import {settled} from './clock.mjs';
import {Place, ownClock, page} from './page.mjs';

const FOLDER = new URL('../../Sources/enroute/Demo/Panel/', import.meta.url);
const STAGE = 'http://127.0.0.1:8080';

/** Loads the stage with this state. @returns its elements by id */
async function shown(run, state, version) {
  ownClock(run);
  run.mock.method(globalThis, 'setInterval', () => {});
  const places = new Map();
  page.getElementById = (id) => {
    if (!places.has(id)) places.set(id, Object.assign(new Place(), {style: {setProperty() {}}}));
    return places.get(id);
  };
  globalThis.ResizeObserver ??= class { observe() {} };
  run.mock.method(globalThis, 'fetch', async () => new Response(JSON.stringify(state), {status: 200}));
  await import(`../../Sources/enroute/Demo/Panel/stage.js?${version}`);
  for (let turn = 0; turn < 20; turn += 1) await settled();
  return places;
}

const STATE = {
  plot: 'Rosa is on the way.', speed: 1, order: {number: 1, job: 'order-1', isUnderway: true, isOver: false},
  phone: {permission: 'granted'}, riders: 40, orders: 120, p50Ms: 41.4, p95Ms: 60, received: 1_234, redisRestarts: 1,
  gateways: [{name: 'A', isUp: true, kills: 2}, {name: 'B', isUp: false, kills: 0}],
  origins: {stage: STAGE, customer: `${STAGE}1`, rider: `${STAGE}2`, desk: `${STAGE}3`},
  faults: [
    {
      id: 'gateway', title: 'Kill a gateway', expectation: 'Back within 3 s.', isPossible: true, isRunning: false,
      result: 'Back after 0.8 s.',
    },
    {id: 'jump', title: 'Make GPS jump', expectation: 'Nothing moves.', isPossible: false, isRunning: true},
  ],
};

test('D36: counts are correct English for zero, one and many', async (run) => {
  const places = await shown(run, STATE, 1);
  assert.equal(places.get('redis').textContent, 'restarted once');
  assert.equal(places.get('gateways').textContent, 'A up, killed 2 times · B restarts');
  assert.equal(places.get('received').textContent, '1,234');
  const {times} = await import('../../Sources/enroute/Demo/Panel/stage.js?1');
  assert.deepEqual([0, 1, 2].map((count) => times('killed', count)), ['never killed', 'killed once', 'killed 2 times']);
});

test('each button shows what to expect, and then what was measured', async (run) => {
  const places = await shown(run, STATE, 2);
  const [gateway, jump] = places.get('faults').children;
  assert.deepEqual(
    gateway.children.map(({textContent}) => textContent), ['Kill a gateway', 'Back within 3 s.', 'Back after 0.8 s.']);
  assert.equal(gateway.children[0].getAttribute('aria-disabled'), 'false');
  assert.equal(jump.children[0].getAttribute('aria-disabled'), 'true');
  assert.equal(jump.children[2].textContent, 'Happening now…');
});

test('“Once more” appears when the order is over', async (run) => {
  assert.equal((await shown(run, STATE, 3)).get('again').hidden, true);
  const over = {...STATE, order: {...STATE.order, isUnderway: false, isOver: true}};
  assert.equal((await shown(run, over, 4)).get('again').hidden, false);
});

/** The rider's page with the stage's receiver. `isFramed`: on the stage, rather than in a tab of its own. */
function phone({isFramed = true} = {}) {
  const sent = [];
  const listeners = [];
  const window = {};
  window.parent = isFramed ? {postMessage: (message, origin) => sent.push([message.type, origin])} : window;
  const real = {watchPosition: () => 'real'};
  const button = {
    disabled: false, clicks: 0, click() { this.clicks += 1; }, scrollIntoView() {}, getBoundingClientRect: () => ({}),
  };
  const travel = {...button, state: 'off'};
  const found = (which) => {
    if (which.startsWith('meta')) return {content: STAGE};
    if (which.includes('.travel')) return which.includes(`[data-state="${travel.state}"]`) ? travel : null;
    return which.includes('picked_up') ? button : null;
  };
  const context = {
    window, EventTarget, Event, setTimeout: (action) => action?.(), performance: {now: () => context.time},
    CSS: {escape: (text) => text},
    navigator: {geolocation: real, permissions: {query: async () => 'real'}},
    addEventListener: (type, listener) => listeners.push(listener), time: 0,
    document: {
      querySelector: found, createElement: () => ({style: {}, setAttribute() {}, remove() {}}), body: {append() {}},
    },
  };
  vm.runInNewContext(readFileSync(new URL('demo-phone.js', FOLDER), 'utf8'), context);
  const send = (data, origin = STAGE, source = window.parent) => {
    for (const listener of listeners) listener({origin, source, data: {type: 'enroute-phone', permission: 'granted', ...data}});
  };
  return {...context, context, real, sent, send, button, travel};
}

const FIX = {lat: 41.9, lon: 12.5, acc: 5, spd: 6, at: 1_000};

test('the rider’s page on the stage reads the location that the stage sends', () => {
  const {navigator, send, sent} = phone();
  const found = [];
  navigator.geolocation.watchPosition(({coords}) => found.push(coords.latitude));
  send({fix: FIX});
  assert.deepEqual(found, [41.9]);
  assert.deepEqual(sent, [['enroute-phone-ready', STAGE]]);
});

test('the receiver listens to the stage only', () => {
  const {navigator, send, sent} = phone();
  const found = [];
  navigator.geolocation.watchPosition(() => found.push(1));
  send({fix: FIX}, 'https://elsewhere.example');
  send({fix: FIX}, STAGE, {});
  assert.deepEqual([found, sent], [[], []]);
});

test('a denied location is a change of the permission and an error of every watch', async () => {
  const {navigator, send} = phone();
  const [codes, changes] = [[], []];
  navigator.geolocation.watchPosition(() => {}, ({code}) => codes.push(code));
  const permission = await navigator.permissions.query({name: 'geolocation'});
  permission.addEventListener('change', () => changes.push(permission.state));
  send({permission: 'denied'});
  send({permission: 'granted', fix: FIX});
  assert.deepEqual([codes, changes], [[1], ['denied', 'granted']]);
  assert.equal(await navigator.permissions.query({name: 'notifications'}), 'real');
});

test('the stage presses the button of the next step, once until the page had time to react', () => {
  const {send, button, context} = phone();
  context.time = 10_000;
  for (let turn = 0; turn < 3; turn += 1) send({press: 'picked_up'});
  send({press: 'nothing'});
  assert.equal(button.clicks, 1);
});

test('during the ride, the stage activates travel mode, and leaves it off for whoever deactivates it', () => {
  const {send, travel, context} = phone();
  const press = (name) => {
    context.time += 10_000;
    send({press: name});
    return travel.clicks;
  };
  assert.equal(press('travel'), 1);
  travel.state = 'on';
  assert.equal(press('travel'), 1);
  travel.state = 'off';
  assert.equal(press('travel'), 1);
  press('picked_up');
  assert.equal(press('travel'), 2, 'the next trip');
});

test('in a tab of its own, the rider’s page uses the location of its device', () => {
  const {navigator, real} = phone({isFramed: false});
  assert.equal(navigator.geolocation, real);
});
