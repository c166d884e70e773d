// The age of the first state of the customer's page: a cached state names its own time.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place, ownClock, page} from './page.mjs';

const HOUR = 3_600_000;
const state = JSON.stringify({status: 'on_the_way', position: null});

/** A page that contains a state. */
const withState = {
  querySelector: () => ({textContent: state}), querySelectorAll: () => [], getElementById: () => new Place(),
};
globalThis.DOMParser = class { parseFromString() { return withState; } };
page.getElementById = () => new Place();
const {firstState, freshState, stateNow} = await import('../../Sources/WebAssets/web/track-first.js');

test('a state from the service worker has the age it names, one from the network is new', async (run) => {
  const now = Date.now();
  run.mock.method(Date, 'now', () => now);
  run.mock.method(globalThis, 'fetch', async () => new Response('', {headers: {'Enroute-Kept': String(now - HOUR)}}));
  assert.equal((await firstState('Bearer t')).age, HOUR);
  run.mock.method(globalThis, 'fetch', async () => new Response(''));
  assert.equal((await firstState('Bearer t')).age, 0);
});

test('the end of a job is read past the worker\u2019s cache, until the gateway answers', async (run) => {
  const clock = ownClock(run);
  const answers = [
    new Response('', {status: 503}), new Response('kept'), new Response('fresh'), new Response('', {status: 404}),
  ];
  const caches = [];
  run.mock.method(globalThis, 'fetch', async (_, {cache}) => {
    caches.push(cache);
    return answers.shift();
  });
  run.mock.method(DOMParser.prototype, 'parseFromString', (text) => ({
    ...withState, querySelector: () => ({textContent: JSON.stringify({status: 'delivered', ...(text === 'kept' && {kept: 1})})}),
  }));
  let answer;
  freshState('Link l').then((read) => { answer = read; });
  await clock.pass(5_000);
  assert.equal(answer, undefined);
  await clock.pass(5_000);
  assert.equal(answer.snapshot.status, 'delivered');
  assert.deepEqual(caches, ['reload', 'reload', 'reload']);
  assert.deepEqual(await freshState('Link l'), {refusal: 'unknown'});
});

test('a device whose clock is wrong learns the gateway’s time with the state, but not from a cached one', async (run) => {
  const now = Date.UTC(2026, 10, 30, 12);
  run.mock.method(Date, 'now', () => now);
  const answer = async (date, more) => {
    run.mock.method(globalThis, 'fetch', async () => new Response('', {headers: {...(date && {Date: date}), ...more}}));
    return (await stateNow('Link l')).clockOffset;
  };
  assert.equal(await answer(new Date(now - 5 * HOUR).toUTCString()), -5 * HOUR);
  assert.equal(await answer(new Date(now + 26 * HOUR).toUTCString()), 26 * HOUR);
  for (const same of [new Date(now - 1_000).toUTCString(), null, 'never']) assert.equal(await answer(same), 0);
  assert.equal(await answer(new Date(now - HOUR).toUTCString(), {'Enroute-Kept': String(now - HOUR)}), 0);
});
