// Background reports as values: which fixes are reported, when, and what a response changes. What is stored survives
// everything that a store may return.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  LONGEST_INTERVAL, answered, due, failed, nothing, reported, stateOf, textOf, withFixes, withJobs,
} from '../../Sources/JavaScript/background-queue.js';
import {FIXES_PER_REPORT, FIX_LIFETIME, MOST_FIXES} from '../../Sources/JavaScript/enroute-timing.js';
import {seeded} from './clock.mjs';

const NOW = 1_795_000_000_000;
const fix = (ago, more = {}) => ({at: NOW - ago, lat: 41, lon: 12, ...more});
const travelling = (...jobs) => withJobs(nothing, jobs.length ? jobs : ['v']);
const times = (fixes) => fixes.map(({at}) => NOW - at);
const error = (code, more = {}) => ({code, retry: false, ...more});

test('the newest fixes are reported first, at most five, for all jobs in the order of their stops', () => {
  const state = withFixes(travelling('a', 'b'), [5, 1, 9, 3, 7, 2].map((seconds) => fix(seconds * 1000)));
  const {report} = reported(state, NOW);
  assert.deepEqual([report.job, report.body.jobs], ['a', ['b']]);
  assert.deepEqual(times(report.body.fixes), [1000, 2000, 3000, 5000, 7000]);
  assert.equal(report.body.fixes.length, FIXES_PER_REPORT);
  assert.equal('jobs' in reported(withFixes(travelling(), [fix(0)]), NOW).report.body, false);
});

test('fixes with the right time are reported from a phone whose clock is a minute ahead', () => {
  const state = withFixes({...travelling(), clockOffset: -60_000}, [fix(60_000), fix(4_000)], NOW);
  assert.deepEqual(times(reported(state, NOW).report.body.fixes), [60_000, 64_000]);
});

test('invalid and repeated fixes, and those beyond the bound, are left out', () => {
  const bad = [fix(0, {lat: 91}), fix(0, {lat: 0, lon: 0}), fix(0, {lat: null}), {lat: 1, lon: 1}, null, 'here'];
  assert.equal(withFixes(travelling(), bad).waiting.length, 0);
  const many = withFixes(travelling(), Array.from({length: 50}, (_, index) => fix(index * 10)));
  assert.equal(many.waiting.length, MOST_FIXES);
  assert.equal(withFixes(many, [fix(0)]).waiting.length, MOST_FIXES);
  assert.deepEqual(times(many.waiting).slice(0, 2), [0, 10], 'the oldest ones are discarded');
});

test('without a job nothing waits, and other jobs never receive fixes of an earlier trip', () => {
  assert.equal(withFixes(nothing, [fix(0)]).waiting.length, 0);
  const trip = withFixes(travelling('a', 'b'), [fix(0)]);
  assert.equal(withJobs(trip, ['b']).waiting.length, 1, 'the rest of the same trip');
  assert.equal(withJobs(trip, ['b', 'c']).waiting.length, 0);
  assert.equal(withJobs(trip, []).waiting.length, 0);
  assert.deepEqual(withJobs(trip, ['b', 'b']).jobs, ['b']);
  assert.throws(() => withJobs(nothing, Array.from({length: 11}, (_, index) => `j${index}`)), RangeError);
  assert.throws(() => withJobs(nothing, ['no job']), RangeError);
});

test('reports are as far apart as the gateway requests', () => {
  let state = withFixes(travelling(), [fix(0)]);
  assert.equal(due(state, NOW), 0);
  const sent = reported(state, NOW);
  state = answered(sent.state, sent.report, {accepted: ['v'], stale: [], refused: [], intervalSeconds: 8});
  assert.equal(due(state, NOW), null);
  state = withFixes(state, [{...fix(0), at: NOW + 1000}]);
  assert.equal(due(state, NOW + 1000), 7000);
  assert.equal(due(state, NOW + 8000), 0);
  assert.equal(due(state, NOW - 3_600_000), 0, 'a clock that was set back does not stop the reports');
  for (const [asked, interval] of [[0, 1], [60, LONGEST_INTERVAL], ['8', 8], [undefined, 8]]) {
    assert.equal(answered(state, sent.report, {intervalSeconds: asked}).interval, interval);
  }
});

test('reported fixes are removed, and fixes that arrived meanwhile wait', () => {
  const sent = reported(withFixes(travelling(), [fix(2000), fix(1000)]), NOW);
  const meanwhile = withFixes(sent.state, [fix(0), fix(5000)]);
  assert.deepEqual(times(answered(meanwhile, sent.report, {refused: []}).waiting), [0]);
  const again = answered(meanwhile, sent.report, {refused: [{job: 'v', code: 'unavailable'}]});
  assert.deepEqual(times(again.waiting), [0, 1000, 2000, 5000], 'a job that may accept it later');
  assert.deepEqual(times(answered(meanwhile, sent.report, {refused: [{job: 'v', code: 'forbidden'}]}).waiting), [0]);
});

test('after a temporary failure the fixes wait, longer each time, or for the gateway\u2019s own time', () => {
  let state = withFixes(travelling(), [fix(0)]);
  const delays = [];
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const sent = reported(state, NOW);
    state = failed(sent.state, sent.report, error('network', {retry: true}), NOW, () => 1);
    delays.push(state.notBefore - NOW);
    assert.equal(state.waiting.length, 1);
  }
  assert.deepEqual(delays, [3000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  const {report} = reported(state, NOW);
  assert.equal(due(failed(state, report, error('rate_limited', {retryInMs: 7000}), NOW, Math.random), NOW), 7000);
  assert.equal(failed(state, report, error('x', {status: 401}), NOW, Math.random).waiting.length, 1, 'a token that expired');
  assert.equal(answered(state, report, {}).failures, 0);
});

test('after a refusal the fixes are removed, and the next report follows at the slowest pace', () => {
  for (const code of ['forbidden', 'not_found', 'bad_request', 'illegal_transition']) {
    const sent = reported(withFixes(travelling(), [fix(0)]), NOW);
    const state = failed(sent.state, sent.report, error(code), NOW, Math.random);
    assert.deepEqual([state.waiting.length, state.interval], [0, LONGEST_INTERVAL], code);
  }
});

test('a job ends when another device reports for it or travel mode is off; the other jobs continue', () => {
  for (const code of ['other_device', 'travel_mode_off']) {
    const sent = reported(withFixes(travelling('a', 'b', 'c'), [fix(0)]), NOW);
    const answer = {accepted: ['a'], refused: [{job: 'b', code}, {job: 'c', code: 'not_found'}], intervalSeconds: 8};
    const state = answered(sent.state, sent.report, answer);
    assert.deepEqual([[...state.jobs], state.interval], [['a', 'c'], 8], code);
    const last = failed(sent.state, sent.report, error(code), NOW, Math.random);
    assert.deepEqual([...last.jobs], ['b', 'c'], 'the error of a report is that of its first job');
  }
});

test('after the last job is over nothing waits, and the next trip starts at the first pace', () => {
  const trip = {...withFixes(travelling(), [fix(0)]), clockOffset: 60_000};
  const sent = reported(trip, NOW);
  const state = failed(sent.state, sent.report, error('other_device'), NOW, Math.random);
  assert.deepEqual(state, {...nothing, clockOffset: 60_000});
  assert.equal(due(withFixes(withJobs(state, ['v']), [fix(60_000)], NOW), NOW), 0);
});

test('a late refusal does not end a job that the rider has started again', () => {
  const sent = reported(withFixes(travelling(), [fix(0)]), NOW);
  const again = withJobs(sent.state, ['v']);
  assert.deepEqual(failed(again, sent.report, error('other_device'), NOW, Math.random).jobs, ['v']);
  assert.deepEqual(answered(again, sent.report, {refused: [{job: 'v', code: 'travel_mode_off'}]}).jobs, ['v']);
});

test('fixes that are too old are neither reported nor stored', () => {
  const state = withFixes(travelling(), [fix(FIX_LIFETIME), fix(FIX_LIFETIME + 1)]);
  assert.equal(reported(state, NOW).report, null);
  assert.equal(reported(state, NOW).state.waiting.length, 0);
  assert.deepEqual(JSON.parse(textOf(state, NOW)).waiting, []);
});

test('a wrong clock is corrected, and values out of range are left out', () => {
  const state = {...withFixes(travelling(), [fix(0, {acc: -1, spd: 400, hdg: 370, battery: 2})]), clockOffset: 60_000};
  const {body} = reported(state, NOW).report;
  assert.deepEqual(body, {fixes: [{at: NOW + 60_000, lat: 41, lon: 12, hdg: 10}]});
  assert.equal(reported({...state, clockOffset: 1000}, NOW).report.body.fixes[0].at, NOW, 'within the tolerance');
  assert.equal(reported(withFixes(travelling(), [fix(0, {battery: 0.4})]), NOW).report.body.battery, 0.4);
});

test('a clock that was set back during a pause does not prolong it, and no pause is longer than ten minutes', () => {
  const sent = reported(withFixes(travelling(), [fix(0)]), NOW);
  const state = failed(sent.state, sent.report, error('unavailable', {retry: true, retryInMs: 86_400_000}), NOW, Math.random);
  assert.equal(due(state, NOW), 600_000);
  assert.equal(due(state, NOW + 300_000), 300_000, 'the bound does not start again');
  assert.equal(due(state, NOW - 3_600_000), 0);
  assert.equal(due(stateOf(textOf(state, NOW)), NOW - 3_600_000), 0, 'after a restart of the app');
  assert.equal(due({...state, sentAt: null}, NOW), 0, 'a pause of which the start is unknown');
});

test('the gateway\u2019s clock is learned from its responses; readings with a wrong time are sent again', () => {
  for (const ahead of [900_000, -900_000, 30_000, -30_000]) {
    const wall = NOW + ahead;
    const sent = reported(withFixes(travelling(), [{...fix(0), at: wall}], wall), wall);
    const refused = failed(sent.state, sent.report, error('x', {serverTime: NOW + 100}), wall + 200, Math.random);
    assert.deepEqual([refused.clockOffset, refused.waiting.length, refused.notBefore], [-ahead, 1, null]);
    assert.equal(reported(refused, wall + 1000).report.body.fixes[0].at, NOW);
    const accepted = answered(sent.state, sent.report, {accepted: ['v'], serverTime: NOW + 100}, wall + 200);
    assert.deepEqual([accepted.clockOffset, accepted.waiting.length], [-ahead, 0]);
    // The clock was corrected, for example before the app was started again.
    const right = reported(withFixes(accepted, [fix(0)], NOW), NOW);
    const again = failed(right.state, right.report, error('x', {serverTime: NOW + 100}), NOW + 200, Math.random);
    assert.equal(reported(again, NOW + 1000).report.body.fixes[0].at, NOW);
  }
});

test('a response that was slow, or without a time, does not change the clock', () => {
  const sent = reported({...withFixes(travelling(), [fix(0)]), clockOffset: 500}, NOW);
  const offsetAfter = (serverTime, wall) => answered(sent.state, sent.report, {serverTime}, wall).clockOffset;
  assert.equal(offsetAfter(NOW + 8_000, NOW + 9_000), 500, 'the request took 8 s');
  assert.equal(offsetAfter(NOW + 1_000, NOW + 9_000), 500, 'the answer took 8 s');
  assert.equal(offsetAfter(NOW + 1_000, NOW - 60_000), 500, 'the clock was set back meanwhile');
  for (const none of [undefined, null, 'soon']) assert.equal(offsetAfter(none, NOW + 1_000), 500);
  const refusal = error('stale_position', {serverTime: NOW + 61_000});
  assert.equal(failed(sent.state, sent.report, refusal, NOW + 61_000, Math.random).waiting.length, 0, 'it was late, not wrong');
});

test('readings from before the clock was set back are reported with the right time', () => {
  const trip = withFixes(travelling(), [fix(1000)], NOW);
  const wall = NOW - 900_000;
  const sent = reported(withFixes(trip, [fix(900_000)], wall), wall);
  const state = failed(sent.state, sent.report, error('x', {serverTime: NOW}), wall, Math.random);
  assert.deepEqual(times(reported(state, wall + 1000).report.body.fixes), [0, 1000]);
});

test('the state is the same after it was stored and read', () => {
  const sent = reported(withFixes(travelling('a', 'b'), [fix(1), fix(2)]), NOW);
  const state = {...failed(sent.state, sent.report, error('network', {retry: true}), NOW, () => 0.5), failures: 0};
  assert.deepEqual(stateOf(textOf(state, NOW)), state);
});

test('any value from a store becomes a valid state', () => {
  for (const text of [null, undefined, '', 'no JSON', '[]', '1', 'null', '{}', '{"jobs":7,"waiting":{}}']) {
    assert.deepEqual(stateOf(text), nothing, `${text}`);
  }
  const random = seeded(7);
  const values = [null, -1, 1e99, 'x', [], {}, [null], ['ok', 'not ok'], NOW, [fix(0)], true, [[1]]];
  const any = () => values[Math.floor(random() * values.length)];
  for (let round = 0; round < 2000; round += 1) {
    const parts = Object.fromEntries(Object.keys(nothing).map((name) => [name, any()]));
    const state = stateOf(JSON.stringify(parts));
    const wait = due(state, NOW);
    assert.ok(wait === null || wait >= 0 && wait <= 600_000, JSON.stringify(parts));
    assert.ok(state.interval >= 1 && state.interval <= LONGEST_INTERVAL);
    assert.ok(state.jobs.every((job) => job === 'ok'));
    if (wait !== null) reported(state, NOW);
  }
});
