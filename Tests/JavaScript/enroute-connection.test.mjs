// The connection: how it starts, stays open, goes silent and ends, with a clock, a random source and a socket of the test.

import assert from 'node:assert/strict';
import {afterEach, test} from 'node:test';
import {Enroute} from '../../Sources/WebAssets/web/enroute.js';
import {Clock, playedSockets, settled} from './clock.mjs';

/** The browser's `navigator`, which Node lacks. */
const page = new EventTarget();
const document = Object.assign(new EventTarget(), {hidden: false});
const begun = [];
afterEach(() => {
  for (const enroute of begun.splice(0)) enroute.stop();
  delete globalThis.addEventListener;
  delete globalThis.document;
});

function stage({credential = async () => ({token: 't1'}), inBrowser = false} = {}) {
  if (inBrowser) {
    globalThis.addEventListener = (...all) => page.addEventListener(...all);
    globalThis.removeEventListener = (...all) => page.removeEventListener(...all);
    globalThis.document = document;
  }
  const clock = new Clock();
  const sockets = playedSockets();
  const {now, wall, random, timers} = clock;
  const enroute = new Enroute({url: 'https://gw.example/v1', credential, WebSocket: sockets, now, wall, random,
    timers});
  const states = [];
  enroute.on('connection', ({state}) => states.push(state));
  begun.push(enroute);
  return {enroute, clock, sockets, states};
}

async function open(options) {
  const opened = stage(options);
  opened.enroute.start();
  await settled();
  opened.sockets.last.welcomes(opened.clock.wall());
  return opened;
}

const event = (type, more = {}) => Object.assign(new Event(type), more);

test('the client signs in with its first message and is open with the welcome', async () => {
  const {enroute, clock, sockets, states} = stage();
  assert.deepEqual(enroute.connection, {state: 'stopped', degraded: false});
  enroute.start();
  enroute.start();
  await settled();
  assert.equal(sockets.all.length, 1);
  assert.deepEqual([sockets.last.url, sockets.last.protocol], ['wss://gw.example/v1', 'enroute.v1']);
  sockets.last.opens();
  assert.deepEqual(sockets.last.heard(), [{type: 'auth', token: 't1'}]);
  sockets.last.says({
    type: 'welcome', session: 's', serverTime: clock.wall() + 7_000, pingIntervalSeconds: 25, limits: {},
  });
  assert.deepEqual(states, ['connecting', 'open']);
  assert.equal(Math.round(enroute.serverTime - clock.wall()), 7_000);
});

test('a tracking link is sent as a link', async () => {
  const {sockets} = await open({credential: () => ({link: 'aa'})});
  assert.deepEqual(sockets.last.heard(), [{type: 'auth', link: 'aa'}]);
});

test('a lost connection is reopened within 3 s, and its state says when', async () => {
  const {enroute, clock, sockets, states} = await open();
  sockets.last.closes(1006);
  assert.deepEqual(enroute.connection, {
    state: 'waiting', degraded: false, retryAt: clock.wall() + 1_500, close: {code: 1006, reason: ''},
  });
  await clock.pass(1_499);
  assert.equal(sockets.all.length, 1);
  await clock.pass(1);
  assert.equal(sockets.all.length, 2);
  sockets.last.welcomes();
  assert.deepEqual(states, ['connecting', 'open', 'waiting', 'connecting', 'open']);
});

test('each failure doubles the delay, and a stable session resets it', async () => {
  const {enroute, clock, sockets} = await open();
  const waits = [];
  for (let count = 0; count < 4; count++) {
    sockets.last.closes(1006);
    waits.push(enroute.connection.retryAt - clock.wall());
    await clock.pass(waits.at(-1));
    sockets.last.welcomes();
  }
  assert.deepEqual(waits, [1_500, 1_000, 2_000, 4_000]);
  await clock.pass(10_000);
  sockets.last.closes(1006);
  assert.equal(enroute.connection.retryAt - clock.wall(), 1_500);
});

for (const code of [4500, 4502, 4503, 4505, 4506]) {
  test(`after close code ${code} the client does not reconnect`, async () => {
    const {enroute, clock, sockets} = await open();
    sockets.last.closes(code, 'why');
    await clock.pass(3_600_000);
    assert.deepEqual(enroute.connection, {state: 'refused', degraded: false, close: {code, reason: 'why'}});
    assert.deepEqual([sockets.all.length, clock.waiting], [1, 0]);
    enroute.start();
    await settled();
    assert.equal(sockets.all.length, 2);
  });
}

test('a client that signed in too late reconnects with its usual back-off', async () => {
  const {enroute, clock, sockets} = stage();
  enroute.start();
  await settled();
  const waits = [];
  for (let count = 0; count < 4; count++) {
    sockets.last.opens();
    sockets.last.closes(4008, 'not signed in in time');
    assert.equal(enroute.connection.state, 'waiting');
    waits.push(enroute.connection.retryAt - clock.wall());
    await clock.pass(waits.at(-1));
  }
  assert.deepEqual(waits, [1_500, 1_000, 2_000, 4_000]);
  sockets.last.welcomes();
  assert.equal(enroute.connection.state, 'open');
});

test('at the session limit the client keeps trying, each time after a dead session must have ended', async () => {
  const {enroute, clock, sockets} = await open();
  for (let count = 1; count <= 3; count++) {
    sockets.last.closes(4009, 'full');
    assert.deepEqual([enroute.connection.state, enroute.connection.close.code], ['waiting', 4009]);
    await clock.pass(39_999);
    assert.equal(sockets.all.length, count);
    await clock.pass(301);
    assert.equal(sockets.all.length, count + 1);
  }
  sockets.last.welcomes();
  assert.deepEqual(enroute.connection, {state: 'open', degraded: false});
});

test('after goaway the client stays connected until the given time and then reconnects', async () => {
  const {clock, sockets, states} = await open();
  sockets.last.says({type: 'goaway', retryInMs: 5_000});
  await clock.pass(4_000);
  assert.equal(states.at(-1), 'open');
  sockets.last.closes(4000, 'going away');
  await clock.pass(1_149);
  assert.equal(sockets.all.length, 1);
  await clock.pass(1);
  assert.equal(sockets.all.length, 2);
});

test('a gateway that does not close after its goaway is disconnected', async () => {
  const {clock, sockets, states} = await open();
  sockets.last.says({type: 'goaway', retryInMs: 5_000});
  await clock.pass(7_000);
  assert.equal(sockets.all[0].closedWith, 1000);
  await clock.pass(200);
  assert.deepEqual([sockets.all.length, states.at(-1)], [2, 'connecting']);
});

test('a silent connection is pinged and given up without an answer, whatever its socket reports', async () => {
  const {clock, sockets, states} = await open();
  sockets.last.heard();
  await clock.pass(20_000);
  assert.deepEqual(sockets.last.heard(), [{type: 'ping'}]);
  await clock.pass(19_999);
  assert.deepEqual([sockets.last.heard(), states.at(-1)], [[], 'open']);
  await clock.pass(1);
  assert.equal(states.at(-1), 'waiting');
  await clock.pass(3_000);
  assert.equal(sockets.all.length, 2);
  // A late message of the dead socket is ignored.
  sockets.all[0].closes(4500);
  assert.equal(states.at(-1), 'connecting');
});

test('the last message is dated by the wall clock, which continues while a phone sleeps', async () => {
  const {enroute, clock, sockets} = await open();
  await clock.pass(5_000);
  sockets.last.says({type: 'rate', intervalSeconds: 1});
  const lastMessageAt = clock.wall();
  clock.epoch += 600_000;
  sockets.last.closes(1006);
  assert.equal(enroute.lastMessageAt, lastMessageAt);
  assert.equal(stage().enroute.lastMessageAt, null);
});

test('a pong or any other message keeps the connection open', async () => {
  const {clock, sockets, states} = await open();
  for (let minute = 0; minute < 10; minute++) {
    await clock.pass(21_000);
    sockets.last.says({type: 'pong', serverTime: clock.wall()});
  }
  assert.deepEqual([sockets.all.length, states.at(-1)], [1, 'open']);
  assert.equal(sockets.last.heard().filter(({type}) => type === 'ping').length, 10);
});

test('a gateway that accepts the connection but stays silent is disconnected after 15 s', async () => {
  const {enroute, clock, sockets} = stage();
  enroute.start();
  await settled();
  sockets.last.opens();
  await clock.pass(14_999);
  assert.equal(enroute.connection.state, 'connecting');
  await clock.pass(1);
  assert.deepEqual(enroute.connection.close, {code: 1006, reason: 'the gateway did not answer in time'});
});

test('an expired token is replaced immediately; the same token again is refused and the view stays', async () => {
  let token = 't1';
  const {enroute, clock, sockets} = await open({credential: async () => ({token})});
  const follow = enroute.follow('j');
  sockets.last.says({
    type: 'subscribed', job: 'j', snapshot: {status: 'on_the_way', epoch: 'e', id: '1-0', tracking: 'waiting',
      position: null},
  });
  token = 't2';
  sockets.last.closes(4005, 'expired');
  await clock.pass(0);
  sockets.last.welcomes();
  assert.deepEqual(sockets.last.heard().map(({type, token: said}) => said ?? type), ['t2', 'subscribe']);
  sockets.last.closes(4005, 'expired');
  await clock.pass(30_000);
  assert.deepEqual(enroute.connection, {state: 'refused', degraded: false, close: {code: 4005, reason: 'expired'}});
  assert.deepEqual([follow.view.refused, follow.view.status], [null, 'on_the_way']);
});

test('tokens that are never valid do not cause reconnects without delay', async () => {
  let count = 0;
  const {clock, sockets} = await open({credential: async () => ({token: `t${count++}`})});
  for (let times = 0; times < 20; times++) {
    sockets.last.closes(4005, 'expired');
    await clock.pass(500);
  }
  assert.ok(sockets.all.length <= 5, `${sockets.all.length}`);
});

test('without a credential the connection is refused; if credential() throws, the client retries', async () => {
  const nothing = stage({credential: async () => null});
  nothing.enroute.start();
  await settled();
  assert.deepEqual([nothing.enroute.connection.state, nothing.sockets.all.length], ['refused', 0]);
  let isAway = true;
  const away = stage({credential: async () => { if (isAway) throw new Error('away'); return {token: 't'}; }});
  away.enroute.start();
  await settled();
  assert.equal(away.enroute.connection.state, 'waiting');
  isAway = false;
  await away.clock.pass(3_000);
  assert.equal(away.sockets.all.length, 1);
});

test('degraded and restored are reported, and a new connection starts without them', async () => {
  const {enroute, clock, sockets} = await open();
  const told = [];
  enroute.on('connection', ({degraded}) => told.push(degraded));
  sockets.last.says({type: 'degraded'}, {type: 'restored'}, {type: 'degraded'});
  sockets.last.closes(1006);
  await clock.pass(3_000);
  sockets.last.welcomes();
  assert.deepEqual(told, [true, false, true, true, true, false]);
});

test('a stopped client has no timer and no socket and reports nothing', async () => {
  const {enroute, clock, sockets, states} = await open();
  enroute.stop();
  assert.deepEqual([sockets.last.closedWith, clock.waiting, states.at(-1)], [1000, 0, 'stopped']);
  const waiting = await open();
  waiting.sockets.last.closes(1006);
  waiting.enroute.stop();
  await waiting.clock.pass(60_000);
  assert.deepEqual([waiting.sockets.all.length, waiting.clock.waiting], [1, 0]);
  const asking = stage();
  asking.enroute.start();
  asking.enroute.stop();
  await settled();
  assert.equal(asking.sockets.all.length, 0);
});

test('a WebSocket that cannot be created counts as a lost connection', async () => {
  const {now, wall, random, timers} = new Clock();
  class Refusing { constructor() { throw new SyntaxError('no such address'); } }
  const enroute = new Enroute({url: 'wss://x/v1', credential: () => ({token: 't'}), WebSocket: Refusing, now, wall,
    random, timers});
  enroute.start();
  await settled();
  assert.deepEqual(enroute.connection.close, {code: 1006, reason: 'no such address'});
  enroute.stop();
});

// ---- events of the system ----

test('offline is reported immediately; online sends a ping, and its answer ends the offline state', async () => {
  const {clock, sockets, states} = await open({inBrowser: true});
  page.dispatchEvent(event('offline'));
  assert.equal(states.at(-1), 'waiting');
  sockets.last.says({type: 'pong', serverTime: 1});
  assert.equal(states.at(-1), 'waiting');
  sockets.last.heard();
  page.dispatchEvent(event('online'));
  assert.deepEqual(sockets.last.heard(), [{type: 'ping'}]);
  sockets.last.says({type: 'pong', serverTime: 1});
  assert.deepEqual([states.at(-1), sockets.all.length], ['open', 1]);
});

test('a connection that did not survive is closed 4 s after the network is back', async () => {
  const {clock, sockets, states} = await open({inBrowser: true});
  page.dispatchEvent(event('offline'));
  page.dispatchEvent(event('online'));
  await clock.pass(4_000);
  assert.equal(states.at(-1), 'waiting');
  await clock.pass(1_500);
  assert.equal(sockets.all.length, 2);
  sockets.last.welcomes();
  assert.equal(states.at(-1), 'open');
});

test('a ping from before the page was suspended is sent again', async () => {
  const {enroute, clock, sockets, states} = await open();
  await clock.pass(35_000);
  sockets.last.heard();
  enroute.wake();
  assert.deepEqual(sockets.last.heard(), [{type: 'ping'}]);
  await clock.pass(3_999);
  assert.equal(states.at(-1), 'open');
  await clock.pass(1);
  assert.equal(states.at(-1), 'waiting');
});

test('the gateway\u2019s clock is taken from the newest fast answer', async () => {
  const {enroute, clock, sockets} = await open();
  const ahead = () => Math.round(enroute.serverTime - clock.wall());
  assert.equal(ahead(), 0);
  await clock.pass(20_000);
  // The answer took 500 ms, in an unknown direction. The welcome arrived immediately.
  await clock.pass(500);
  sockets.last.says({type: 'pong', serverTime: clock.wall() + 9_000});
  assert.equal(ahead(), 0);
  // A pong to no ping.
  sockets.last.says({type: 'pong', serverTime: clock.wall() + 9_000});
  assert.equal(ahead(), 0);
  await clock.pass(20_000);
  sockets.last.says({type: 'pong', serverTime: clock.wall() + 9_000});
  assert.equal(ahead(), 9_000);
});

test('after the local clock was corrected the gateway\u2019s is requested, even while messages arrive', async () => {
  const {enroute, clock, sockets} = await open();
  const {epoch} = clock;
  for (let second = 0; second < 40; second++) {
    if (second === 10) clock.epoch += 3_600_000;
    await clock.pass(1_000);
    sockets.last.says({type: 'rate', intervalSeconds: 1});
    if (sockets.last.heard().some(({type}) => type === 'ping')) {
      sockets.last.says({type: 'pong', serverTime: epoch + clock.now()});
    }
  }
  assert.equal(Math.round(enroute.serverTime - epoch - clock.now()), 0);
});

test('a waiting client reconnects immediately when the network or the page is back', async () => {
  for (const back of [() => page.dispatchEvent(event('online')),
    () => document.dispatchEvent(event('visibilitychange'))]) {
    const {sockets, enroute} = await open({inBrowser: true});
    sockets.last.closes(1006);
    back();
    await settled();
    assert.equal(sockets.all.length, 2);
    enroute.stop();
  }
});

test('messages that keep arriving for 30 s outweigh the device\u2019s offline state', async () => {
  const {clock, sockets, states} = await open({inBrowser: true});
  page.dispatchEvent(event('offline'));
  for (let second = 0; second <= 30; second++) {
    assert.equal(states.at(-1), 'waiting');
    await clock.pass(1_000);
    sockets.last.says({type: 'rate', intervalSeconds: 1});
  }
  assert.equal(states.at(-1), 'open');
});

test('a stopped client removes its listeners from the browser', async () => {
  const {enroute, sockets, states} = await open({inBrowser: true});
  let removed = 0;
  const remove = globalThis.removeEventListener;
  globalThis.removeEventListener = (...all) => { removed += 1; remove(...all); };
  enroute.stop();
  assert.equal(removed, 3);
  page.dispatchEvent(event('online'));
  page.dispatchEvent(event('offline'));
  await settled();
  assert.deepEqual([sockets.all.length, states.at(-1)], [1, 'stopped']);
});
