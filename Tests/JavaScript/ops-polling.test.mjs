// Polling: how a zone is loaded in pages, and how a failed request affects the next one.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {settled} from './clock.mjs';
import {browser, ownClock, page as tab} from './page.mjs';
import {
  HIDDEN, Poller, RequestFailed, clock, rendering, setClock, updateList,
} from '../../Sources/WebAssets/web/ops-polling.js';
import {JobList} from '../../Sources/WebAssets/web/ops-list.js';

const page = (version, job, next) => ({version, reset: true, jobs: [{job}], gone: [], next});
const isCurrent = () => true;

/** A gateway that gives these responses in order, and the requests it received. */
function gateway(...answers) {
  const asked = [];
  const get = async (path) => {
    asked.push(new URLSearchParams(path.split('?')[1]));
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return {get, asked};
}

test('a zone whose second page failed is loaded again from the start', async () => {
  const list = new JobList();
  const poller = gateway(page('a.1', 'one', 'one'), new RequestFailed(0), page('a.2', 'one', 'one'), page('a.3', 'two'));
  await assert.rejects(updateList(poller, 'rome', list, isCurrent, () => {}), RequestFailed);
  assert.equal(await updateList(poller, 'rome', list, isCurrent, () => {}), true);
  assert.deepEqual([list.size, list.version], [2, 'a.2']);
  assert.ok(poller.asked.every((query) => !query.has('since')));
});

test('a zone that is requested again between two pages is loaded again from the start', async () => {
  const list = new JobList();
  const poller = gateway(page('a.1', 'one', 'one'), page('a.2', 'two'));
  let isLooked = true;
  assert.equal(await updateList(poller, 'rome', list, () => isLooked, () => { isLooked = false; }), false);
  assert.equal(list.version, null);
});

test('a fully loaded zone requests the changes since its first page', async () => {
  const list = new JobList();
  const poller = gateway(
    page('a.1', 'one', 'one'), page('a.2', 'two'), {version: 'a.3', reset: false, jobs: [], gone: ['one']});
  await updateList(poller, 'rome', list, isCurrent, () => {});
  assert.equal(await updateList(poller, 'rome', list, isCurrent, () => {}), true);
  assert.deepEqual([poller.asked.at(-1).get('since'), list.size, list.version], ['a.1', 1, 'a.3']);
});

test('a missing network is reported while polling, until a response arrives anyway', async (run) => {
  const clock = ownClock(run);
  const told = [];
  const poller = new Poller({signIn: {header: ''}, onState: ({isOpen}) => told.push(isOpen)});
  poller.every(2_000, async () => {});
  browser.happens('offline');
  assert.deepEqual(told, []);
  poller.start();
  await settled();
  browser.happens('offline');
  await clock.pass(2_000);
  assert.deepEqual(told, [true, false, true]);
  poller.stop();
  browser.happens('offline');
  assert.equal(told.length, 3);
});

test('while one resource fails, responses for others do not report an open connection', async (run) => {
  const clock = ownClock(run);
  const told = [];
  const poller = new Poller({signIn: {}, onState: ({isOpen, status}) => told.push(`${status} ${isOpen}`)});
  let status = 503;
  poller.every(4_000, async () => { if (status !== 200) throw new RequestFailed(status); });
  poller.every(5_000, async () => {});
  poller.start();
  await clock.pass(9_999);
  assert.deepEqual(told.splice(0), ['503 false', '200 false', '503 false', '200 false', '503 false']);
  status = 200;
  await clock.pass(5_000);
  assert.deepEqual(told.splice(0), ['200 false', '200 true']);
  // 429 and 4xx are responses too.
  status = 429;
  await clock.pass(4_000);
  await clock.pass(5_000);
  poller.stop();
  await settled();
  assert.ok(told.includes('429 false') && told.at(-1) === '200 true', told);
});

test('the operations page uses the gateway\u2019s time, also after the device\u2019s clock was corrected', async (run) => {
  const NOW = Date.UTC(2026, 10, 30, 9);
  let wall = NOW + 3_600_000;
  run.mock.method(Date, 'now', () => wall);
  run.mock.method(globalThis, 'fetch', async () => Response.json({}, {headers: {Date: new Date(NOW).toUTCString()}}));
  const poller = new Poller({signIn: {header: ''}, onState() {}});
  const ahead = async () => {
    await poller.get('zones');
    return Math.abs(clock() - NOW);
  };
  assert.ok(await ahead() <= 1_000);
  wall = NOW;
  assert.ok(await ahead() <= 1_000);
  const before = clock();
  setClock(null);
  setClock(new Date(NOW + 1_000).toUTCString());
  assert.equal(clock(), before, 'neither an answer without a time nor its whole seconds move the clock');
});

/** Hides or shows the page, until the test ends. */
function turn(run) {
  const to = (isHidden) => {
    tab.hidden = isHidden;
    tab.happens('visibilitychange');
  };
  run.after(() => to(false));
  return to;
}

test('a hidden page requests only what needs a dispatcher, every 30 s, and everything when visible again', async (run) => {
  const [clock, hide] = [ownClock(run), turn(run)];
  const asked = [];
  const poller = new Poller({signIn: {}, onState() {}});
  poller.every(2_000, async () => { asked.push('jobs'); }, {isAlways: true});
  poller.every(5_000, async () => { asked.push('gateways'); });
  poller.start();
  await settled();
  hide(true);
  // The timers that already run end as usual.
  await clock.pass(5_000);
  assert.deepEqual(asked.splice(0), ['jobs', 'gateways', 'jobs']);
  await clock.pass(3 * HIDDEN - 5_000);
  assert.deepEqual(asked.splice(0), ['jobs', 'jobs']);
  hide(false);
  await settled();
  assert.deepEqual(asked.splice(0), ['jobs', 'gateways']);
  await clock.pass(2_000);
  assert.deepEqual(asked.splice(0), ['jobs']);
  poller.stop();
});

test('a hidden page is rendered too, once for all changes', async (run) => {
  const [clock, hide] = [ownClock(run), turn(run)];
  let frames = [];
  let count = 0;
  globalThis.requestAnimationFrame = (draw) => frames.push(draw);
  run.after(() => { delete globalThis.requestAnimationFrame; });
  const draw = () => { for (const frame of frames.splice(0)) frame(); };
  const show = rendering(() => { count += 1; });
  show();
  show();
  assert.deepEqual([frames.length, count], [1, 0]);
  draw();
  assert.equal(count, 1);
  // The page is hidden before the frame that would have rendered the change.
  show();
  hide(true);
  await clock.pass(1_000);
  assert.equal(count, 2);
  show();
  show();
  await clock.pass(1_000);
  assert.equal(count, 3);
  hide(false);
  draw();
  assert.equal(count, 3);
});
