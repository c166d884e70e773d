// The timing rules: reconnecting, heartbeat, sending rate and the position queue, with given times.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  PING_AFTER_EXPECTED, FIXES_PER_REPORT, FIX_LIFETIME, SESSION_LIMIT_RETRY, FixQueue, GIVE_UP_AFTER, MESSAGES_BURST,
  MESSAGES_PER_SECOND, MOST_FIXES, MessageBudget, LONGEST_NOT_BEFORE, PING_AFTER, PONG_WITHIN, SPREAD, closeMeaning, heartbeat,
  localTime, reconnectDelay,
} from '../../Sources/WebAssets/web/enroute-timing.js';

test('the delay before reconnecting is random, up to 3 s, then 2, 4, 8, 16 and 30 s', () => {
  const ceilings = [0, 1, 2, 3, 4, 5, 6, 60].map((failures) => reconnectDelay(failures, null, 0, () => 1));
  assert.deepEqual(ceilings, [3_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  assert.equal(reconnectDelay(3, null, 0, () => 0), 0);
});

test('a time from the gateway is used with a small spread and up to a maximum', () => {
  assert.equal(reconnectDelay(5, 9_000, 5_000, () => 0), 4_000);
  assert.equal(reconnectDelay(0, 9_000, 5_000, () => 1), 4_000 + SPREAD);
  assert.equal(reconnectDelay(0, 4_000, 5_000, () => 0), 0);
  assert.equal(reconnectDelay(0, 1e12, 0, () => 0), LONGEST_NOT_BEFORE);
});

test('B3: close codes 4500 to 4999 end the connection, all others reconnect', () => {
  const passing = [1000, 1001, 1006, 1011, 4000, 4004, 4005, 4008, 4009, 4499];
  for (const code of passing) assert.ok(closeMeaning(code).reconnects, `${code}`);
  for (const code of [4500, 4501, 4504, 4505, 4506, 4999]) assert.ok(!closeMeaning(code).reconnects, `${code}`);
  // At the session limit there may be room once a dead session ended: pinged after 25 s, closed 10 s later.
  assert.deepEqual([4008, 4009].map((code) => closeMeaning(code).retryInMs), [null, SESSION_LIMIT_RETRY]);
  assert.ok(SESSION_LIMIT_RETRY > 35_000);
  assert.equal(closeMeaning(4009).error, 'limit_exceeded');
  assert.equal(closeMeaning(4777).error, 'unavailable');
});

test('a silence is pinged after 20 s and given up after 40 s', () => {
  const silent = {receivedAt: 0, pingedAt: null, isProbing: false};
  assert.deepEqual(heartbeat(silent, PING_AFTER - 1), {what: 'wait', lookIn: 1});
  assert.deepEqual(heartbeat(silent, PING_AFTER), {what: 'ping', lookIn: GIVE_UP_AFTER - PING_AFTER});
  const pingedAt = {...silent, pingedAt: PING_AFTER};
  assert.deepEqual(heartbeat(pingedAt, GIVE_UP_AFTER - 1), {what: 'wait', lookIn: 1});
  assert.equal(heartbeat(pingedAt, GIVE_UP_AFTER).what, 'give up');
});

test('B41: if messages arrive every 8 s, a silence is pinged after 10 s', () => {
  const expecting = {receivedAt: 0, pingedAt: null, isProbing: false, expectsMessages: true};
  assert.deepEqual(heartbeat(expecting, PING_AFTER_EXPECTED - 1), {what: 'wait', lookIn: 1});
  assert.deepEqual(heartbeat(expecting, PING_AFTER_EXPECTED), {what: 'ping', lookIn: GIVE_UP_AFTER - PING_AFTER_EXPECTED});
  assert.equal(heartbeat({...expecting, pingedAt: PING_AFTER_EXPECTED}, GIVE_UP_AFTER - 1).what, 'wait');
  assert.equal(heartbeat({...expecting, pingedAt: PING_AFTER_EXPECTED}, GIVE_UP_AFTER).what, 'give up');
});

test('after a sleep, a device pings before it gives up', () => {
  assert.equal(heartbeat({receivedAt: 0, pingedAt: null, isProbing: false}, 3_600_000).what, 'ping');
});

test('after the network is back a ping is sent immediately, with a timeout of 4 s', () => {
  assert.deepEqual(heartbeat({receivedAt: 10, pingedAt: null, isProbing: true}, 11), {what: 'ping', lookIn: PONG_WITHIN});
  assert.deepEqual(heartbeat({receivedAt: 10, pingedAt: 11, isProbing: true}, 10 + PONG_WITHIN), {what: 'wait', lookIn: 1});
  assert.equal(heartbeat({receivedAt: 10, pingedAt: 11, isProbing: true}, 11 + PONG_WITHIN).what, 'give up');
});

test('messages are sent in a burst, then at a constant rate', () => {
  const budget = new MessageBudget(0);
  for (let count = 0; count < MESSAGES_BURST; count++) assert.equal(budget.take(0), 0);
  const wait = budget.take(0);
  assert.equal(wait, Math.ceil(1000 / MESSAGES_PER_SECOND));
  assert.equal(budget.take(wait), 0);
  assert.ok(budget.take(wait) > 0);
  let taken = 0;
  for (let now = 10_000; now < 20_000; now += 10) if (budget.take(now) === 0) taken += 1;
  assert.ok(taken <= MESSAGES_BURST + 10 * MESSAGES_PER_SECOND, `${taken}`);
});

test('lower limits of a gateway apply, with a reserve for pings; higher ones change nothing', () => {
  const taken = (limits) => {
    const budget = new MessageBudget(0, limits);
    let count = 0;
    while (budget.take(0) === 0) count += 1;
    const burst = count;
    for (let now = 0; now <= 100_000; now += 10) if (budget.take(now) === 0) count += 1;
    return [burst, (count - burst) / 100];
  };
  assert.deepEqual(taken({messagesPerSecond: 4, messagesBurst: 8}), [6, 3]);
  const [burst, rate] = taken({messagesPerSecond: 1, messagesBurst: 1});
  assert.ok(burst === 1 && rate > 0.7 && rate < 0.8, `${rate}`);
  for (const limits of [undefined, {}, {messagesPerSecond: 1_000, messagesBurst: 2_000}]) {
    assert.deepEqual(taken(limits), [MESSAGES_BURST, MESSAGES_PER_SECOND]);
  }
});

// ---- positions ----

const clock = {wall: 100_000, clockOffset: 0};
const fix = (at, more = {}) => ({at, lat: 1, lon: 2, ...more});

test('a report contains the newest readings first and a sequence number', () => {
  const queue = new FixQueue();
  for (const at of [3, 9, 5, 7, 1, 8]) queue.add(['a'], fix(90_000 + at));
  const report = queue.next(0, clock);
  assert.deepEqual(report.fixes.map(({at}) => at - 90_000), [9, 8, 7, 5, 3].slice(0, FIXES_PER_REPORT));
  assert.deepEqual([report.type, report.job, report.seq, 'jobs' in report], ['location', 'a', 1, false]);
  assert.equal(queue.count, 0);
  queue.add(['a'], fix(95_000));
  assert.equal(queue.next(10_000, clock).seq, 2);
});

test('reports are no more frequent than the gateway requests', () => {
  const queue = new FixQueue();
  queue.interval = 8;
  queue.add(['a'], fix(90_000));
  assert.ok(queue.next(1_000, clock));
  queue.add(['a'], fix(91_000));
  assert.equal(queue.next(2_000, clock), null);
  assert.equal(queue.due(2_000), 7_000);
  assert.ok(queue.next(9_000, clock));
  queue.interval = 0.001;
  assert.equal(queue.interval, 1);
  queue.interval = 99;
  assert.equal(queue.interval, 20);
});

test('the queue discards the oldest readings, and readings that are too old are not sent', () => {
  const queue = new FixQueue();
  for (let at = 0; at < 100; at++) queue.add(['a'], fix(at));
  assert.equal(queue.count, MOST_FIXES);
  assert.equal(queue.next(0, {wall: 99 + FIX_LIFETIME, clockOffset: 0}), null);
  assert.equal(queue.count, 0);
  queue.add(['a'], fix(50_000));
  queue.add(['a'], fix(99_000));
  assert.equal(queue.next(0, {wall: 50_000 + FIX_LIFETIME, clockOffset: 0}).fixes.length, 1);
});

test('the same reading is queued once', () => {
  const queue = new FixQueue();
  queue.add(['a'], fix(1));
  queue.add(['a'], fix(1));
  assert.equal(queue.count, 1);
});

test('a reading at (0, 0) is ignored, and an invalid job name throws', () => {
  const queue = new FixQueue();
  for (const [lat, lon] of [[0, 0], [91, 0], [0, 181], [NaN, 1], [null, 1], [undefined, undefined]]) {
    queue.add(['a'], {at: 1, lat, lon});
  }
  queue.add(['a'], {at: NaN, lat: 1, lon: 1});
  assert.equal(queue.count, 0);
  assert.throws(() => queue.add(['no/such'], fix(1)), RangeError);
});

test('a report for several jobs keeps their order, and each list of jobs has a report of its own', () => {
  const queue = new FixQueue();
  queue.add(['b', 'a'], fix(90_000));
  queue.add(['b', 'c'], fix(91_000));
  const report = queue.next(0, clock);
  assert.deepEqual([report.jobs, 'job' in report, report.fixes.length], [['b', 'a'], false, 1]);
  assert.deepEqual(queue.next(9_000, clock).jobs, ['b', 'c']);
});

test('one reading that is published for two jobs in two calls is reported for both, in turn', () => {
  const queue = new FixQueue();
  const seen = [];
  for (let now = 0; now < 8_000; now += 1_000) {
    for (const job of ['a', 'b']) queue.add([job], fix(90_000 + now));
    const report = queue.next(now, clock);
    seen.push([report.job, report.fixes[0].at - 90_000 - now]);
  }
  assert.deepEqual(seen.map(([job]) => job).join(''), 'abababab');
  assert.ok(seen.every(([, age]) => age === 0), `${seen}`);
  // Without a reconnect between them, an answer counts for all earlier reports.
  queue.answered(7);
  queue.repeatUnanswered();
  assert.deepEqual([queue.next(9_000, clock).job, queue.next(10_000, clock).job], ['b', 'a']);
});

test('readings of many jobs without an answer are bounded', () => {
  const queue = new FixQueue();
  for (let count = 0; count < 100; count++) {
    queue.add([`j${count}`], fix(90_000 + count));
    queue.next(count * 1_000, clock);
  }
  queue.add(['newest'], fix(91_000));
  queue.repeatUnanswered();
  assert.equal(queue.count, MOST_FIXES);
  const next = Array.from({length: MOST_FIXES}, (_, index) => queue.next((200 + index) * 1_000, clock).job);
  assert.equal(next.at(-1), 'newest');
});

test('a position is reported for 1 to 10 jobs', () => {
  const queue = new FixQueue();
  assert.throws(() => queue.add([], fix(1)), /1 to 10 jobs/);
  assert.throws(() => queue.add(Array.from({length: 11}, (_, index) => `j${index}`), fix(1)), RangeError);
});

test('unknown members are omitted and out-of-range ones corrected', () => {
  const queue = new FixQueue();
  queue.add(['a'], {at: 90_000.4, lat: 41.123456789, lon: 12, acc: null, spd: NaN, hdg: -90, altitude: 3});
  assert.deepEqual(queue.next(0, clock).fixes, [{at: 90_000, lat: 41.1234568, lon: 12, hdg: 270}]);
  queue.add(['a'], {at: 91_000, lat: 1, lon: 2, acc: 20_000, spd: -1, hdg: 360, mock: false});
  assert.deepEqual(queue.next(9_000, clock).fixes, [{at: 91_000, lat: 1, lon: 2, hdg: 0}]);
  queue.add(['a'], {at: 92_000, lat: 1, lon: 2, mock: true});
  assert.deepEqual(queue.next(18_000, clock).fixes, [{at: 92_000, lat: 1, lon: 2, mock: true}], 'an invented place says so');
});

test('a clock that is wrong is corrected by the gateway\u2019s, a slightly wrong one is not', () => {
  const queue = new FixQueue();
  queue.add(['a'], fix(90_000));
  assert.equal(queue.next(0, {wall: 100_000, clockOffset: -300_000}).fixes[0].at, -210_000);
  queue.add(['a'], fix(90_001));
  assert.equal(queue.next(9_000, {wall: 100_000, clockOffset: 1_900}).fixes[0].at, 90_001);
});

test('a reading’s time may be by the phone\u2019s clock or by one that is right, and means the same moment', () => {
  const clockOffsets = [60_000, -60_000, 700_000, -700_000];
  for (const clockOffset of clockOffsets) {
    for (const ago of [0, 4_000]) {
      const clock = {wall: 2_000_000, clockOffset};
      const times = [localTime(2_000_000 - ago, clock), localTime(2_000_000 + clockOffset - ago, clock)];
      assert.deepEqual(times, [2_000_000 - ago, 2_000_000 - ago], `${clockOffset} ${ago}`);
    }
  }
  assert.equal(localTime(1_940_000, {wall: 2_000_000, clockOffset: 1_900}), 1_940_000, 'a right clock and an old reading');
  assert.equal(localTime(3_000_000, {wall: 2_000_000, clockOffset: 60_000}), 3_000_000, 'by neither clock');
});

test('an unanswered report is repeated after a reconnect, an answered one is not', () => {
  const queue = new FixQueue();
  queue.add(['a'], fix(90_000));
  queue.next(0, clock);
  queue.repeatUnanswered();
  assert.equal(queue.due(0), 0);
  assert.equal(queue.next(0, clock).fixes[0].at, 90_000);
  queue.answered(2);
  queue.repeatUnanswered();
  assert.equal(queue.count, 0);
});

test('nothing is sent for a job after it is forgotten', () => {
  const queue = new FixQueue();
  queue.add(['a'], fix(90_000));
  queue.add(['b'], fix(91_000));
  queue.forget('a');
  assert.equal(queue.count, 1);
  queue.next(0, clock);
  queue.forget('b');
  queue.repeatUnanswered();
  assert.equal(queue.count, 0);
});

test('nothing is queued for a job for which another device reports', () => {
  const queue = new FixQueue();
  queue.add(['a', 'b'], fix(90_000));
  queue.forget('a', true);
  assert.equal(queue.count, 1, 'the reading stays for the other job');
  queue.add(['a'], fix(91_000));
  assert.equal(queue.count, 1);
  queue.add(['a', 'b'], fix(91_000));
  const {job, fixes} = queue.next(0, clock);
  assert.deepEqual([job, fixes.map(({at}) => at)], ['b', [91_000, 90_000]]);
  queue.elsewhere.delete('a');
  queue.add(['a', 'b'], fix(92_000));
  assert.deepEqual(queue.next(9_000, clock).jobs, ['a', 'b']);
  assert.throws(() => queue.add([], fix(1)), RangeError);
});

test('a report contains the battery level only if it is a valid number', () => {
  const clock = {wall: 1_000_000, clockOffset: 0};
  const none = undefined;
  for (const [battery, told] of [[0.42, 0.42], [0, 0], [1, 1], [null, none], [none, none], [1.5, none]]) {
    const queue = new FixQueue();
    queue.add(['visit-1'], {at: 1_000_000, lat: 41.9, lon: 12.5, battery});
    const report = queue.next(0, clock);
    assert.equal(report.battery, told);
    assert.deepEqual(Object.keys(report.fixes[0]), ['at', 'lat', 'lon']);
  }
});
