// The message of the availability switch: it appears with each failure and disappears with its cause.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {settled} from './clock.mjs';
import {Place, ownClock} from './page.mjs';

const {Availability, TOLD_FOR, presenceOf} = await import('../../Sources/WebAssets/web/rider-availability.js');
const {words} = await import('../../Sources/WebAssets/web/rider-words.js');

const offline = {status: 'offline', approved: true, tasks: [], capacity: 1, reachable: true};

/** A switch whose changes fail with this code until `how.code` is cleared. */
function failing(code, more = {}) {
  const places = Object.fromEntries(
    ['button', 'title', 'detail', 'state', 'card', 'snack', 'message', 'close'].map((name) => [name, new Place()]));
  const [said, how] = [[], {code}];
  const declare = async (status) => {
    if (how.code) throw Object.assign(new Error(how.code), {code: how.code, ...more});
    return {...offline, status};
  };
  const availability = new Availability(places, words.en, declare, {
    rider: (rider) => availability.show(rider), recheck() {}, say: (text) => said.push(text),
    nameOf: (job) => ({'order-1': 'A-1042', 'order-2': 'A-1043'})[job],
  });
  availability.show(offline);
  return {availability, places, said, how, isTold: () => !places.snack.hidden};
}

test('a page names its device in a heartbeat only if that device declared last', () => {
  const place = {lat: 41.9, lon: 12.5};
  assert.deepEqual(presenceOf({...offline, device: 'here'}, 'here', place), {...place, device: 'here'});
  assert.deepEqual(presenceOf({...offline, device: 'there'}, 'here', place), place);
  for (const rider of [undefined, null, offline]) assert.deepEqual(presenceOf(rider, 'here'), {});
});

test('D18: a message disappears after a while, but not while it has the focus', async (run) => {
  const clock = ownClock(run);
  const {availability, places, isTold} = failing('unavailable');
  await availability.toggle();
  await clock.pass(TOLD_FOR - 1);
  assert.ok(isTold());
  places.snack.children = [places.close];
  places.close.focus();
  await clock.pass(1);
  assert.ok(isTold());
  places.button.focus();
  await clock.pass(TOLD_FOR);
  assert.ok(!isTold());
});

test('D18: a message disappears on success and when the state changes', async (run) => {
  ownClock(run);
  const {availability, how, isTold} = failing('unavailable');
  await availability.toggle();
  availability.show({...offline});
  assert.ok(isTold());
  availability.show({...offline, tasks: [{job: 'order-1'}]});
  assert.ok(!isTold());
  await availability.toggle();
  assert.ok(isTold());
  how.code = null;
  await availability.toggle();
  assert.ok(!isTold());
});

test('D18: only a network error disappears when the network is back', async (run) => {
  ownClock(run);
  for (const [code, isSaidOn] of [['network', false], ['forbidden', true]]) {
    const {availability, isTold} = failing(code);
    await availability.toggle();
    availability.connected();
    assert.equal(isTold(), isSaidOn, code);
  }
});

test('D18: a second failure hides, shows and announces the message again', async (run) => {
  ownClock(run);
  const {availability, places, said} = failing('unavailable');
  await availability.toggle();
  const seen = [];
  let isHidden = false;
  Object.defineProperty(places.snack, 'hidden', {
    get: () => isHidden, set(is) { seen.push(is); isHidden = is; }, configurable: true,
  });
  said.length = 0;
  await availability.toggle();
  await settled();
  assert.equal(seen.at(-1), false);
  assert.ok(seen.includes(true));
  assert.equal(said.length, 2);
});

test('D26: a screen reader hears the paragraphs of a message as separate sentences', async (run) => {
  ownClock(run);
  const {availability, said} = failing('active_task', {tasks: ['order-1']});
  await availability.toggle();
  assert.match(said.at(-1), /^You cannot go offline during an active delivery\. Finish or return first: A-1042\.$/);
});

test('tasks without a card are counted where the others are named', async (run) => {
  ownClock(run);
  const tell = async (language, ...tasks) => {
    const {availability, places} = failing('active_task', {tasks});
    availability.words = words[language];
    await availability.toggle();
    return [places.message.children.at(-1).textContent, places.message.querySelectorAll('a').length];
  };
  assert.deepEqual(await tell('en', 'order-1', 'hidden', 'order-2'),
    ['Finish or return first: A-1042, A-1043, 1 more task. Finish one to see more.', 2]);
  assert.deepEqual(await tell('en', 'hidden', 'other'), ['Finish or return first: 2 more tasks. Finish one to see more.', 0]);
  assert.deepEqual(await tell('de', 'order-1', 'hidden'),
    ['Zuerst beenden oder zurückgeben: A-1042, 1 weiterer Auftrag. Beenden Sie einen, um mehr zu sehen.', 1]);
});

test('a switch that is refused because the session expired says so', async (run) => {
  ownClock(run);
  const {availability, places} = failing('unauthorized', {status: 401});
  availability.words = {...words.en, signInExpired: 'Sign in again.'};
  await availability.toggle();
  assert.equal(places.message.textContent, 'Sign in again.');
});

test('D31: the switch of a rider who is not approved is disabled, and the page shows the reason', () => {
  const {availability, places} = failing('forbidden');
  assert.equal(places.button.getAttribute('aria-disabled'), 'false');
  availability.show({...offline, approved: false});
  assert.equal(places.button.getAttribute('aria-disabled'), 'true');
  assert.match(places.detail.textContent, /^You’re not approved yet/);
  // Somebody who is online can always go offline.
  availability.show({...offline, approved: false, status: 'online'});
  assert.equal(places.button.getAttribute('aria-disabled'), 'false');
});

test('D29: the name of the switch contains the text that is visible on it', () => {
  const {availability, places} = failing('unavailable');
  for (const status of ['online', 'offline']) {
    availability.show({...offline, status});
    const name = places.button.getAttribute('aria-label').toLowerCase();
    assert.ok(name.includes(places.state.textContent.toLowerCase()), name);
  }
});
