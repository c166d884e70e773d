// The list of open jobs: filters, sorting, and the address that stores them.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {JobList, LISTED_WITHIN, readQuery, writeQuery} from '../../Sources/WebAssets/web/ops-list.js';

const row = (job, members = {}) => ({
  job, kind: 'delivery', status: 'accepted', statusAt: 1, customer: 'anna', tracking: 'waiting', followers: 0, ...members,
});
const all = (...jobs) => ({version: 'a.1', reset: true, jobs, gone: []});
const names = (rows) => rows.map(({job}) => job);

test('changed rows replace old ones and removed rows disappear', () => {
  const list = new JobList();
  assert.equal(list.take(all(row('a'), row('b'), row('c'))), true);
  assert.equal(list.take({version: 'a.2', reset: false, jobs: [row('b', {status: 'preparing'})], gone: ['c']}), true);
  assert.equal(list.row('b').status, 'preparing');
  assert.deepEqual([list.size, list.version, list.row('c')], [2, 'a.2', null]);
  assert.equal(list.take({version: 'a.2', reset: false, jobs: [], gone: []}), false);
  list.take(all(row('z')));
  assert.deepEqual(names(list.rows(readQuery(''))), ['z']);
});

test('in a paged list the version of the first page counts, so that later changes are requested', () => {
  const list = new JobList();
  list.take(all(row('a')));
  list.take({version: 'a.5', reset: true, jobs: [row('b')], gone: []}, {isContinued: true});
  assert.deepEqual([list.size, list.version], [2, 'a.1']);
});

test('urgent rows come first, equal ones by name, and each column can be reversed', () => {
  const list = new JobList();
  list.take(all(
    row('c', {tracking: 'live', followers: 3}), row('b', {tracking: 'stale', rider: 'r-1'}), row('a', {tracking: 'stale'}),
    row('d', {tracking: 'paused', followers: 9, rider: 'r-0'})));
  assert.deepEqual(names(list.rows(readQuery(''))), ['a', 'b', 'd', 'c']);
  assert.deepEqual(names(list.rows(readQuery('?sort=-job'))), ['d', 'c', 'b', 'a']);
  assert.deepEqual(names(list.rows(readQuery('?sort=followers'))), ['d', 'c', 'a', 'b']);
  assert.deepEqual(names(list.rows(readQuery('?sort=rider'))), ['d', 'b', 'a', 'c']);
});

test('a filter shows rows that match all conditions, and the counts ignore the tracking filter', () => {
  const list = new JobList();
  list.take(all(
    row('order-1', {tracking: 'stale', unavailable: 'network', rider: 'Ben'}),
    row('order-2', {tracking: 'live', rider: 'ben-2'}),
    row('order-3', {status: 'preparing', customer: 'carla'})));
  assert.deepEqual(names(list.rows(readQuery('?q=BEN'))), ['order-1', 'order-2']);
  assert.deepEqual(names(list.rows(readQuery('?q=ben&tracking=stale'))), ['order-1']);
  assert.deepEqual(names(list.rows(readQuery('?unavailable=network'))), ['order-1']);
  assert.deepEqual(names(list.rows(readQuery('?status=preparing'))), ['order-3']);
  const counts = list.counts(readQuery('?q=ben&tracking=stale'));
  assert.deepEqual([counts.stale, counts.live, counts.waiting], [1, 1, 0]);
});

test('an address stores the query and nothing else, and invalid values are ignored', () => {
  const query = readQuery('?zone=rome&job=a.b&status=lost&tracking=stale&sort=-since&lang=de&q=x');
  assert.deepEqual(query, {
    zone: 'rome', job: null, tab: '', q: 'x', need: '', status: '', tracking: 'stale', unavailable: '', sort: 'since', down: true,
  });
  assert.equal(writeQuery(query, '?lang=de'), '?lang=de&zone=rome&q=x&tracking=stale&sort=-since');
  assert.equal(writeQuery(readQuery(''), ''), '');
  assert.equal(readQuery('?sort=-nothing').down, false);
  for (const search of ['?zone=rome', '?zone=rome&sort=-job', '?zone=rome&q=a+b&unavailable=hidden']) {
    assert.deepEqual(readQuery(writeQuery(readQuery(search), '')), readQuery(search));
  }
});

test('five thousand rows are filtered and sorted within a frame or two', () => {
  const list = new JobList();
  list.take(all(...Array.from({length: 5_000}, (_, at) => row(`order-${(at * 7919) % 5_000}`, {statusAt: at}))));
  const before = process.cpuUsage();
  for (let round = 0; round < 20; round += 1) assert.equal(list.rows(readQuery('?sort=since&q=order')).length, 5_000);
  const {user, system} = process.cpuUsage(before);
  // µs of processor time for 20 rounds. 50 ms each would be a long task.
  assert.ok((user + system) / 20 < 50_000, `${(user + system) / 20} µs`);
});

test('D3: lost riders come before those with a stale position', () => {
  const list = new JobList();
  const jobs = ['live', 'waiting', 'stale', 'paused', 'lost'].map((tracking) => row(tracking, {tracking}));
  list.take({reset: true, jobs, gone: [], version: 'v'});
  assert.deepEqual(names(list.rows(readQuery(''))), ['lost', 'stale', 'paused', 'waiting', 'live']);
  assert.deepEqual(names(list.rows(readQuery('?tracking=lost'))), ['lost']);
  assert.equal(list.counts(readQuery('')).lost, 1);
});

test('D23: jobs that need attention come first, have their own filters and are counted', () => {
  const list = new JobList();
  list.take({reset: true, gone: [], version: 'v', jobs: [
    row('live', {tracking: 'live', rider: 'ben', status: 'in_transit'}),
    row('cooking'),
    row('lost', {tracking: 'lost', rider: 'ben', status: 'in_transit'}),
    row('alone', {status: 'ready_for_pickup'}),
    row('failed', {status: 'allocation_failed'}),
  ]});
  assert.deepEqual(names(list.rows(readQuery(''))), ['failed', 'alone', 'lost', 'cooking', 'live']);
  assert.deepEqual(names(list.rows(readQuery('?need=attention'))), ['failed', 'alone', 'lost']);
  assert.deepEqual(names(list.rows(readQuery('?need=no_rider'))), ['failed', 'alone']);
  const counts = list.counts(readQuery('?need=no_rider&tracking=lost'));
  assert.deepEqual([counts.attention, counts.no_rider, counts.lost], [3, 2, 1]);
  assert.deepEqual(list.queue().map(({row, reason}) => `${row.job} ${reason}`), ['failed failed', 'alone no_rider', 'lost lost']);
  assert.equal(writeQuery(readQuery('?need=attention'), ''), '?need=attention');
  assert.equal(readQuery('?need=money').need, '');
});

const answer = (...jobs) => ({version: 'a.2', reset: false, jobs, gone: []});

test('an assignment is shown until the list has it, even if an older response arrives in between', () => {
  const list = new JobList();
  list.take(all(row('a', {rider: 'ben'}), row('b')));
  list.assign('a', 'dora', 0);
  list.assign('gone', 'dora', 0);
  assert.deepEqual([list.row('a').rider, list.row('gone')], ['dora', null]);
  list.take(answer(row('a', {rider: 'ben', followers: 2})), {now: 1_000});
  assert.deepEqual([list.row('a').rider, list.row('a').followers], ['dora', 2]);
  list.take(answer(row('a', {rider: 'dora'})), {now: 2_000});
  // From here on the list decides: somebody else may have returned the job.
  list.take(answer(row('a', {rider: 'ben'})), {now: 3_000});
  assert.equal(list.row('a').rider, 'ben');
});

test('after two assignments in a row, rows from before either of them are hidden', () => {
  const list = new JobList();
  list.take(all(row('a', {rider: 'ben'})));
  list.assign('a', 'dora', 0);
  list.assign('a', null, 0);
  assert.equal(list.row('a').rider, undefined);
  for (const old of ['ben', 'dora']) {
    list.take(answer(row('a', {rider: old})), {now: 1_000});
    assert.equal(list.row('a').rider, undefined);
  }
  // A third rider is newer.
  list.take(answer(row('a', {rider: 'emil'})), {now: 1_000});
  assert.equal(list.row('a').rider, 'emil');
});

test('an assignment that never appears in the list is soon no longer shown', () => {
  const list = new JobList();
  list.take(all(row('a', {rider: 'ben'})));
  list.assign('a', 'dora', 0);
  assert.equal(list.take(answer(), {now: LISTED_WITHIN - 1}), false);
  assert.equal(list.row('a').rider, 'dora');
  assert.equal(list.take(answer(), {now: LISTED_WITHIN}), true);
  assert.equal(list.row('a').rider, 'ben');
});
