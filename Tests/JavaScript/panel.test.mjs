// The demo's control panel: what it shows for a state of the demo.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {settled} from './clock.mjs';
import {Place, ownClock, page} from './page.mjs';

test('D36: counts read as English, for none, one and many', async (run) => {
  ownClock(run);
  run.mock.method(globalThis, 'setInterval', () => {});
  const places = new Map();
  page.getElementById = (id) => places.get(id) ?? places.set(id, new Place()).get(id);
  page.getElementsByName = () => [];
  let counts = [0, 0, 1];
  run.mock.method(globalThis, 'fetch', async () => {
    const [redisRestarts, gatewayKills, measured] = counts;
    const state = {plot: '', speed: 1, redisRestarts, gatewayKills, gatewaysUp: 2, measured, p50Ms: 41, p95Ms: 60};
    return new Response(JSON.stringify(state), {status: 200});
  });
  const shown = async (version) => {
    await import(`../../Sources/enroute/Demo/Panel/panel.js?${version}`);
    for (let turn = 0; turn < 20; turn += 1) await settled();
    return ['redis', 'gateways', 'measured'].map((id) => places.get(id)?.textContent);
  };
  assert.deepEqual(await shown(0), ['never restarted', '2 running, never killed', 'last 1 position']);
  counts = [1, 2, 39];
  assert.deepEqual(await shown(1), ['restarted once', '2 running, killed 2 times', 'last 39 positions']);
});
