// The rider's cards: which ones are shown, and how new tasks are announced.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Jobs, RECHECK_AFTER} from '../../Sources/WebAssets/web/rider-jobs.js';
import {UNDO_WITHIN} from '../../Sources/WebAssets/web/rider-steps.js';
import {numberOf} from '../../Sources/WebAssets/web/rider-tasks.js';
import {settled} from './clock.mjs';

const words = {
  startShares: 'shares', undoHint: 'undo?', undone: 'undone',
  moreTasks: (n) => `${n} more`, signInExpired: 'sign in', newTask: (job) => `New task: ${job}`, taskGone: (job) => `Gone: ${job}`, jobReassigned: 'reassigned', jobDone: 'done',
  jobCancelled: 'cancelled', verbQueued: 'later', travelOver: 'time is up', illegal: 'illegal', verbFailed: 'failed', statuses: {}, notReady: () => '', done: () => '',
};
const doing = (...names) => names.map((job) => ({job, state: 'accepted'}));
const ten = Array.from({length: 10}, (_, at) => `order-${at}`);

/** The cards of a rider, with the test acting as the gateway. */
function cards() {
  const said = [];
  const sent = [];
  const world = {answer: async () => ({}), isSlow: false};
  const heard = new Map();
  const listeners = {};
  const prepared = [];
  let follows = 0;
  const enroute = {
    serverTime: 1_000_000,
    on: (type, listener) => { listeners[type] = listener; },
    follow(job, listener) {
      follows += 1;
      // An ended job is followed again, and its view is unknown until the gateway answers.
      const first = heard.has(job) || world.isSlow ? {job, known: false} : {job, known: true, kind: 'delivery', status: 'accepted'};
      const hears = (parts, change) => {
        follow.view = {...follow.view, ...parts};
        listener(follow.view, change);
        if (change === 'snapshot') listeners.subscribed({job});
        if (change === 'reset') listeners.reset({job});
      };
      const follow = {view: first, stop() { if (heard.get(job) === hears) heard.delete(job); }};
      heard.set(job, hears);
      return follow;
    },
    rest: async (method, path, {body, headers}) => {
      sent.push({path, body, key: headers['Idempotency-Key']});
      return world.answer();
    },
  };
  const setOff = [];
  const travel = {mayStart: true, stateOf: () => 'off', ended() {}, resume() {}, setOff: (job) => setOff.push(job), travelling: new Map()};
  let rings = 0;
  let rechecked = 0;
  const navigation = {prepare: (job, to, version) => prepared.push(`${job} ${to} ${version}`)};
  const jobs = new Jobs(enroute, travel, navigation, words, {
    newTask() { rings += 1; }, changed() {}, say: (_, text) => { if (text) said.push(text); }, recheck: async () => { rechecked += 1; },
  });
  return {
    setOff, travel, rings: () => rings, rechecks: () => rechecked, jobs, said, sent, world, prepared, becomes: (job, status) => heard.get(job)({status}, 'status'),
    hears: (job, parts, change) => heard.get(job)(parts, change), names: () => jobs.all.map(({job}) => job),
    count: () => follows, card: (name) => jobs.all.find(({job}) => job === name),
  };
}

test('in a full list the oldest finished card makes room for a new task', () => {
  const {jobs, becomes, names} = cards();
  jobs.tasks(doing(...ten), true);
  becomes('order-4', 'delivered');
  becomes('order-6', 'delivered');
  const left = ten.filter((job) => job !== 'order-4' && job !== 'order-6');
  jobs.tasks(doing(...left, 'new'), false);
  assert.deepEqual(names(), [...ten.filter((job) => job !== 'order-4'), 'new']);
});

test('ten tasks that were assigned to another rider make room immediately', () => {
  const {jobs, names} = cards();
  jobs.tasks(doing(...ten), true);
  const others = ten.map((job) => `${job}-b`);
  jobs.tasks(doing(...others), false);
  assert.deepEqual(names(), others);
});

test('a task without room for its card is announced as one more, and by its name once it has a card', () => {
  const {jobs, said, names, becomes, rings} = cards();
  jobs.tasks(doing(...ten), true);
  for (let poll = 0; poll < 3; poll += 1) jobs.tasks(doing(...ten, 'new'), false);
  assert.deepEqual([names(), said, jobs.hidden, rings()], [ten, ['1 more'], 1, 1]);
  for (let poll = 0; poll < 3; poll += 1) jobs.tasks(doing(...ten, 'new', 'newer'), false);
  assert.deepEqual([said, jobs.hidden, rings()], [['1 more', '2 more'], 2, 2]);
  jobs.tasks(doing(...ten, 'new'), false);
  assert.equal(jobs.hidden, 1);
  becomes('order-0', 'delivered');
  said.length = 0;
  for (let poll = 0; poll < 3; poll += 1) jobs.tasks(doing(...ten.slice(1), 'new'), false);
  assert.deepEqual([names(), said], [[...ten.slice(1), 'new'], ['New task: new']]);
  assert.equal(jobs.hidden, 0);
});

test('of the first response, the tasks closest to their end have cards; the others are counted, not announced or named', () => {
  const {jobs, said, rings, names} = cards();
  const tasks = [...doing(...ten, 'one'), {job: 'two', state: 'in_transit'}];
  for (const isFirst of [true, false]) jobs.tasks(tasks, isFirst);
  assert.deepEqual([jobs.hidden, said, rings()], [2, [], 0]);
  assert.deepEqual([names(), jobs.nameOf('two'), jobs.nameOf('one')], [['two', ...ten.slice(0, 9)], 'two', undefined]);
});

test('a new task rings at once, and is announced with its order number', () => {
  const {jobs, world, said, hears, rings} = cards();
  jobs.tasks([], true);
  world.isSlow = true;
  jobs.tasks(doing('one'), false);
  assert.deepEqual([said, rings()], [[], 1]);
  for (const change of ['snapshot', 'snapshot', 'reset']) hears('one', {...alive, display: {orderNumber: 'A-7'}}, change);
  assert.deepEqual([said, rings(), jobs.nameOf('one')], [['New task: A-7'], 1, 'A-7']);
});

test('the order number of a task stays when the end removes it', async () => {
  const {jobs, said, hears, card} = cards();
  jobs.tasks(doing('one'), true);
  hears('one', {display: {orderNumber: 'A-7'}}, 'snapshot');
  const taken = jobs.take('one', {verb: 'cancelled', path: 'task', body: {}});
  hears('one', {ended: 'reassigned', display: null}, 'ended');
  await taken;
  assert.deepEqual([numberOf(card('one')), card('one').message, said], ['A-7', 'Gone: A-7', ['Gone: A-7']]);
});

test('a task whose card was closed is not announced again', () => {
  const {jobs, said} = cards();
  jobs.tasks([], true);
  for (let poll = 0; poll < 3; poll += 1) {
    jobs.tasks(doing('new'), false);
    jobs.dismiss('new');
  }
  assert.deepEqual(said, ['New task: new']);
});

const alive = {known: true, kind: 'delivery', status: 'accepted', ended: null};

test('a task that was removed and reappears is followed again and announced', () => {
  const {jobs, said, hears, card, count} = cards();
  jobs.tasks(doing('one'), true);
  hears('one', {ended: 'reassigned'}, 'ended');
  assert.deepEqual([card('one').message, said.splice(0)], ['reassigned', ['reassigned']]);
  // It reappears before the rider has read that it was removed.
  jobs.tasks(doing('one'), false);
  hears('one', {...alive, display: {orderNumber: 'A-7'}}, 'snapshot');
  assert.deepEqual([count(), said.splice(0), card('one').gone, card('one').message], [2, ['New task: A-7'], null, '']);
  hears('one', {status: 'ready_for_pickup'}, 'status');
  assert.equal(card('one').view.status, 'ready_for_pickup');
  jobs.tasks(doing('one'), false);
  assert.deepEqual([count(), said], [2, []]);
});

test('a removed task that is still listed is neither shown nor announced again', () => {
  const {jobs, said, hears, card, count} = cards();
  jobs.tasks(doing('one'), true);
  hears('one', {ended: 'reassigned'}, 'ended');
  said.length = 0;
  jobs.tasks(doing('one'), false);
  jobs.tasks(doing('one'), false);
  assert.equal(count(), 2);
  hears('one', {refused: {code: 'not_found'}}, 'refused');
  assert.deepEqual([card('one').gone, card('one').view.status, said], ['reassigned', 'accepted', []]);
  jobs.tasks([], false);
  assert.deepEqual([card('one').gone, said], ['reassigned', []]);
});

test('a task that was completed by mistake is followed again once operations has corrected that', () => {
  const {jobs, said, hears, card, count} = cards();
  jobs.tasks(doing('one'), true);
  hears('one', {status: 'delivered'}, 'status');
  hears('one', {ended: 'completed'}, 'ended');
  jobs.tasks([], false);
  said.length = 0;
  jobs.tasks(doing('one'), false);
  hears('one', {...alive, status: 'in_transit'}, 'snapshot');
  assert.deepEqual([count(), card('one').view.status, card('one').task, card('one').message], [2, 'in_transit', 'accepted', '']);
  assert.deepEqual(said, ['New task: one']);
});

test('a finished job without a task is followed again each minute, so a correction is seen', (run) => {
  run.mock.timers.enable({apis: ['Date'], now: 1_000_000});
  const {jobs, hears, card, count} = cards();
  jobs.follow('one');
  const ends = () => {
    hears('one', {...alive, status: 'delivered'}, 'snapshot');
    hears('one', {ended: 'completed'}, 'ended');
  };
  for (const follows of [2, 3]) {
    ends();
    jobs.tasks([], false);
    assert.equal(count(), follows - 1);
    run.mock.timers.tick(RECHECK_AFTER + 1);
    for (let poll = 0; poll < 3; poll += 1) jobs.tasks([], false);
    assert.equal(count(), follows);
  }
  hears('one', {...alive, status: 'in_transit'}, 'snapshot');
  assert.deepEqual([card('one').view.status, card('one').gone, card('one').message], ['in_transit', null, '']);
});

for (const [reason, word] of [['reassigned', 'reassigned'], ['revoked', 'Gone: one']]) {
  test(`a job without a task that is ${reason} ends for its rider, who hears it once`, () => {
    const {jobs, said, hears, card} = cards();
    jobs.follow('one');
    hears('one', {ended: reason}, 'ended');
    jobs.tasks([], true);
    assert.deepEqual([card('one').gone, card('one').message, said], [word, word, [word]]);
  });
}

test('a job that ends regularly is not reported as taken away', () => {
  const {jobs, hears, card} = cards();
  jobs.tasks(doing('one'), true);
  hears('one', {status: 'delivered'}, 'status');
  hears('one', {ended: 'completed'}, 'ended');
  jobs.tasks([], false);
  assert.deepEqual([card('one').gone, card('one').message], [null, 'done']);
});

test('a rider who returns a task reads that, whichever message arrives first', async () => {
  const {jobs, said, hears, card} = cards();
  jobs.tasks(doing('one'), true);
  const taken = jobs.take('one', {verb: 'cancelled', path: 'task', body: {}});
  hears('one', {ended: 'reassigned'}, 'ended');
  await taken;
  jobs.tasks([], false);
  assert.deepEqual([card('one').message, said], ['Gone: one', ['Gone: one']]);
});

test('the end of a task is shown and announced in place of an older message', () => {
  const {jobs, said, becomes, card} = cards();
  jobs.tasks(doing('one', 'two'), true);
  for (const job of ['one', 'two']) jobs.note(job, 'an old note');
  said.length = 0;
  jobs.tasks(doing('two'), false);
  becomes('two', 'delivered');
  assert.deepEqual([card('one').message, card('two').message, said], ['reassigned', 'done', ['reassigned']]);
});

test('settling a cause removes only its message', () => {
  const {jobs, card} = cards();
  jobs.follow('one');
  jobs.note('one', 'not told yet', 'travel');
  jobs.settled('one', 'travel');
  assert.equal(card('one').message, '');
  jobs.note('one', 'not told yet', 'travel');
  jobs.note('one', 'no directions');
  jobs.settled('one', 'travel');
  assert.equal(card('one').message, 'no directions');
});

test('the route is loaded again with each snapshot, but not for a position or a status', () => {
  const {jobs, hears, prepared} = cards();
  jobs.follow('one');
  hears('one', {}, 'snapshot');
  hears('one', {}, 'location');
  hears('one', {status: 'preparing'}, 'status');
  assert.deepEqual([...new Set(prepared.splice(0))], ['one vendor 1']);
  hears('one', {}, 'reset');
  assert.deepEqual(prepared, ['one vendor 2']);
  hears('one', {ended: 'reassigned'}, 'ended');
  assert.equal(prepared.length, 1);
});

const STEP = {verb: 'picked_up', path: 'task', body: {state: 'picked_up'}};
const network = async () => { throw Object.assign(new Error('no network'), {code: 'network'}); };

test('D19: a step without a connection waits and is sent once the gateway answers, as the same request', async () => {
  const {jobs, said, sent, world, card} = cards();
  jobs.tasks(doing('one'), true);
  world.answer = network;
  await jobs.take('one', STEP);
  await jobs.take('one', STEP);
  assert.deepEqual([card('one').message, card('one').busy, sent.length, said], ['later', 'picked_up', 1, ['later']]);
  jobs.connected();
  await settled();
  assert.deepEqual([card('one').message, sent.length, said], ['later', 2, ['later']]);
  world.answer = async () => ({});
  jobs.tasks(doing('one'), false);
  await settled();
  assert.deepEqual([card('one').message, card('one').busy, sent.length], ['', null, 3]);
  assert.deepEqual(sent.map(({path, body}) => [path, body]), Array(3).fill(['/jobs/one/task', {state: 'picked_up'}]));
  assert.equal(new Set(sent.map(({key}) => key)).size, 1);
  jobs.connected();
  await settled();
  assert.equal(sent.length, 3);
});

test('D19: a waiting step that is no longer possible, or whose task is gone, is not sent forever', async () => {
  const {jobs, sent, world, card, becomes} = cards();
  jobs.tasks(doing('one', 'two'), true);
  world.answer = network;
  await jobs.take('one', STEP);
  await jobs.take('two', STEP);
  becomes('two', 'cancelled');
  world.answer = async () => { throw Object.assign(new Error('not now'), {code: 'illegal_transition'}); };
  jobs.connected();
  await settled();
  assert.deepEqual([card('one').message, card('one').busy, card('two').busy], ['illegal', null, null]);
  jobs.connected();
  await settled();
  assert.deepEqual(sent.map(({path}) => path), ['/jobs/one/task', '/jobs/two/task', '/jobs/one/task']);
});

test('a step that is refused because the session expired says so', async () => {
  const {jobs, world, card} = cards();
  jobs.tasks(doing('one'), true);
  world.answer = async () => { throw Object.assign(new Error('expired'), {code: 'unauthorized', status: 401}); };
  await jobs.take('one', STEP);
  assert.deepEqual([card('one').message, card('one').busy], ['sign in', null]);
});

test('a correction reads the task again', () => {
  const {jobs, hears, rechecks} = cards();
  jobs.tasks(doing('one'), true);
  hears('one', {status: 'in_transit'}, 'status');
  assert.equal(rechecks(), 1);
  hears('one', {status: 'ready_for_pickup'}, 'reset');
  assert.equal(rechecks(), 2);
});

test('D24: once the sharing time of a job is over, it offers no travel mode and shows the reason', () => {
  const {jobs, hears, card} = cards();
  jobs.follow('one');
  hears('one', {status: 'in_transit', travelDeadline: 1_000_001}, 'snapshot');
  assert.deepEqual([card('one').isTimeUp, card('one').hint], [false, '']);
  hears('one', {travelDeadline: 1_000_000}, 'snapshot');
  assert.deepEqual([card('one').isTimeUp, card('one').hint], [true, 'time is up']);
  hears('one', {travelDeadline: null, tracking: 'ended', reason: 'time_limit'}, 'tracking');
  assert.equal(card('one').isTimeUp, true);
});

test('each new task rings once, and those of the first response do not', () => {
  const {jobs, rings} = cards();
  jobs.tasks(doing('one'), true);
  assert.equal(rings(), 0);
  for (let poll = 0; poll < 3; poll += 1) jobs.tasks(doing('one', 'two'), false);
  assert.equal(rings(), 1);
});

test('a card states that setting off also starts travel mode, unless the browser refuses the location', () => {
  const {jobs, travel, hears, card} = cards();
  jobs.follow('one');
  hears('one', {kind: 'service', status: 'assigned'}, 'snapshot');
  assert.equal(card('one').hint, 'shares');
  travel.mayStart = false;
  assert.equal(card('one').hint, '');
  travel.mayStart = true;
  hears('one', {status: 'on_the_way'}, 'status');
  assert.equal(card('one').hint, '');
});

test('US-072: setting off also starts travel mode once the gateway accepted it, and other steps do not', async () => {
  const {jobs, world, setOff} = cards();
  jobs.tasks(doing('one'), true);
  await jobs.take('one', STEP);
  assert.deepEqual(setOff, []);
  const start = {verb: 'in_transit', path: 'task', body: {state: 'in_transit'}};
  world.answer = async () => { throw Object.assign(new Error('no'), {code: 'conflict'}); };
  await jobs.take('one', start);
  assert.deepEqual(setOff, []);
  world.answer = network;
  await jobs.take('one', start);
  assert.deepEqual(setOff, []);
  world.answer = async () => ({});
  jobs.connected();
  await settled();
  assert.deepEqual(setOff, ['one']);
});

const FINAL = {verb: 'completed', path: 'task', body: {state: 'completed'}};

test('D2: a final step can be undone for ten seconds, and is then sent', async (run) => {
  run.mock.timers.enable({apis: ['setTimeout', 'Date']});
  const {jobs, sent, card, said} = cards();
  jobs.tasks(doing('one'), true);
  await jobs.take('one', FINAL);
  assert.deepEqual([card('one').canUndo, card('one').message, card('one').busy, sent], [true, 'undo?', 'completed', []]);
  jobs.undo('one');
  run.mock.timers.tick(UNDO_WITHIN);
  assert.deepEqual([card('one').canUndo, card('one').message, card('one').busy, sent], [false, '', null, []]);
  assert.deepEqual(said, ['undo?', 'undone']);
  await jobs.take('one', FINAL);
  run.mock.timers.tick(UNDO_WITHIN - 1);
  assert.deepEqual(sent, []);
  run.mock.timers.tick(1);
  assert.deepEqual([sent.length, card('one').canUndo, card('one').message], [1, false, '']);
  // It is too late now.
  jobs.undo('one');
  assert.equal(card('one').busy, 'completed');
});

test('D2: a rider who leaves the page sends the final step at once', async () => {
  const {jobs, sent, card} = cards();
  jobs.tasks(doing('one'), true);
  await jobs.take('one', FINAL);
  jobs.hurry();
  assert.deepEqual([sent.length, card('one').canUndo], [1, false]);
});
