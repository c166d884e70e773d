// The announcer: which texts wait, which are announced immediately, and how a repeated text is announced again.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Clock} from './clock.mjs';
import {Place} from './page.mjs';

const {Announcer} = await import('../../Sources/WebAssets/web/page.js');

function voice() {
  const [clock, place] = [new Clock(), new Place()];
  const announcer = new Announcer(place, {now: clock.now, later: clock.timers.setTimeout});
  return {clock, announcer, says: () => place.textContent};
}

test('D8: a status is announced immediately, an arrival time waits', async () => {
  const {clock, announcer, says} = voice();
  announcer.say('arrival', 'In 12 min.');
  assert.equal(says(), 'In 12 min.');
  await clock.pass(2_000);
  announcer.say('arrival', 'In 9 min.');
  announcer.say('state', 'Picked up.', {isUrgent: true});
  assert.equal(says(), 'Picked up.');
  await clock.pass(27_999);
  assert.equal(says(), 'Picked up.');
  await clock.pass(1);
  assert.equal(says(), 'In 9 min.');
});

test('D8: two texts at the same time are both announced', async () => {
  const {clock, announcer, says} = voice();
  announcer.say('state', 'Picked up.', {isUrgent: true});
  announcer.say('connection', 'No connection.', {isUrgent: true});
  assert.equal(says(), 'Picked up. No connection.');
  await clock.pass(1_000);
  announcer.say('connection', 'Connected again.', {isUrgent: true});
  assert.equal(says(), 'Connected again.');
});

test('D18: a repeated text differs invisibly, so that it is announced again', async () => {
  const {clock, announcer, says} = voice();
  const said = [];
  for (let times = 0; times < 3; times += 1) {
    announcer.say('availability', 'Network error.');
    said.push(says());
    await clock.pass(30_000);
  }
  assert.deepEqual(said.map((text) => text.trim()), Array(3).fill('Network error.'));
  assert.ok(said[0] !== said[1] && said[1] !== said[2]);
});
