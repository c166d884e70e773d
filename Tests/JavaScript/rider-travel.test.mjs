// Travel mode across connections: what is switched off stays off, what travelled continues, and signed-out riders are not
// located.

import assert from 'node:assert/strict';
import {afterEach, beforeEach, test} from 'node:test';

import {settled} from './clock.mjs';
import {page, phone} from './page.mjs';
import {open} from './connected.mjs';

const {PRESENCE_EVERY} = await import('../../Sources/WebAssets/web/rider-location.js');
const {PRESENCE, Travel} = await import('../../Sources/WebAssets/web/rider-travel.js');
const {words} = await import('../../Sources/WebAssets/web/rider-words.js');
const elsewhere = Object.assign(new Error('Another device reports.'), {code: 'other_device'});
const lost = Object.assign(new Error('The connection was lost.'), {code: 'network'});

beforeEach(() => {
  sessionStorage.clear();
  phone.watchers.clear();
  phone.statuses.length = 0;
  phone.looks = 0;
  phone.permission = 'granted';
});

const begun = [];
afterEach(() => { for (const travel of begun.splice(0)) travel.pause(); });

/** A rider's travel mode, with the test acting as the gateway: `answer` is its answer to `travel`. */
function rider() {
  const listeners = {};
  const world = {said: [], resumes: [], shared: [], failures: [], settled: [], answer: async () => ({})};
  const enroute = {
    on: (type, listener) => { listeners[type] = listener; },
    travel(job, active, {resume = false} = {}) {
      world.said.push([job, active]);
      world.resumes.push(resume);
      return world.answer(job, active);
    },
    publish: (jobs) => world.shared.push(jobs),
    reportUnavailable() {},
  };
  world.travel = new Travel(enroute, {
    changed() {}, panel() {}, allowed() {}, inOrder: (jobs) => jobs, presence() {}, settled: (job) => world.settled.push(job),
    failed: (job, {code}, how) => world.failures.push([job, code, how?.isOff ?? false]),
  });
  begun.push(world.travel);
  world.connects = async () => { listeners.welcome(); await settled(); };
  world.refuses = (error) => listeners.error(error);
  world.replies = (replyTo) => listeners.ok({replyTo});
  world.heard = () => world.said.splice(0);
  return world;
}

test('travel mode switched off during a disconnect stays off, and the gateway is notified later', async () => {
  const world = rider();
  await world.travel.activate('one');
  await settled();
  phone.read();
  assert.deepEqual(world.shared.splice(0), [['one']]);
  world.heard();
  world.answer = async () => { throw lost; };
  await world.travel.deactivate('one');
  phone.read();
  assert.deepEqual([world.shared, phone.watchers.size, world.travel.stateOf('one')], [[], 0, 'off']);
  assert.deepEqual(world.failures, [['one', 'network', true]]);
  world.answer = async () => ({});
  await world.connects();
  await world.connects();
  assert.deepEqual(world.heard(), [['one', false], ['one', false]]);
  assert.deepEqual([phone.watchers.size, world.travel.stateOf('one')], [0, 'off']);
});

test('switching off later than the tap does not switch off another phone that took over', async () => {
  const world = rider();
  await world.travel.activate('one');
  await settled();
  world.answer = async () => { throw lost; };
  await world.travel.deactivate('one');
  assert.deepEqual(world.resumes.splice(0), [false, false]);
  world.answer = async () => { throw elsewhere; };
  await world.connects();
  assert.deepEqual(world.resumes.splice(0), [true]);
  assert.deepEqual(world.failures.splice(1), [['one', 'other_device', false]]);
  await world.connects();
  assert.deepEqual([world.resumes, world.travel.stateOf('one')], [[], 'off']);
});

test('a wrong clock of the phone is shown until the rider shares no location any longer', async () => {
  const world = rider();
  await world.travel.activate('one');
  await settled();
  world.refuses({replyTo: 'location', code: 'implausible_position', job: 'one', reason: 'clock'});
  assert.deepEqual([world.travel.unavailability.note, world.travel.stateOf('one')], ['wrongClock', 'on']);
  assert.ok(words.en.wrongClock && words.de.wrongClock);
  await world.travel.deactivate('one');
  assert.equal(world.travel.unavailability.note, null);
});

test('while a job is being switched off, readings are sent for the other jobs only', async () => {
  const world = rider();
  for (const job of ['one', 'two']) await world.travel.activate(job);
  await settled();
  world.answer = () => new Promise(() => {});
  world.travel.deactivate('one');
  world.shared.length = 0;
  phone.read();
  assert.deepEqual(world.shared, [['two']]);
});

test('a job that is switched on again is not switched off after a reconnect', async () => {
  const world = rider();
  await world.travel.activate('one');
  await settled();
  world.answer = async () => { throw lost; };
  await world.travel.deactivate('one');
  world.answer = async () => ({});
  await world.travel.activate('one');
  await settled();
  world.heard();
  await world.connects();
  assert.deepEqual(world.heard(), [['one', true]]);
});

test('sharing is confirmed by the answer to a report, and again each time it begins', async () => {
  const world = rider();
  for (const round of [1, 2]) {
    await world.travel.activate('one');
    await settled();
    phone.read();
    world.replies('travel');
    assert.equal(world.travel.isConfirmed, false, `before the answer, round ${round}`);
    world.replies('location');
    assert.equal(world.travel.isConfirmed, true);
    await world.travel.deactivate('one');
  }
});

test('after a reload every travelling job continues, in whatever order they are known', async () => {
  const before = rider();
  for (const job of ['one', 'two']) await before.travel.activate(job);
  await settled();
  const world = rider();
  await world.travel.resume('one');
  await settled();
  await world.travel.resume('two');
  await settled();
  assert.ok(world.heard().every(([, active]) => active));
  assert.deepEqual(['one', 'two'].map((job) => world.travel.stateOf(job)), ['on', 'on']);
});

test('after a reload a refused or ended job does not continue', async () => {
  const before = rider();
  for (const job of ['one', 'two', 'three']) await before.travel.activate(job);
  await settled();
  before.answer = async () => { throw Object.assign(new Error('no'), {code: 'forbidden'}); };
  await before.connects();
  const world = rider();
  for (const job of ['one', 'two', 'three']) await world.travel.resume(job);
  await settled();
  assert.deepEqual(world.heard(), []);
});

test('after a reload only a tap takes travel mode over from another phone', async () => {
  const before = rider();
  await before.travel.activate('one');
  await settled();
  const world = rider();
  await world.travel.resume('one');
  await settled();
  assert.deepEqual(world.resumes.splice(0), [true]);
  world.refuses({replyTo: 'location', code: 'other_device', job: 'one'});
  assert.equal(world.travel.stateOf('one'), 'off');
  await world.travel.activate('one');
  await settled();
  assert.deepEqual([world.resumes, world.travel.stateOf('one')], [[false], 'on']);
});

test('a tap for one job does not take the other jobs over from another phone', async () => {
  const world = rider();
  for (const job of ['one', 'two']) await world.travel.activate(job);
  await settled();
  assert.deepEqual(world.heard().map(([job], at) => [job, world.resumes[at]]), [['one', false], ['two', false], ['one', true]]);
});

test('a signed-out rider is not located, not even roughly, until the next connection', async (run) => {
  const {travel, connects} = rider();
  run.mock.timers.enable({apis: ['setInterval']});
  await travel.location.permission();
  travel.setPresent(true);
  await travel.activate(PRESENCE);
  assert.equal(phone.looks, 1);
  run.mock.timers.tick(PRESENCE_EVERY);
  assert.equal(phone.looks, 2);
  travel.pause();
  travel.setPresent(false);
  travel.setPresent(true);
  run.mock.timers.tick(10 * PRESENCE_EVERY);
  assert.equal(phone.looks, 2);
  await connects();
  assert.equal(phone.looks, 3);
  travel.setPresent(false);
});

// ---- why there is no reading: the client repeats it after reconnecting ----

/** A rider with a real client who travels for these jobs, and the reasons that it reports in the next session. */
async function travelling(...jobs) {
  const {enroute, peer, comeBack} = await open();
  const travel = new Travel(enroute, {
    changed() {}, panel() {}, allowed() {}, inOrder: (all) => all, presence() {}, settled() {}, failed() {},
  });
  begun.push(travel);
  let socket = peer;
  /** The gateway accepts travel mode. @returns what it received */
  const accept = async () => {
    await settled();
    const said = socket.heard();
    for (const {type, job} of said) if (type === 'travel') socket.says({type: 'ok', replyTo: 'travel', job});
    await settled();
    return [...said, ...socket.heard()];
  };
  for (const job of jobs) {
    enroute.follow(job);
    travel.activate(job);
    await accept();
  }
  assert.ok(jobs.every((job) => travel.stateOf(job) === 'on'));
  const reasonsOfNext = async () => {
    socket = await comeBack();
    return (await accept()).filter(({type}) => type === 'unavailable').map(({job, reason}) => `${job} ${reason}`);
  };
  return {travel, peer, accept, reasonsOfNext};
}

for (const [reason, permission] of [['permission_denied', 'denied'], ['services_disabled', 'granted']]) {
  test(`${reason} during a disconnect is reported after reconnecting, once for each travelling job`, async () => {
    const {travel, peer, reasonsOfNext} = await travelling('one', 'two');
    peer.closes(1006);
    phone.permission = permission;
    phone.fails(1);
    await settled();
    assert.equal(travel.stateOf('one'), 'interrupted');
    for (const times of [1, 2]) assert.deepEqual(await reasonsOfNext(), [`one ${reason}`, `two ${reason}`], `session ${times}`);
  });
}

test('a hidden page reports that it is hidden once in each session', async (run) => {
  const {peer, reasonsOfNext} = await travelling('one');
  run.after(() => { page.hidden = false; });
  page.hidden = true;
  page.happens('visibilitychange');
  assert.deepEqual(peer.heard().filter(({type}) => type === 'unavailable'), [{type: 'unavailable', reason: 'hidden'}]);
  for (const times of [1, 2]) assert.deepEqual(await reasonsOfNext(), ['one hidden'], `session ${times}`);
});

test('after reconnecting no reason is reported for ended jobs or a phone that locates again', async () => {
  const {travel, peer, accept, reasonsOfNext} = await travelling('one', 'two');
  phone.permission = 'denied';
  phone.fails(1);
  await settled();
  assert.equal(travel.stateOf('one'), 'interrupted');
  peer.says({type: 'ended', job: 'one', reason: 'completed'});
  travel.ended('one');
  assert.deepEqual(await reasonsOfNext(), ['two permission_denied']);
  phone.permission = 'granted';
  const retried = travel.retry();
  await accept();
  assert.equal(await retried, true);
  phone.read();
  assert.deepEqual(await reasonsOfNext(), []);
});

test('a connection lost while resuming travel mode shows the rider no error', async () => {
  const world = rider();
  await world.travel.activate('one');
  await settled();
  world.answer = async () => { throw lost; };
  await world.connects();
  assert.deepEqual([world.failures, world.travel.stateOf('one')], [[], 'on']);
  world.answer = async () => { throw Object.assign(new Error('no'), {code: 'forbidden'}); };
  await world.connects();
  assert.deepEqual([world.failures, world.travel.stateOf('one')], [[['one', 'forbidden', false]], 'off']);
});

test('a message about travel mode disappears once the gateway knows its state', async () => {
  const world = rider();
  world.answer = async () => { throw lost; };
  await world.travel.activate('one');
  await settled();
  assert.deepEqual([world.failures.length, world.settled], [1, []]);
  world.answer = async () => ({});
  await world.travel.activate('one');
  await settled();
  assert.deepEqual(world.settled.splice(0), ['one']);
  world.answer = async () => { throw lost; };
  await world.travel.deactivate('one');
  assert.deepEqual(world.settled, []);
  world.answer = async () => ({});
  await world.connects();
  assert.deepEqual(world.settled, ['one']);
});

for (const [before, how] of [['denied', 'blocked it'], ['prompt', 'closed the question']]) {
  test(`D20: travel mode starts when a rider who ${how} allows the location in the settings`, async () => {
    phone.permission = before;
    if (before === 'prompt') sessionStorage.setItem('enroute.location', 'dismissed');
    const world = rider();
    await world.travel.activate('one');
    assert.deepEqual([world.travel.phase, world.heard()], [before === 'prompt' ? 'dismissed' : 'refused', []]);
    phone.permit('granted');
    await settled();
    assert.deepEqual([world.travel.stateOf('one'), world.heard()], ['on', [['one', true]]]);
  });
}

test('D20: a rider who closed the panel is not located by a later change in the settings', async () => {
  phone.permission = 'denied';
  const world = rider();
  await world.travel.activate('one');
  world.travel.cancel();
  phone.permit('granted');
  await settled();
  assert.deepEqual([world.travel.phase, world.heard(), phone.watchers.size], ['off', [], 0]);
});

test('after the permission was withdrawn, sharing is confirmed only by the answer to a newer report', async () => {
  const world = rider();
  await world.travel.activate('one');
  await settled();
  phone.read();
  world.replies('location');
  assert.equal(world.travel.isConfirmed, true);
  phone.permit('denied');
  world.replies('location');
  assert.equal(world.travel.isConfirmed, false);
  phone.permit('granted');
  await settled();
  assert.deepEqual([world.travel.stateOf('one'), world.travel.isConfirmed], ['on', false]);
  world.replies('location');
  assert.equal(world.travel.isConfirmed, true);
});
