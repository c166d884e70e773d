// Views: each message, each rule, and random histories in which the rules hold after every message.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {distance, reduce, reducePool, stepsAt, unknownPool,
  unknownView} from '../../Sources/WebAssets/web/enroute-view.js';
import {seeded} from './clock.mjs';

const JOB = 'visit-1';
const NOW = 50_000;
const steps = [
  {status: 'assigned', state: 'complete'}, {status: 'on_the_way', state: 'active'},
  {status: 'work_in_progress', state: 'upcoming'}, {status: 'completed', state: 'upcoming'},
];
const positionAt = (id, seconds, north = 0, more = {}) => ({
  type: 'location', id: String(1_795_248_617_626_000 + id), at: 1_795_248_617_000 + seconds * 1000, job: JOB,
  received: 1_795_248_617_100 + seconds * 1000, lat: 41.9 + north / 111_195, lon: 12.5, acc: 5, ...more,
});
const snapshotWith = (more = {}) => ({
  kind: 'service', status: 'on_the_way', statusAt: 1, steps, epoch: 'e1', id: '1795248617000-0', tracking: 'live',
  text: 'live', destination: {lat: 41.9, lon: 12.6}, position: positionAt(1, 0), positionAgeMs: 800,
  missed: [], ...more,
});
const subscribed = (more) => ({type: 'subscribed', job: JOB, snapshot: snapshotWith(more)});
const reset = (more) => ({type: 'reset', job: JOB, snapshot: snapshotWith(more)});
const statusEvent = (id, status, epoch = 'e1') => ({
  type: 'status', job: JOB, epoch, prev: '', id: `${1_795_248_617_000 + id}-0`, status, at: id,
});
const after = (...messages) => messages.reduce((view, message) => reduce(view, message, NOW).view, unknownView(JOB));

test('a snapshot is the whole state, and its position has the age that it names', () => {
  const {view, change} = reduce(unknownView(JOB), subscribed(), NOW);
  assert.equal(change, 'snapshot');
  assert.equal(view.known, true);
  assert.deepEqual([view.kind, view.status, view.tracking, view.epoch], ['service', 'on_the_way', 'live', 'e1']);
  assert.equal(view.position.lat, 41.9);
  assert.equal(view.positionReceivedAt, NOW - 800);
  assert.ok(Object.isFrozen(view) && Object.isFrozen(view.steps) && Object.isFrozen(view.position));
});

test('a position is dated by both clocks and keeps its dates when a snapshot repeats it', () => {
  const noted = ({positionReceivedAt, positionReceivedAtWall}) => [positionReceivedAt, positionReceivedAtWall];
  const first = reduce(unknownView(JOB), subscribed(), NOW, {wall: 9_000_000}).view;
  assert.deepEqual(noted(first), [NOW - 800, 9_000_000 - 800]);
  const moved = reduce(first, positionAt(2, 2), NOW + 2_000, {wall: 9_002_000}).view;
  assert.deepEqual(noted(moved), [NOW + 2_000, 9_002_000]);
  const resumed = reduce(moved, subscribed({position: positionAt(2, 2)}), NOW + 3_000, {wall: 9_600_000}).view;
  assert.deepEqual(noted(resumed), noted(moved));
  assert.deepEqual(noted(reduce(moved, {type: 'ended', reason: 'arrived'}, NOW, {wall: 1}).view), [null, null]);
});

test('nothing is shown before a snapshot', () => {
  for (const message of [positionAt(2, 1), statusEvent(1, 'completed'), {type: 'tracking', job: JOB, state: 'live'}]) {
    assert.deepEqual(reduce(unknownView(JOB), message, NOW), {view: unknownView(JOB), change: null});
  }
});

test('a newer position replaces an older one, never the other way round', () => {
  const view = after(subscribed(), positionAt(5, 1, 10));
  assert.equal(view.position.id, positionAt(5).id);
  for (const late of [positionAt(4, 2, 20), positionAt(5, 1, 10)]) {
    assert.equal(reduce(view, late, NOW).view, view);
  }
});

test('position ids are compared as integers beyond the precision of doubles', () => {
  const big = (id) => ({...positionAt(0, 1), id});
  const view = after(subscribed({position: null}), big('9007199254740993'));
  assert.equal(reduce(view, big('9007199254740992'), NOW).change, null);
  assert.equal(reduce(view, big('9007199254740994'), NOW).change, 'location');
});

test('a position of any accuracy is shown, because the gateway publishes only positions that may be shown', () => {
  const {view, change} = reduce(after(subscribed()), positionAt(2, 1, 5, {acc: 200}), NOW);
  assert.deepEqual([change, view.position.acc], ['location', 200]);
  assert.equal(after(subscribed({position: positionAt(1, 0, 0, {acc: 200})})).position.acc, 200);
});

test('a jump of 61 m/s is implausible, one of 59 m/s is not', () => {
  const view = after(subscribed({position: positionAt(1, 0, 0, {acc: 0})}));
  assert.equal(reduce(view, positionAt(2, 10, 610, {acc: 0}), NOW).change, null);
  assert.equal(reduce(view, positionAt(2, 10, 590, {acc: 0}), NOW).change, 'location');
  assert.equal(reduce(view, positionAt(2, 10, 1_190, {acc: 0}), NOW, {fastest: 120}).change, 'location');
});

test('an outlier is skipped and the next position is shown', () => {
  const view = after(subscribed(), positionAt(2, 1, 9_000), positionAt(3, 2, 20));
  assert.equal(view.position.id, positionAt(3).id);
});

test('readings that keep contradicting the shown position replace it', () => {
  const far = [1, 2, 3].map((second) => positionAt(second + 1, second, 9_000 + second));
  const doubting = after(subscribed(), ...far);
  assert.equal(doubting.position.id, positionAt(1).id);
  const {view, change} = reduce(doubting, positionAt(9, 4, 9_004), NOW);
  assert.deepEqual([change, view.position.id], ['location', positionAt(9).id]);
});

test('readings that contradict each other never replace it', () => {
  const wild = [1, 2, 3, 4, 5, 6].map((second) => positionAt(second + 1, second, 9_000 * second));
  assert.equal(after(subscribed(), ...wild).position.id, positionAt(1).id);
});

test('movement within the accuracy is plausible in any time', () => {
  const view = after(subscribed());
  assert.equal(reduce(view, {...positionAt(2, 0, 9)}, NOW).change, 'location');
});

test('a position ends the unavailable and stale states', () => {
  const silent = after(
    subscribed(), {type: 'tracking', job: JOB, state: 'stale', text: 'stale'}, {type: 'unavailable', job: JOB,
      text: 'unavailable_network'});
  assert.deepEqual([silent.tracking, silent.unavailable], ['stale', 'unavailable_network']);
  const {view} = reduce(silent, positionAt(2, 40, 5), NOW);
  assert.deepEqual([view.tracking, view.unavailable], ['live', null]);
  // A reading that is not shown also proves that the phone is connected.
  const heard = reduce(silent, positionAt(2, 40, 9_000), NOW);
  assert.deepEqual([heard.change, heard.view.tracking, heard.view.position], ['tracking', 'live', silent.position]);
});

for (const state of ['paused', 'arrived', 'ended', 'waiting']) {
  test(`in the state ${state} there is no marker and no arrival time`, () => {
    const eta = {state: 'ok', arrivesAt: 9, seconds: 1, at: 1};
    const {view, change} = reduce(after(subscribed({eta})), {type: 'tracking', job: JOB, state, text: state}, NOW);
    assert.equal(change, 'tracking');
    assert.deepEqual([view.position, view.eta, view.tracking], [null, null, state]);
    const late = reduce(view, positionAt(7, 3, 3), NOW);
    assert.equal(late.change, state === 'waiting' ? 'location' : null);
  });
}

test('a status advances the steps, and a known one changes nothing', () => {
  const view = after(subscribed(), statusEvent(5, 'work_in_progress'));
  assert.deepEqual(view.steps.map((step) => step.state), ['complete', 'complete', 'active', 'upcoming']);
  assert.equal(reduce(view, statusEvent(5, 'work_in_progress'), NOW).view, view);
  assert.equal(reduce(view, statusEvent(4, 'on_the_way'), NOW).view, view);
  assert.equal(reduce(view, statusEvent(9, 'completed', 'e2'), NOW).view, view);
});

test('the end completes all steps, a cancellation cancels the open ones, a side status changes none', () => {
  const states = (status) => stepsAt(steps, status).map((step) => step.state).join(' ');
  assert.equal(states('completed'), 'complete complete complete complete');
  assert.equal(states('cancelled'), 'complete cancelled cancelled cancelled');
  assert.equal(states('allocation_failed'), 'complete active upcoming upcoming');
});

test('an arrival time is shown only while the rider is', () => {
  const eta = {type: 'eta', job: JOB, state: 'ok', arrivesAt: 5, seconds: 1, at: 2};
  assert.deepEqual(after(subscribed(), eta).eta, {state: 'ok', arrivesAt: 5, seconds: 1, at: 2});
  const paused = after(subscribed(), {type: 'tracking', job: JOB, state: 'paused', reason: 'deactivated',
    text: 'paused'});
  assert.equal(reduce(paused, eta, NOW).change, null);
});

test('a resumed subscription keeps a position that is newer than the snapshot', () => {
  const view = after(subscribed(), positionAt(9, 1, 10));
  const {view: resumed} = reduce(view, subscribed({position: positionAt(4, 0)}), NOW + 500);
  assert.deepEqual([resumed.position.id, resumed.positionReceivedAt], [positionAt(9).id, NOW]);
  assert.equal(reduce(view, subscribed({position: null, tracking: 'paused'}), NOW).view.position, null);
});

test('a reset always wins, even if it goes back in time', () => {
  const view = after(subscribed(), positionAt(9, 1, 10), statusEvent(7, 'work_in_progress'));
  const {view: fresh, change} = reduce(view, reset({position: positionAt(2, 0)}), NOW);
  assert.equal(change, 'reset');
  assert.deepEqual([fresh.position.id, fresh.status, fresh.newestID], [positionAt(2).id, 'on_the_way',
    positionAt(2).id]);
  assert.equal(reduce(fresh, positionAt(3, 1, 3), NOW).change, 'location');
});

test('a refused or ended view shows no rider and ignores later messages', () => {
  const gone = [
    {type: 'ended', job: JOB, reason: 'completed'}, {type: 'error', replyTo: 'subscribe', job: JOB, code: 'not_found',
      message: 'no'},
  ];
  for (const message of gone) {
    const {view, change} = reduce(after(subscribed()), message, NOW);
    assert.deepEqual([change, view.position], [message.type === 'ended' ? 'ended' : 'refused', null]);
    assert.equal(reduce(view, positionAt(9, 1), NOW).change, null);
    assert.equal(reduce(view, message, NOW).change, null);
  }
});

test('an unknown message type is ignored', () => {
  const view = after(subscribed());
  assert.equal(reduce(view, {type: 'weather', job: JOB}, NOW).view, view);
});

test('in random histories a view never goes back, repetition changes nothing and a reset replaces everything', () => {
  for (let seed = 1; seed <= 1_500; seed++) {
    const random = seeded(seed);
    const any = (list) => list[Math.floor(random() * list.length)];
    const history = [];
    let [view, id, now] = [unknownView(JOB), 1, NOW];
    for (let count = 0; count < 40; count++) {
      id += 1 + Math.floor(random() * 3);
      now += Math.floor(random() * 2_000);
      const place = positionAt(id, count, count * 20 + random() * 30, {acc: random() < 0.1 ? 300 : 8});
      const state = {
        id: `${1_795_248_617_000 + id}-0`, tracking: any(['live', 'stale', 'paused', 'waiting']),
          position: any([place, null]),
        epoch: any(['e1', 'e1', 'e1', 'e2']),
      };
      const message = any([
        place, place, place, statusEvent(id, any(['on_the_way', 'work_in_progress'])), any([place, ...history]),
        {type: 'tracking', job: JOB, state: any(['live', 'stale', 'paused', 'arrived']), text: 'x'}, subscribed(state),
        reset(state), {type: 'eta', job: JOB, state: 'recalculating', at: id}, {type: 'unavailable', job: JOB,
          text: 'unavailable_network'},
        ...history.slice(-2),
      ]);
      history.push(message);
      const {view: next, change} = reduce(view, message, now);
      const context = `seed ${seed}, message ${count}: ${JSON.stringify(message)}`;
      assert.ok(Object.isFrozen(next), context);
      if (change === null && next.known) {
        assert.deepEqual([next.position, next.status, next.tracking], [view.position, view.status, view.tracking],
          context);
      }
      if (message.type === 'reset') {
        const {clockOffset: _, ...alone} = reduce(unknownView(JOB), message, now).view;
        const {clockOffset: __, ...seen} = next;
        assert.deepEqual(seen, alone, context);
      } else if (view.known && next.known && next.epoch === view.epoch) {
        if (view.position && next.position) assert.ok(BigInt(next.position.id) >= BigInt(view.position.id), context);
        assert.ok(Number(next.id.split('-')[0]) >= Number(view.id.split('-')[0]), context);
      }
      if (['paused', 'arrived', 'ended', 'waiting'].includes(next.tracking)) assert.equal(next.position, null, context);
      const again = reduce(next, message, now);
      assert.deepEqual([again.change, again.view], [null, next], context);
      view = next;
    }
  }
});

test('distances are great-circle distances', () => {
  assert.ok(Math.abs(distance({lat: 52.52, lon: 13.405}, {lat: 48.1375, lon: 11.575}) - 504_200) < 1_000);
});

// ---- pools ----

const change = (version, prev, rider, available, what = 'online') => ({
  type: 'rider', zone: 'rome', version, prev, rider, change: what, status: 'online', reachable: true, approved: true,
  draining: false, tasks: 0, capacity: 1, available, at: version,
});
const poolOf = (...messages) => messages.reduce((pool, message) => reducePool(pool, message).pool, unknownPool('rome'));
const all = {type: 'pool', zone: 'rome', version: 10, riders: [{rider: 'a', heartbeat: 1}], count: 1};

test('a pool starts with a snapshot and applies each change once', () => {
  const pool = poolOf(all, change(11, 10, 'b', true), change(11, 10, 'b', true), change(12, 11, 'a', false,
    'assigned'));
  assert.deepEqual([...pool.riders].map(([name, {available}]) => [name, available]), [['a', false], ['b', true]]);
  assert.deepEqual([pool.version, pool.count], [12, 1]);
  assert.equal(reducePool(pool, change(9, 8, 'c', true)).change, null);
  assert.equal(reducePool(unknownPool('rome'), change(9, 8, 'c', true)).change, null);
});

test('missed changes of a pool, received together, give the same pool', () => {
  const changes = [change(11, 10, 'b', true), change(12, 11, 'a', false, 'removed'), change(13, 12, 'c', true)];
  const seen = poolOf(all, ...changes);
  const resumed = poolOf(all, changes[0], {type: 'pool', zone: 'rome', version: 13, changes: changes.slice(1)});
  assert.deepEqual([...resumed.riders.keys()], ['b', 'c']);
  assert.deepEqual(resumed, seen);
});

test('a refused pool contains the reason', () => {
  const {pool, change: what} = reducePool(unknownPool('rome'), {type: 'error', replyTo: 'watch', code: 'forbidden',
    message: 'no'});
  assert.deepEqual([what, pool.refused.code], ['refused', 'forbidden']);
});

test('the rider\u2019s card changes with a reset, and is removed at the end of the job', () => {
  const card = {name: 'Rosa', vehicle: 'bicycle'};
  const withCard = (riderCard) => ({...subscribed().snapshot, riderCard, display: {orderNumber: 'A-7'}, metadata: {a: 'b'}});
  const first = after({...subscribed(), snapshot: withCard(card)});
  assert.deepEqual([first.riderCard, first.display.orderNumber, first.metadata.a], [card, 'A-7', 'b']);
  const other = reduce(first, {type: 'reset', job: JOB, snapshot: withCard({name: 'Ugo'})}, NOW);
  assert.deepEqual([other.change, other.view.riderCard], ['reset', {name: 'Ugo'}]);
  const nobody = reduce(first, {type: 'reset', job: JOB, snapshot: withCard(undefined)}, NOW).view;
  assert.equal(nobody.riderCard, null);
  for (const reason of ['completed', 'cancelled']) {
    const ended = reduce(first, {type: 'ended', job: JOB, reason}, NOW).view;
    assert.deepEqual([ended.riderCard, ended.display.orderNumber], [null, 'A-7']);
  }
  for (const reason of ['revoked', 'reassigned']) {
    const {riderCard, display, metadata} = reduce(first, {type: 'ended', job: JOB, reason}, NOW).view;
    assert.deepEqual([riderCard, display, metadata], [null, null, null]);
  }
  const refused = reduce(first, {type: 'error', job: JOB, code: 'not_found', message: ''}, NOW).view;
  assert.deepEqual([refused.riderCard, refused.display], [null, null]);
});
