// Steps that wait for a connection.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import './page.mjs';

const {StepQueue, WAITS_FOR, requestKey} = await import('../../Sources/WebAssets/web/rider-steps.js');
const STEP = {verb: 'completed', path: 'task', body: {state: 'completed'}};

test('D19: a waiting step survives a reload, and is too old after an hour', (run) => {
  const clock = run.mock.method(Date, 'now', () => 1_000);
  new StepQueue().add('one', {step: STEP, key: 'k'});
  const after = new StepQueue();
  assert.deepEqual(after.start('one'), {step: STEP, key: 'k', at: 1_000, isTooOld: false});
  assert.equal(after.start('one'), undefined);
  // It fails again, which does not extend its time.
  clock.mock.mockImplementation(() => 2_000);
  after.add('one', {step: STEP, key: 'k'});
  clock.mock.mockImplementation(() => 1_001 + WAITS_FOR);
  assert.equal(after.start('one').isTooOld, true);
  after.remove('one');
  assert.equal(new StepQueue().get('one'), undefined);
});

test('malformed storage is ignored, and keys are unique', () => {
  sessionStorage.setItem('enroute.steps', '{"one');
  assert.equal(new StepQueue().get('one'), undefined);
  assert.match(requestKey(), /^[0-9a-f]{32}$/);
  assert.notEqual(requestKey(), requestKey());
});
