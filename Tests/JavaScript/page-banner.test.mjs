// What the banner says of the connection, and when it says nothing.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place, ownClock} from './page.mjs';

const {ConnectionBanner, shared} = await import('../../Sources/Gateway/Pages/page.js');

const is = (state, degraded = false) => ({state, degraded});
const banner = (hasState = true) => {
  const place = new Place();
  return {place, banner: new ConnectionBanner(place, {hasState: () => hasState})};
};

test('before anybody is signed in no connection is missed', async (run) => {
  const clock = ownClock(run);
  const {place} = banner(false);
  await clock.pass(60_000);
  assert.deepEqual([place.textContent, place.hidden], ['', true]);
});

test('a connection that is not there is told after a while, and no more once it is', async (run) => {
  const clock = ownClock(run);
  const {place, banner: seen} = banner(false);
  seen.update(is('connecting'));
  await clock.pass(1_999);
  assert.equal(place.textContent, '');
  await clock.pass(1);
  assert.equal(place.textContent, shared.offline);
  seen.update(is('open'));
  assert.equal(place.textContent, '');
  seen.update(is('open', true));
  assert.equal(place.textContent, shared.degraded);
});

test('a connection that is missed is told as soon, however often it is said that it is', async (run) => {
  const clock = ownClock(run);
  const {place, banner: seen} = banner(false);
  for (let said = 0; said < 4; said += 1) {
    seen.update(is('waiting'));
    await clock.pass(500);
  }
  assert.equal(place.textContent, shared.offline);
});

test('what is told of a connection that nobody tries for stays until one is tried for', async (run) => {
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

test('a connection that is given up on purpose is not missed any more', async (run) => {
  const clock = ownClock(run);
  const {place, banner: seen} = banner(false);
  seen.update(is('waiting'));
  await clock.pass(2_000);
  assert.equal(place.textContent, shared.offline);
  seen.update(is('stopped'));
  assert.equal(place.textContent, '');
});
