// Buttons that need a second tap, and buttons that are held.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {Place, browser, device, ownClock, page} from './page.mjs';

const {CONFIRM_WITHIN, ConfirmButton, HELD_VIBRATION, HOLD, HoldButton, TAP_PAUSE} = await import(
  '../../Sources/WebAssets/web/rider-buttons.js');

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
  const {place, tap, says, done} = button();
  for (let taps = 0; taps < 3; taps += 1) {
    tap();
    await clock.pass(250);
  }
  assert.deepEqual([says(), done, place.getAttribute('aria-disabled')], ['Sure?', [], 'true']);
  await clock.pass(TAP_PAUSE - 750);
  assert.equal(place.getAttribute('aria-disabled'), 'false');
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

/** A button to hold. `down` presses it with a finger; `log` has what it did. */
function held(run) {
  const clock = ownClock(run);
  const [place, log, vibrations] = [new Place(), [], []];
  device.vibrate = (ms) => vibrations.push(ms);
  run.after(() => { delete device.vibrate; });
  const hold = new HoldButton(place, 'Keep holding…', () => log.push('done'), (isTooShort) => {
    if (isTooShort) log.push('too short');
  });
  hold.show('Hold to complete');
  const finger = {isPrimary: true, button: 0, width: 40, height: 40, pressure: 1, pointerType: 'touch', pointerId: 1};
  return {
    clock, place, log, vibrations, hold, says: () => place.textContent,
    down: (change) => place.happens('pointerdown', {...finger, ...change}),
    up() {
      place.happens('pointerup');
      place.happens('pointerleave');
      place.happens('click', {detail: 1});
    },
  };
}

test('a button that is held acts once, after the time in which its bar fills', async (run) => {
  const {clock, place, log, vibrations, hold, says, down, up} = held(run);
  down();
  hold.show('Hold to complete');
  assert.deepEqual([says(), 'held' in place.dataset], ['Keep holding…', true]);
  await clock.pass(HOLD - 1);
  assert.deepEqual(log, []);
  await clock.pass(1);
  assert.deepEqual([log, vibrations, says(), 'held' in place.dataset], [['done'], [HELD_VIBRATION], 'Hold to complete', false]);
  up();
  await clock.pass(HOLD);
  assert.deepEqual([log, clock.waiting], [['done'], 0]);
  const css = readFileSync(new URL('../../Sources/WebAssets/web/rider.css', import.meta.url), 'utf8');
  assert.match(css, new RegExp(`\\.hold\\[data-held\\]::before \\{[^}]*${HOLD}ms`));
});

test('D2: a tap on a button that must be held only shows a hint', async (run) => {
  const {clock, log, vibrations, says, down, up} = held(run);
  for (let taps = 0; taps < 2; taps += 1) {
    down();
    await clock.pass(HOLD - 1);
    up();
    await clock.pass(60);
  }
  await clock.pass(HOLD);
  assert.deepEqual([log, vibrations, says()], [['too short', 'too short'], [], 'Hold to complete']);
});

for (const [name, end] of Object.entries({
  'a finger that leaves the button': ({place}) => place.happens('pointerleave'),
  'a press that becomes a scroll': ({place}) => place.happens('pointercancel'),
  'a page that scrolls': () => browser.happens('scroll'),
  'a button that loses the focus': ({place}) => place.happens('blur'),
  'a step that is not the next one any longer': ({hold}) => hold.cancel(),
})) {
  test(`${name} cancels, without a hint`, async (run) => {
    const shown = held(run);
    shown.down();
    await shown.clock.pass(HOLD - 1);
    end(shown);
    assert.equal(shown.says(), 'Hold to complete');
    await shown.clock.pass(HOLD);
    shown.up();
    assert.deepEqual(shown.log, []);
  });
}

test('a press that began before the step may be taken, with another button or in the background does not act', async (run) => {
  const {clock, place, log, down} = held(run);
  place.setAttribute('aria-disabled', 'true');
  down();
  place.happens('click', {detail: 0});
  assert.equal(clock.waiting, 0);
  place.setAttribute('aria-disabled', 'false');
  down({button: 2});
  down({isPrimary: false});
  assert.equal(clock.waiting, 0);
  down();
  place.setAttribute('aria-disabled', 'true');
  await clock.pass(HOLD);
  place.setAttribute('aria-disabled', 'false');
  down();
  page.hidden = true;
  await clock.pass(HOLD);
  page.hidden = false;
  assert.deepEqual(log, []);
});

test('a keyboard and assistive technology act at once, but not with a key that is still down', (run) => {
  const {place, log, down, up} = held(run);
  let prevented = 0;
  const preventDefault = () => { prevented += 1; };
  place.happens('keydown', {repeat: true, preventDefault});
  place.happens('keydown', {repeat: false, preventDefault});
  assert.equal(prevented, 1);
  place.happens('click', {detail: 0});
  assert.deepEqual(log, ['done']);
  // VoiceOver on an iPhone.
  down({width: 0, height: 0});
  up();
  assert.deepEqual(log, ['done', 'done']);
  // TalkBack; the same without Android is an old Safari's mouse.
  const mouse = {width: 1, height: 1, pressure: 0, pointerType: 'mouse'};
  down(mouse);
  up();
  assert.deepEqual(log, ['done', 'done', 'too short']);
  device.userAgent = 'Mozilla/5.0 (Linux; Android 14; Pixel 8)';
  run.after(() => { device.userAgent = ''; });
  down(mouse);
  up();
  assert.deepEqual(log, ['done', 'done', 'too short', 'done']);
});

test('a phone opens no menu for a press that is held', async (run) => {
  const {clock, place, down} = held(run);
  let prevented = 0;
  const menu = {preventDefault: () => { prevented += 1; }};
  place.happens('contextmenu', menu);
  down();
  await clock.pass(HOLD / 2);
  place.happens('contextmenu', menu);
  assert.equal(prevented, 1);
});
