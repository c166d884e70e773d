// Steps that wait for a connection.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import './page.mjs';

const {StepQueue, UNDO_WITHIN, WAITS_FOR, requestKey} = await import('../../Sources/WebAssets/web/rider-steps.js');
const STEP = {verb: 'completed', path: 'task', body: {state: 'completed'}};

test('D19: a waiting step survives a reload, and is too old after an hour', (run) => {
  const clock = run.mock.method(Date, 'now', () => 1_000);
  new StepQueue().add('one', {step: STEP, key: 'k'});
  const after = new StepQueue();
  assert.deepEqual(after.start('one'), {step: STEP, key: 'k', at: 1_000, due: 0, isTooOld: false});
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

test('D2: a final step waits for an undo, also after a reload, unless the page is in a hurry', (run) => {
  const clock = run.mock.method(Date, 'now', () => 1_000);
  new StepQueue().add('one', {step: STEP, key: 'k'}, 1_000 + UNDO_WITHIN);
  const after = new StepQueue();
  assert.deepEqual([after.isUndoable('one'), after.start('one')], [true, undefined]);
  // A clock that was set back does not hold the step for longer.
  clock.mock.mockImplementation(() => 999);
  assert.equal(after.isUndoable('one'), false);
  clock.mock.mockImplementation(() => 1_000 + UNDO_WITHIN);
  assert.equal(after.start('one').key, 'k');
  after.add('two', {step: STEP, key: 'l'}, 1_000 + 2 * UNDO_WITHIN);
  assert.equal(after.start('two'), undefined);
  after.hurry();
  assert.equal(after.start('two').key, 'l');
});
