// B41: a frozen gateway sends nothing while its socket stays open. A client that expects messages notices by its own clock,
// here with a clock and a socket of the test; gateway.test.mjs freezes a real gateway.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {fixAt, open, subscribed, typesOf} from './connected.mjs';

const live = {tracking: 'live', position: {id: '1', at: 1, lat: 1, lon: 2}};

test('B41: a gateway that does not answer a ping is silent until it sends something or is given up', async () => {
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
  // It is given up after the same time as before, and the next connection is not silent.
  await clock.pass(40_000);
  assert.deepEqual([enroute.connection.state, enroute.connection.silent], ['waiting', undefined]);
});

test('B41: a client that expects nothing pings later and reports silence without an answer', async () => {
  const {enroute, peer, clock} = await open();
  enroute.follow('j');
  peer.heard();
  peer.says(subscribed('j'));
  await clock.pass(19_999);
  assert.equal(typesOf(peer.heard()), '');
  await clock.pass(4_001);
  assert.deepEqual([typesOf(peer.heard()), enroute.connection.silent], ['ping', true]);
});

test('B41: a client with an unanswered report notices a silent gateway too', async () => {
  const {enroute, peer, clock} = await open();
  enroute.publish('j', fixAt(clock));
  await clock.pass(14_000);
  assert.deepEqual([typesOf(peer.heard()), enroute.connection.silent], ['location ping', true]);
});

for (const hours of [1, -1]) {
  test(`after the local clock was corrected by ${hours} h a slow answer counts, even while messages arrive`, async () => {
    const {enroute, peer, clock} = await open();
    const {epoch} = clock;
    for (let count = 0; count < 40; count += 1) {
      if (count === 10) clock.epoch += hours * 3_600_000;
      await clock.pass(700);
      peer.says({type: 'proximity', job: 'j', state: 'left'});
      if (typesOf(peer.heard()) !== 'ping') continue;
      await clock.pass(300);
      peer.says({type: 'pong', serverTime: epoch + clock.now() - 150});
    }
    assert.ok(Math.abs(enroute.serverTime - epoch - clock.now()) < 1_000);
  });
}
