// The age of the first state of the customer's page: a cached state names its own time.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place, page} from './page.mjs';

const HOUR = 3_600_000;
const state = JSON.stringify({status: 'on_the_way', position: null});

/** A page that contains a state. */
const withState = {
  querySelector: () => ({textContent: state}), querySelectorAll: () => [], getElementById: () => new Place(),
};
globalThis.DOMParser = class { parseFromString() { return withState; } };
page.getElementById = () => new Place();
const {firstState} = await import('../../Sources/WebAssets/web/track-first.js');

test('a state from the service worker has the age it names, one from the network is new', async (run) => {
  const now = Date.now();
  run.mock.method(Date, 'now', () => now);
  run.mock.method(globalThis, 'fetch', async () => new Response('', {headers: {'Enroute-Kept': String(now - HOUR)}}));
  assert.equal((await firstState('Bearer t')).age, HOUR);
  run.mock.method(globalThis, 'fetch', async () => new Response(''));
  assert.equal((await firstState('Bearer t')).age, 0);
});
