// Buttons that need a second tap to confirm.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place, ownClock, page} from './page.mjs';

const {TAP_PAUSE, CONFIRM_WITHIN, ConfirmButton, statusText} = await import('../../Sources/WebAssets/web/rider-list.js');
const {words} = await import('../../Sources/WebAssets/web/rider-words.js');

function button() {
  const place = new Place();
  const done = [];
  const taps = new ConfirmButton(place, 'Sure?', () => done.push('done'));
  taps.show('Give back');
  return {place, done, taps, tap: () => place.happens('click'), says: () => place.textContent};
}

test('the first tap asks and the second acts', async (run) => {
  const clock = ownClock(run);
  const {tap, says, done, taps} = button();
  tap();
  taps.show('Give back');
  assert.deepEqual([says(), done], ['Sure?', []]);
  await clock.pass(TAP_PAUSE);
  tap();
  assert.deepEqual([says(), done], ['Give back', ['done']]);
});

test('D2: a double tap only asks, however often it happens', async (run) => {
  const clock = ownClock(run);
  const {place, tap, says, done, taps} = button();
  for (let taps = 0; taps < 3; taps += 1) {
    tap();
    await clock.pass(250);
  }
  assert.deepEqual([says(), done, taps.isPaused, place.getAttribute('aria-disabled')], ['Sure?', [], true, 'true']);
  await clock.pass(TAP_PAUSE - 750);
  assert.deepEqual([taps.isPaused, place.getAttribute('aria-disabled')], [false, 'false']);
  tap();
  assert.deepEqual(done, ['done']);
});

test('a button on a phone that does not focus it still returns to its text', async (run) => {
  const clock = ownClock(run);
  const {place, tap, says, done} = button();
  tap();
  assert.equal(page.activeElement, place);
  await clock.pass(CONFIRM_WITHIN - 1);
  assert.equal(says(), 'Sure?');
  await clock.pass(1);
  assert.equal(says(), 'Give back');
  tap();
  assert.deepEqual([says(), done], ['Sure?', []]);
  place.happens('blur');
  assert.equal(says(), 'Give back');
});

test('a task that can no longer be returned is not returned by a second tap', (run) => {
  ownClock(run);
  const {place, taps, tap, says} = button();
  tap();
  taps.show('');
  assert.deepEqual([says(), place.hidden], ['', true]);
  taps.show('Give back');
  assert.equal(says(), 'Give back');
});

test('D30: a card shows one state, and two only while the rider waits for the vendor', () => {
  const said = (status, task) => statusText({kind: 'delivery', status}, task, words.en);
  assert.deepEqual([said('in_transit', 'in_transit'), said('in_transit', 'accepted'), said('in_transit', null)],
    ['In transit', 'Accepted', 'In transit']);
  assert.equal(said('preparing', 'accepted'), 'Accepted · Being prepared');
  assert.equal(said('delivered', 'in_transit'), 'Delivered');
});
