// The React hooks, with React itself (Debian's node-react, 18) and its test renderer, in an installed copy of the package. The
// gateway is played by the test.

import assert from 'node:assert/strict';
import {after, afterEach, before, test} from 'node:test';
import {Clock, playedSockets, settled} from './clock.mjs';
import {subscribed, typesOf} from './connected.mjs';
import {App, lacks} from './installed.mjs';

const skip = lacks('npm', 'react', 'react-dom', 'react-test-renderer');
let app, React, renderer, server, hooks, Enroute;
const opened = [];

before(async () => {
  if (skip) return;
  globalThis.IS_REACT_ACT_ENVIRONMENT = true;
  app = new App({react: true});
  ({React, renderer, server, hooks, Enroute} = await app.load('hooks.mjs', `
    export {default as React} from 'react';
    export {default as renderer} from 'react-test-renderer';
    export {default as server} from 'react-dom/server';
    export * as hooks from '@enroute/client/react';
    export {Enroute} from '@enroute/client';`));
});
after(() => app?.close());
afterEach(() => { for (const enroute of opened.splice(0)) enroute.stop(); });

/** A client that is connected to a socket of the test. */
async function connected(more = {}) {
  const clock = new Clock();
  const sockets = playedSockets();
  const {now, wall, random, timers} = clock;
  const enroute = new Enroute({
    url: 'wss://gw.example/v1', credential: () => ({token: 't'}), WebSocket: sockets, now, wall, random, timers,
    ...more,
  });
  opened.push(enroute);
  enroute.start();
  await settled();
  sockets.last.welcomes(clock.wall());
  sockets.last.heard();
  return {enroute, clock, peer: sockets.last, sockets};
}

/** Components that show what the hooks return, and count how often they render. */
function screen() {
  const shown = {views: [], connections: []};
  const Job = ({enroute, job}) => {
    const view = hooks.useJob(enroute, job);
    shown.views.push(view);
    return React.createElement('job', null, view === null ? 'none' : `${view.job} ${view.status} ${view.tracking}`);
  };
  const Connection = ({enroute}) => {
    const connection = hooks.useConnection(enroute);
    shown.connections.push(connection);
    return React.createElement('connection', null, connection.state);
  };
  return {shown, Job, Connection};
}

async function render(element) {
  let root;
  await renderer.act(async () => { root = renderer.create(element); });
  const texts = () => root.root.findAll(({type}) => typeof type === 'string').map(({children}) => children.join(''));
  const replace = (other) => renderer.act(async () => { root.update(other); });
  const end = () => renderer.act(async () => { root.unmount(); });
  return {texts, replace, end};
}
const says = (peer, ...messages) => renderer.act(async () => { peer.says(...messages); });
const h = (...all) => React.createElement(...all);

/** Timers of the hooks, which run when the test says so. React's own timers are not affected. */
const lingering = new Set();
const {setTimeout: startTimer, clearTimeout: stopTimer} = globalThis;
globalThis.setTimeout = (action, delay, ...all) => {
  if (delay !== hooks?.LINGER) return startTimer(action, delay, ...all);
  const timer = {action, unref: () => {}};
  lingering.add(timer);
  return timer;
};
globalThis.clearTimeout = (timer) => { if (!lingering.delete(timer)) stopTimer(timer); };

/** Advances the time for which a job is still followed after its last component is gone. */
const linger = () => {
  const due = [...lingering];
  lingering.clear();
  for (const {action} of due) action();
};

test('useJob shows the job and each change of it', {skip}, async () => {
  const {enroute, peer} = await connected();
  const {shown, Job} = screen();
  const page = await render(h(Job, {enroute, job: 'v'}));
  assert.deepEqual(page.texts(), ['v null waiting']);
  assert.deepEqual(peer.heard(), [{type: 'subscribe', job: 'v'}]);
  await says(peer, subscribed('v'));
  assert.deepEqual(page.texts(), ['v on_the_way waiting']);
  await says(peer, {type: 'status', job: 'v', epoch: 'e', id: '6-0', prev: '5-0', status: 'work_in_progress', at: 2});
  assert.deepEqual(page.texts(), ['v work_in_progress waiting']);
  const renderings = shown.views.length;
  const other = {type: 'status', job: 'other', epoch: 'e', id: '7-0', status: 'completed', at: 3};
  await says(peer, other, {type: 'pong', serverTime: 1});
  assert.equal(shown.views.length, renderings, 'what concerns another job renders nothing');
  assert.ok(shown.views.every(Object.isFrozen));
  await page.end();
});

test('components that show the same job share one subscription, which ends after the last of them', {skip}, async () => {
  const {enroute, peer} = await connected();
  const {Job} = screen();
  const page = await render(h('list', null, h(Job, {enroute, job: 'v'}), h(Job, {enroute, job: 'v'})));
  assert.equal(typesOf(peer.heard()), 'subscribe');
  await says(peer, subscribed('v'));
  const later = await render(h(Job, {enroute, job: 'v'}));
  assert.deepEqual(later.texts(), ['v on_the_way waiting'], 'a component that is mounted later knows the job at once');
  await page.end();
  linger();
  assert.equal(typesOf(peer.heard()), '', 'one component still shows the job');
  await later.end();
  linger();
  assert.equal(typesOf(peer.heard()), 'unsubscribe');
});

test('a change of screen does not subscribe again', {skip}, async () => {
  const {enroute, peer} = await connected();
  const {Job} = screen();
  const first = await render(h(Job, {enroute, job: 'v'}));
  await says(peer, subscribed('v'));
  peer.heard();
  await first.end();
  const second = await render(h(Job, {enroute, job: 'v'}));
  assert.deepEqual(second.texts(), ['v on_the_way waiting']);
  linger();
  assert.equal(typesOf(peer.heard()), '');
  await second.end();
});

test('StrictMode, which mounts twice, subscribes once', {skip}, async () => {
  const {enroute, peer} = await connected();
  const {Job} = screen();
  const page = await render(h(React.StrictMode, null, h(Job, {enroute, job: 'v'})));
  assert.equal(typesOf(peer.heard()), 'subscribe');
  await says(peer, subscribed('v'));
  assert.deepEqual(page.texts(), ['v on_the_way waiting']);
  await page.end();
});

test('another job replaces the first one completely', {skip}, async () => {
  const {enroute, peer} = await connected();
  const {shown, Job} = screen();
  const page = await render(h(Job, {enroute, job: 'a'}));
  await says(peer, subscribed('a'));
  await page.replace(h(Job, {enroute, job: 'b'}));
  assert.deepEqual(page.texts(), ['b null waiting']);
  await says(peer, subscribed('b', {status: 'assigned'}));
  assert.deepEqual(page.texts(), ['b assigned waiting']);
  await page.replace(h(Job, {enroute, job: null}));
  assert.deepEqual(page.texts(), ['none']);
  assert.equal(shown.views.at(-1), null);
  linger();
  assert.equal(typesOf(peer.heard()), 'subscribe subscribe unsubscribe unsubscribe');
  await page.end();
});

test('a refused job is shown as refused, and can be followed again later', {skip}, async () => {
  const {enroute, peer} = await connected();
  const {shown, Job} = screen();
  const page = await render(h(Job, {enroute, job: 'v'}));
  await says(peer, {type: 'error', replyTo: 'subscribe', job: 'v', code: 'not_found', message: 'No.', retry: false});
  assert.equal(shown.views.at(-1).refused.code, 'not_found');
  await page.end();
  linger();
  peer.heard();
  const again = await render(h(Job, {enroute, job: 'v'}));
  assert.equal(typesOf(peer.heard()), 'subscribe');
  await says(peer, subscribed('v'));
  assert.deepEqual(again.texts(), ['v on_the_way waiting']);
  await again.end();
});

test('a component that is mounted again requests a refused or ended job again at once', {skip}, async () => {
  const {enroute, peer} = await connected();
  const {shown, Job} = screen();
  const page = await render(h(Job, {key: 1, enroute, job: 'v'}));
  const other = await render(h(Job, {enroute, job: 'w'}));
  await says(peer, {type: 'error', replyTo: 'subscribe', job: 'v', code: 'not_found', message: 'No.', retry: false});
  peer.heard();
  await page.replace(h(Job, {key: 2, enroute, job: 'v'}));
  assert.deepEqual(peer.heard(), [{type: 'subscribe', job: 'v'}]);
  assert.equal(shown.views.at(-1).refused, null);
  await says(peer, subscribed('v'), {type: 'ended', job: 'v', reason: 'completed'});
  assert.equal(shown.views.at(-1).ended, 'completed');
  await page.replace(h(Job, {key: 3, enroute, job: 'v'}));
  assert.deepEqual(peer.heard(), [{type: 'subscribe', job: 'v'}]);
  await says(peer, subscribed('v', {status: 'assigned'}));
  linger();
  assert.deepEqual(page.texts(), ['v assigned waiting']);
  assert.equal(typesOf(peer.heard()), '');
  await page.end();
  await other.end();
});

test('a refused job that another component still shows is not requested again', {skip}, async () => {
  const {enroute, peer} = await connected();
  const {Job} = screen();
  const page = await render(h(Job, {enroute, job: 'v'}));
  await says(peer, {type: 'error', replyTo: 'subscribe', job: 'v', code: 'not_found', message: 'No.', retry: false});
  peer.heard();
  const second = await render(h(Job, {enroute, job: 'v'}));
  assert.equal(typesOf(peer.heard()), '');
  await page.end();
  await second.end();
});

test('a component shows a sign-out, also if it is mounted later, and the next sign-in', {skip}, async () => {
  const session = {credential: {token: 't'}};
  const {enroute, clock, peer, sockets} = await connected({credential: () => session.credential});
  const {shown, Job} = screen();
  const page = await render(h(Job, {enroute, job: 'v'}));
  await says(peer, subscribed('v'));
  const signs = (credential) => renderer.act(async () => {
    session.credential = credential;
    enroute.stop();
    enroute.start();
    await settled();
  });
  await signs(null);
  assert.equal(shown.views.at(-1).refused.code, 'unauthorized');
  const late = await render(h(Job, {enroute, job: 'w'}));
  assert.deepEqual([shown.views.at(-1).job, shown.views.at(-1).refused.code], ['w', 'unauthorized']);
  await signs({token: 't'});
  await renderer.act(async () => { sockets.last.welcomes(clock.wall()); });
  await says(sockets.last, subscribed('v'), subscribed('w'));
  assert.deepEqual([page.texts(), late.texts()], [['v on_the_way waiting'], ['w on_the_way waiting']]);
  assert.ok(shown.views.slice(-2).every(({refused}) => refused === null));
  await page.end();
  await late.end();
});

test('useConnection shows each state once', {skip}, async () => {
  const {enroute, clock, peer, sockets} = await connected();
  const {shown, Connection} = screen();
  const page = await render(h(Connection, {enroute}));
  assert.deepEqual(page.texts(), ['open']);
  await says(peer, {type: 'pong', serverTime: 1});
  assert.equal(shown.connections.length, 1, 'a pong changes nothing');
  await says(peer, {type: 'degraded'});
  assert.equal(shown.connections.at(-1).degraded, true);
  await renderer.act(async () => { peer.closes(1006); });
  assert.deepEqual(page.texts(), ['waiting']);
  await renderer.act(async () => {
    await clock.pass(30_000);
    sockets.last.welcomes(clock.wall());
  });
  assert.deepEqual(page.texts(), ['open']);
  await page.end();
  const before = shown.connections.length;
  sockets.last.closes(1006);
  assert.equal(shown.connections.length, before, 'no rendering after the end');
});

test('a server renders without a client, and follows nothing', {skip}, async () => {
  const {Job, Connection} = screen();
  const page = (enroute) => h('page', null, h(Job, {enroute, job: 'v'}), h(Connection, {enroute}));
  const without = server.renderToString(page(null));
  assert.match(without, /v null waiting.*stopped/);
  const {enroute, peer} = await connected();
  assert.equal(server.renderToString(page(enroute)), without, 'what a browser renders first is the same');
  assert.deepEqual(peer.heard(), []);
});
