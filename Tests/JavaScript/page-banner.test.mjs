// What the connection banner shows, and when it shows nothing.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place, browser, device, ownClock} from './page.mjs';

const {ConnectionBanner, TOUCH_PAUSE, locale, reconnectOnTouch, shared} = await import('../../Sources/WebAssets/web/page.js');
const {clockText} = await import('../../Sources/WebAssets/web/enroute-words.js');
const {timeText} = await import('../../Sources/WebAssets/web/page-times.js');

const is = (state, degraded = false) => ({state, degraded});
const banner = (hasState = true, more = {}) => {
  const place = new Place();
  return {place, banner: new ConnectionBanner(place, {hasState: () => hasState, ...more})};
};
/** Reports the device as offline until the test ends. */
const offline = (run) => {
  device.onLine = false;
  run.after(() => { device.onLine = true; });
};

test('before anyone is signed in the banner reports no lost connection', async (run) => {
  const clock = ownClock(run);
  const {place} = banner(false);
  await clock.pass(60_000);
  assert.deepEqual([place.textContent, place.hidden], ['', true]);
});

test('the banner reports a missing connection after 2 s and disappears once it is open', async (run) => {
  const clock = ownClock(run);
  const {place, banner: seen} = banner(false);
  seen.update(is('connecting'));
  await clock.pass(1_999);
  assert.equal(place.textContent, '');
  await clock.pass(1);
  assert.equal(place.textContent, shared.lost);
  seen.update(is('open'));
  assert.equal(place.textContent, '');
  seen.update(is('open', true));
  assert.equal(place.textContent, shared.degraded);
});

test('repeated updates do not delay the report of a missing connection', async (run) => {
  const clock = ownClock(run);
  const {place, banner: seen} = banner(false);
  for (let said = 0; said < 4; said += 1) {
    seen.update(is('waiting'));
    await clock.pass(500);
  }
  assert.equal(place.textContent, shared.lost);
});

test('an explanation stays until the next connection attempt', async (run) => {
  const clock = ownClock(run);
  const {place, banner: seen} = banner();
  seen.update(is('open'));
  seen.update(is('refused'));
  seen.update(is('stopped'));
  seen.explain('You are signed in on another device.');
  await clock.pass(60_000);
  assert.deepEqual([place.textContent, place.hidden], ['You are signed in on another device.', false]);
  seen.update(is('connecting'));
  seen.update(is('open'));
  assert.equal(place.textContent, '');
});

test('a connection that is stopped on purpose is not reported as lost', async (run) => {
  const clock = ownClock(run);
  const {place, banner: seen} = banner(false);
  seen.update(is('waiting'));
  await clock.pass(2_000);
  assert.equal(place.textContent, shared.lost);
  seen.update(is('stopped'));
  assert.equal(place.textContent, '');
});

test('an offline device is reported immediately when the connection is lost, but not while it connects', async (run) => {
  ownClock(run);
  offline(run);
  const {place, banner: seen} = banner(false);
  seen.update(is('connecting'));
  assert.equal(place.textContent, '');
  seen.update(is('waiting'));
  assert.equal(place.textContent, shared.offline);
});

test('an open connection is not reported as lost even if the device claims to be offline', async (run) => {
  const clock = ownClock(run);
  offline(run);
  const {place, banner: seen} = banner();
  seen.update(is('waiting'));
  seen.update(is('open'));
  await clock.pass(60_000);
  assert.deepEqual([place.textContent, seen.isLost], ['', false]);
});

test('the banner shows the time of the last message, not the time when the loss was noticed', async (run) => {
  const clock = ownClock(run);
  const [lastMessageAt, keptAt] = [Date.now() - 10 * 60_000, Date.now() - 50 * 60_000];
  const {place, banner: seen} = banner(true, {lastMessageAt: () => lastMessageAt});
  seen.update(is('waiting'));
  await clock.pass(2_000);
  assert.equal(place.textContent, shared.lostSince(clockText(lastMessageAt, locale)));
  const kept = banner(true, {lastMessageAt: () => lastMessageAt, knownAt: () => keptAt});
  kept.banner.update(is('waiting'));
  await clock.pass(2_000);
  assert.equal(kept.place.textContent, shared.lostSince(clockText(keptAt, locale)));
});

test('the banner names the day of a last message that is older than a day', async (run) => {
  const clock = ownClock(run);
  const lastMessageAt = Date.now() - 3 * 24 * 3_600_000;
  const {place, banner: seen} = banner(true, {lastMessageAt: () => lastMessageAt});
  seen.update(is('waiting'));
  await clock.pass(2_000);
  assert.equal(place.textContent, shared.lostSince(timeText(lastMessageAt, Date.now(), locale)));
  assert.notEqual(place.textContent, shared.lostSince(clockText(lastMessageAt, locale)));
});

test('a session limit is reported until the connection is lost for another reason', async (run) => {
  const clock = ownClock(run);
  const lastMessageAt = Date.now();
  const full = {...is('waiting'), close: {code: 4009, reason: 'full'}};
  for (const hasState of [true, false]) {
    const {place, banner: seen} = banner(hasState, {lastMessageAt: () => lastMessageAt});
    seen.update(full);
    await clock.pass(2_000);
    assert.equal(place.textContent, hasState ? shared.fullSince(clockText(lastMessageAt, locale)) : shared.full);
    seen.update({...is('waiting'), close: {code: 1006, reason: ''}});
    assert.equal(place.textContent, hasState ? shared.lostSince(clockText(lastMessageAt, locale)) : shared.lost);
  }
});

test('D27: a session limit that the page explains is not repeated by the banner, but another loss is reported', async (run) => {
  const clock = ownClock(run);
  const {place, banner: seen} = banner(false, {isExplained: () => true});
  seen.update({...is('waiting'), close: {code: 4009, reason: 'full'}});
  await clock.pass(60_000);
  assert.deepEqual([place.textContent, place.hidden, seen.isLost], ['', true, false]);
  seen.update({...is('waiting'), close: {code: 1006, reason: ''}});
  await clock.pass(2_000);
  assert.equal(place.textContent, shared.lost);
});

test('D8: a screen reader hears a loss once, even if its text changes, and hears when it is over', async (run) => {
  const clock = ownClock(run);
  const said = [];
  const {banner: seen} = banner(true, {lastMessageAt: () => Date.now(), say: (text) => said.push(text)});
  seen.update(is('open'));
  for (let tries = 0; tries < 3; tries += 1) {
    seen.update(is('waiting'));
    await clock.pass(60_000);
    seen.update(is('connecting'));
  }
  assert.equal(said.length, 1);
  assert.match(said[0], /^No connection\./);
  seen.update(is('open'));
  seen.update(is('open', true));
  seen.update(is('open'));
  assert.deepEqual(said.slice(1), [shared.connected, shared.degraded, shared.connected]);
});

test('B41: an unresponsive gateway is reported immediately and until it sends something', (run) => {
  ownClock(run);
  const lastMessageAt = Date.now();
  const said = [];
  const {place, banner: seen} = banner(true, {lastMessageAt: () => lastMessageAt, say: (text) => said.push(text)});
  seen.update(is('open'));
  seen.update({...is('open'), silent: true});
  const sentence = shared.silentSince(clockText(lastMessageAt, locale));
  assert.deepEqual([place.textContent, seen.isLost, said], [sentence, true, [sentence]]);
  seen.update(is('open'));
  assert.deepEqual([place.textContent, seen.isLost, said.at(-1)], ['', false, shared.connected]);
});

test('D34: a touch reconnects a page without a connection, at most every 3 s', () => {
  let [now, woken] = [0, 0];
  const enroute = {connection: is('open'), wake: () => { woken += 1; }};
  reconnectOnTouch(enroute, () => now);
  const touchedAt = (time) => { now = time; browser.happens('pointerdown'); return woken; };
  assert.equal(touchedAt(0), 0);
  enroute.connection = is('waiting');
  assert.deepEqual([touchedAt(1), touchedAt(TOUCH_PAUSE), touchedAt(1 + TOUCH_PAUSE)], [1, 1, 2]);
  enroute.connection = {...is('waiting'), close: {code: 4009}};
  assert.equal(touchedAt(60_000), 2);
});
