// Requests for data that may change meanwhile.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {LatestRequest} from '../../Sources/WebAssets/web/rider-latest-request.js';
import {settled} from './clock.mjs';

/** The responses of a gateway, given one by one. */
function answers() {
  const waiting = [];
  return {waiting, ask: () => new Promise((resolve) => { waiting.push(resolve); })};
}

test('a response from before a change does not replace a newer state', async () => {
  const {waiting, ask} = answers();
  const taken = [];
  const riderRequest = new LatestRequest(ask, (answer) => taken.push(answer));
  const poll = riderRequest.now();
  riderRequest.changed();
  taken.push('after the change');
  waiting.shift()('before the change');
  await settled();
  assert.deepEqual([taken, waiting.length], [['after the change'], 1]);
  waiting.shift()('as it is now');
  await poll;
  assert.deepEqual(taken, ['after the change', 'as it is now']);
});

test('a request after a change returns the state after it, even if another request was pending', async () => {
  const {waiting, ask} = answers();
  const taken = [];
  const riderRequest = new LatestRequest(ask, (answer) => taken.push(answer));
  riderRequest.now();
  riderRequest.changed();
  const recheck = riderRequest.now();
  waiting.shift()('old');
  await settled();
  waiting.shift()('new');
  await recheck;
  assert.deepEqual([taken, waiting.length], [['new'], 0]);
});

test('requests without a change in between are one request', async () => {
  const {waiting, ask} = answers();
  const taken = [];
  const riderRequest = new LatestRequest(ask, (answer) => taken.push(answer));
  const both = [riderRequest.now(), riderRequest.now()];
  waiting.shift()('so');
  await Promise.all(both);
  assert.deepEqual([taken, waiting.length], [['so'], 0]);
});
