// Several jobs at once: which are selected, and how their requests run.

import {Place} from './page.mjs';
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {AT_ONCE, BulkBar, MOST_SELECTED, Selection, runAll} from '../../Sources/WebAssets/web/ops-bulk.js';
import {RequestFailed} from '../../Sources/WebAssets/web/ops-polling.js';
import {words} from '../../Sources/WebAssets/web/ops-words.js';

globalThis.CSS ??= {escape: (text) => text};

test('jobs are selected one by one or as a range of the list, and ended ones are unselected', () => {
  const selection = new Selection();
  const shown = ['a', 'b', 'c', 'd', 'e'];
  selection.set('b', true);
  selection.set('d', true, {isRange: true, shown});
  assert.deepEqual(selection.jobs, ['b', 'c', 'd']);
  selection.set('c', false);
  selection.prune((job) => job !== 'd');
  assert.deepEqual(selection.jobs, ['b']);
  // The start of the range is not shown any longer: only the job itself changes.
  selection.set('e', true, {isRange: true, shown: ['d', 'e']});
  assert.deepEqual(selection.jobs, ['b', 'e']);
});

test('the number of selected jobs is bounded, and the page is notified', () => {
  const selection = new Selection();
  const many = Array.from({length: MOST_SELECTED + 1}, (_, at) => `job-${at}`);
  assert.equal(selection.setAll(many, true), false);
  assert.equal(selection.size, MOST_SELECTED);
  assert.equal(selection.setAll(many.slice(0, 5), true), true);
  assert.equal(selection.setAll(many, false), true);
  assert.equal(selection.size, 0);
});

test('requests run a few at a time, in order, and each keeps its own result', async () => {
  let [running, most] = [0, 0];
  const started = [];
  const results = await runAll(Array.from({length: 11}, (_, at) => at), async (item) => {
    started.push(item);
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => { setImmediate(resolve); });
    running -= 1;
    if (item === 3) throw new RequestFailed(409, 'conflict');
  });
  assert.equal(most, AT_ONCE);
  assert.deepEqual(started, Array.from({length: 11}, (_, at) => at));
  assert.deepEqual(results.filter(({error}) => error).map(({item, error}) => [item, error.code]), [[3, 'conflict']]);
  assert.deepEqual(await runAll([], () => assert.fail()), []);
  await assert.rejects(runAll([1], () => { throw new TypeError('a bug'); }), TypeError);
});

function desk(answers = {}, display = undefined) {
  const rows = new Map(['a', 'b', 'c'].map((job) => [job, {job, display, rider: job === 'c' ? undefined : 'ben'}]));
  const asked = [];
  const selection = new Selection();
  selection.setAll([...rows.keys()], true);
  const panel = new Place();
  const said = [];
  const bulk = new BulkBar(panel, {
    words: words.en, selection, row: (job) => rows.get(job) ?? null, zone: () => 'rome', changed: () => bulk.render(), assigned() {}, say: (text) => said.push(text),
    request: async (method, path, body) => {
      asked.push([method, path, ...(body ? [JSON.stringify(body)] : [])].join(' '));
      const failure = answers[path];
      if (failure) throw failure;
      return path.endsWith('/available') ? {riders: [{rider: 'dora'}]} : null;
    },
  });
  bulk.render();
  // Buttons are found again after each rendering.
  const button = (name) => panel.querySelectorAll('button').find((each) => each.getAttribute('data-bulk') === name);
  const settle = async () => { for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => { setImmediate(resolve); }); };
  return {asked, said, selection, panel, bulk, rows, settle, press: (name) => button(name).happens('click')};
}

test('cancelling asks with the number of jobs, then lists each result, and refused jobs stay selected', async () => {
  const {asked, said, selection, panel, settle, press} = desk({'jobs/b/status': new RequestFailed(409, 'illegal_transition')});
  press('cancel');
  assert.match(panel.textContent, /Cancel 3 jobs\?/);
  assert.deepEqual(asked, []);
  press('confirm');
  await settle();
  assert.deepEqual(asked.sort(), ['a', 'b', 'c'].map((job) => `POST jobs/${job}/status {"status":"cancelled"}`));
  assert.deepEqual(said, ['2 of 3 done.']);
  assert.match(panel.textContent, /b This isn’t possible/);
  assert.match(panel.textContent, /a is cancelled/);
  assert.deepEqual(selection.jobs, ['b']);
});

test('results name jobs by their order number, also those that have left the list', async () => {
  const {rows, panel, settle, press} = desk({'jobs/b/status': new RequestFailed(409, 'illegal_transition')}, {orderNumber: 'A-7'});
  press('cancel');
  press('confirm');
  rows.clear();
  await settle();
  assert.match(panel.textContent, /A-7 This isn’t possible.*A-7 is cancelled/);
});

test('jobs are assigned as they were shown, and an undo returns each to its former rider', async (run) => {
  run.mock.timers.enable({apis: ['setTimeout']});
  const {asked, said, settle, press} = desk();
  press('assign');
  await settle();
  press('to dora');
  press('confirm');
  await settle();
  assert.deepEqual(asked.slice(1).sort(), [
    'PUT jobs/a/assignment {"rider":"dora","insteadOf":"ben"}', 'PUT jobs/b/assignment {"rider":"dora","insteadOf":"ben"}',
    'PUT jobs/c/assignment {"rider":"dora"}',
  ]);
  assert.deepEqual(said, ['All 3 done.']);
  asked.length = 0;
  press('undo');
  await settle();
  assert.deepEqual(asked.sort(), [
    'DELETE jobs/c/assignment', 'PUT jobs/a/assignment {"rider":"ben","insteadOf":"dora"}', 'PUT jobs/b/assignment {"rider":"ben","insteadOf":"dora"}',
  ]);
});

test('each rider of the selected jobs is set offline once', async () => {
  const {asked, panel, settle, press} = desk();
  press('offline');
  assert.match(panel.textContent, /Set 1 rider offline\?/);
  press('confirm');
  await settle();
  assert.deepEqual(asked, ['PATCH riders/ben/status {"status":"offline"}']);
});
