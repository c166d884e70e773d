// A session is renewed before its token expires, with the token that the app returns then.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {settled} from './clock.mjs';
import {open} from './connected.mjs';

const EXPIRY = 600_000;

/** A JWT as far as the client reads it. */
const jwt = (expiry) => `e30.${Buffer.from(JSON.stringify({exp: expiry / 1000})).toString('base64url')}.c2ln`;

/** A connection by a token that expires after ten minutes. `app.token` is what the app has from then on. */
async function connected() {
  const app = {asked: 0, token: null};
  const credential = () => {
    app.asked += 1;
    return app.hangs ? new Promise(() => {}) : {token: app.token};
  };
  // The clock of the tests starts at a fixed time.
  const {clock: {wall}} = await open();
  const first = wall();
  app.token = jwt(first + EXPIRY);
  const all = await open({credential});
  return {...all, app, first};
}

const refreshes = (peer) => peer.heard().filter(({type}) => type === 'refresh');

/** Time passes in steps in which the gateway answers pings. */
async function pass(clock, peer, ms) {
  for (let passed = 0; passed < ms; passed += 15_000) {
    await clock.pass(Math.min(15_000, ms - passed));
    peer.says({type: 'pong', serverTime: clock.wall()});
    await settled();
  }
}

test('a token is renewed a minute before it expires, and the new one is renewed in turn', async () => {
  const {clock, peer, app, first} = await connected();
  app.token = jwt(first + 2 * EXPIRY);
  await pass(clock, peer, EXPIRY - 75_000);
  assert.deepEqual(refreshes(peer), []);
  await pass(clock, peer, 15_000);
  assert.deepEqual(refreshes(peer), [{type: 'refresh', token: app.token}]);
  peer.says({type: 'ok', replyTo: 'refresh', deadline: first + 2 * EXPIRY});
  await settled();
  app.token = jwt(first + 3 * EXPIRY);
  await pass(clock, peer, EXPIRY - 15_000);
  assert.deepEqual(refreshes(peer), []);
  await pass(clock, peer, 15_000);
  assert.deepEqual(refreshes(peer), [{type: 'refresh', token: app.token}]);
});

test('without a newer token, and after a refusal, the app is queried again every 15 s', async () => {
  const {clock, peer, app, first} = await connected();
  await pass(clock, peer, EXPIRY - 60_000);
  assert.equal(app.asked, 2);
  assert.deepEqual(refreshes(peer), []);
  app.token = jwt(first + 2 * EXPIRY);
  await pass(clock, peer, 15_000);
  assert.equal(app.asked, 3);
  assert.equal(refreshes(peer).length, 1);
  peer.says({type: 'error', replyTo: 'refresh', code: 'unavailable', message: 'no', retry: true});
  await settled();
  await pass(clock, peer, 15_000);
  assert.equal(refreshes(peer).length, 1);
});

test('a client that was stopped or disconnected renews nothing', async () => {
  const {clock, peer, app, enroute} = await connected();
  await pass(clock, peer, 60_000);
  enroute.stop();
  await clock.pass(EXPIRY);
  assert.equal(app.asked, 1);
});

test('a credential that never arrives does not stop the renewal', async () => {
  const {clock, peer, app, first} = await connected();
  app.hangs = true;
  await pass(clock, peer, EXPIRY - 60_000);
  assert.deepEqual([app.asked, refreshes(peer)], [2, []]);
  app.hangs = false;
  app.token = jwt(first + 2 * EXPIRY);
  await pass(clock, peer, 15_000);
  assert.deepEqual([app.asked, refreshes(peer)], [3, [{type: 'refresh', token: app.token}]]);
  peer.says({type: 'ok', replyTo: 'refresh', deadline: first + 2 * EXPIRY});
  await pass(clock, peer, EXPIRY - 30_000);
  assert.equal(app.asked, 3, 'the renewal that succeeded is not repeated');
});

test('after failed attempts an expired token is replaced at once, too, but not again and again', async () => {
  let number = 1;
  const {enroute, clock, sockets} = await open({credential: () => ({token: `t${number}`})});
  const delays = [];
  for (const code of [1006, 1006, 1006, 4005, 4005, 1006, 4005]) {
    number += code === 4005 ? 1 : 0;
    sockets.last.closes(code);
    delays.push(Math.round(enroute.connection.retryAt - clock.wall()));
    await clock.pass(delays.at(-1));
  }
  assert.deepEqual(delays, [1_500, 1_000, 2_000, 0, 8_000, 15_000, 0]);
  sockets.last.welcomes(clock.wall());
  number += 1;
  sockets.last.closes(4005);
  assert.notEqual(enroute.connection.retryAt, clock.wall(), 'a session that did not last changes nothing');
  await clock.pass(enroute.connection.retryAt - clock.wall());
  sockets.last.welcomes(clock.wall());
  await clock.pass(10_000);
  sockets.last.closes(4005);
  assert.equal(enroute.connection.retryAt, clock.wall());
});
