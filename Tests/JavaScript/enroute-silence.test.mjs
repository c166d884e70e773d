// B41: a gateway that stands still says nothing, and its socket stays open. Who expects something is told so by its own
// clock, with that clock and a socket in the test's hand; gateway.test.mjs freezes a real one.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {fixAt, open, subscribed, typesOf} from './connected.mjs';

const live = {tracking: 'live', position: {id: '1', at: 1, lat: 1, lon: 2}};

test('B41: a gateway that is asked and does not answer is silent, until it speaks or is given up', async () => {
  const {enroute, peer, clock} = await open();
  enroute.follow('j');
  peer.heard();
  peer.says(subscribed('j', live));
  await clock.pass(13_999);
  assert.deepEqual([typesOf(peer.heard()), enroute.connection.silent], ['ping', undefined]);
  await clock.pass(1);
  assert.deepEqual([enroute.connection.state, enroute.connection.silent], ['open', true]);
  peer.says({type: 'pong', serverTime: clock.wall()});
  assert.equal(enroute.connection.silent, undefined);
  // It is given up after as long as before, and what comes then is another connection.
  await clock.pass(40_000);
  assert.deepEqual([enroute.connection.state, enroute.connection.silent], ['waiting', undefined]);
});

test('B41: where nothing is to be expected it is asked later, and silent when it does not answer', async () => {
  const {enroute, peer, clock} = await open();
  enroute.follow('j');
  peer.heard();
  peer.says(subscribed('j'));
  await clock.pass(19_999);
  assert.equal(typesOf(peer.heard()), '');
  await clock.pass(4_001);
  assert.deepEqual([typesOf(peer.heard()), enroute.connection.silent], ['ping', true]);
});

test('B41: whose report is not answered is told too', async () => {
  const {enroute, peer, clock} = await open();
  enroute.publish('j', fixAt(clock));
  await clock.pass(14_000);
  assert.deepEqual([typesOf(peer.heard()), enroute.connection.silent], ['location ping', true]);
});
