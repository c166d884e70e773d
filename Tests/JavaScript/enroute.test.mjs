// Who asks for what over a connection: follows, pools, travel, positions, answers and refusals, with a clock and a
// socket in the test's hand. That real gateways say these things is shown in gateway.test.mjs.

import assert from 'node:assert/strict';
import {afterEach, test} from 'node:test';
import {Enroute, EnrouteError} from '../../Sources/Gateway/Pages/enroute.js';
import {Clock, playedSockets, settled} from './clock.mjs';

const begun = [];
afterEach(() => { for (const enroute of begun.splice(0)) enroute.stop(); });

async function open(more = {}) {
  const clock = new Clock();
  const sockets = playedSockets();
  const {now, wall, random, timers} = clock;
  const enroute = new Enroute({
    url: 'wss://gw.example/v1', credential: () => ({token: 't'}), WebSocket: sockets, now, wall, random, timers,
      ...more,
  });
  begun.push(enroute);
  enroute.start();
  await settled();
  const peer = sockets.last;
  peer.welcomes(clock.wall());
  peer.heard();
  const errors = [];
  enroute.on('error', (error) => errors.push(error));
  const comeBack = async () => {
    sockets.last.closes(1006);
    await clock.pass(30_000);
    sockets.last.welcomes(clock.wall());
    return sockets.last;
  };
  return {enroute, clock, sockets, peer, errors, comeBack};
}

const snapshot = (more = {}) => ({
  kind: 'service', status: 'on_the_way', statusAt: 1, steps: [], epoch: 'e', id: '5-0', tracking: 'waiting',
    text: 'waiting',
  position: null, missed: [], ...more,
});
const subscribed = (job, more) => ({type: 'subscribed', job, snapshot: snapshot(more)});
const refusal = (re, code, more = {}) => ({type: 'error', re, code, message: `no: ${code}`, retry: false, ...more});
const fixAt = (clock, ago = 0) => ({at: clock.wall() - ago, lat: 41, lon: 12});
const typesOf = (messages) => messages.map(({type}) => type).join(' ');

test('a job is subscribed to once for all who follow it here, and left with the last of them', async () => {
  const {enroute, peer} = await open();
  const seen = [];
  const first = enroute.follow('j', (view, change) => seen.push(['first', change]));
  const second = enroute.follow('j', (view, change) => seen.push(['second', change]));
  assert.deepEqual(peer.heard(), [{type: 'subscribe', job: 'j'}]);
  peer.says(subscribed('j'));
  const third = enroute.follow('j', (view, change) => seen.push(['third', change]));
  await settled();
  assert.deepEqual(seen, [['first', 'snapshot'], ['second', 'snapshot'], ['third', 'snapshot']]);
  first.stop();
  third.stop();
  third.stop();
  assert.deepEqual(peer.heard(), []);
  second.stop();
  assert.deepEqual(peer.heard(), [{type: 'unsubscribe', job: 'j'}]);
  peer.says({type: 'status', job: 'j', epoch: 'e', prev: '5-0', id: '6-0', status: 'completed', at: 6});
  assert.equal(seen.length, 3);
});

test('what is followed before there is a connection is subscribed to with the welcome', async () => {
  const clock = new Clock();
  const sockets = playedSockets();
  const enroute = new Enroute({url: 'wss://x/v1', credential: () => ({link: 'l'}), WebSocket: sockets, ...clock});
  begun.push(enroute);
  enroute.follow('j');
  enroute.start();
  await settled();
  sockets.last.welcomes();
  assert.equal(typesOf(sockets.last.heard()), 'auth subscribe');
});

test('a new connection asks for what was missed since the last status, and keeps what is shown meanwhile', async () => {
  const {enroute, peer, comeBack} = await open();
  const follow = enroute.follow('j');
  enroute.follow('new');
  peer.says(subscribed('j'), {type: 'status', job: 'j', epoch: 'e', prev: '5-0', id: '6-0',
    status: 'work_in_progress', at: 6});
  const next = await comeBack();
  assert.equal(follow.view.status, 'work_in_progress');
  assert.deepEqual(next.heard().slice(1), [
    {type: 'subscribe', job: 'j', since: {epoch: 'e', id: '6-0'}}, {type: 'subscribe', job: 'new'},
  ]);
});

test('what has ended or was refused is not asked for again, but followed anew it is', async () => {
  const {enroute, peer, comeBack} = await open();
  const [done, foreign] = [enroute.follow('done'), enroute.follow('foreign')];
  peer.says(subscribed('done'), {type: 'ended', job: 'done', reason: 'completed'}, refusal('subscribe', 'not_found',
    {job: 'foreign'}));
  assert.deepEqual([done.view.ended, foreign.view.refused.code], ['completed', 'not_found']);
  const next = await comeBack();
  assert.equal(typesOf(next.heard()), 'auth');
  let told = 0;
  const anew = enroute.follow('foreign', () => { told += 1; });
  assert.equal(anew.view.refused, null);
  assert.deepEqual(next.heard(), [{type: 'subscribe', job: 'foreign'}]);
  next.says(subscribed('foreign'));
  foreign.stop();
  assert.deepEqual([told, foreign.view.known, next.heard()], [1, false, []]);
  anew.stop();
  assert.equal(typesOf(next.heard()), 'unsubscribe');
});

test('a job that can not be is not asked for', async () => {
  const {enroute, peer, comeBack} = await open();
  const told = [];
  const follow = enroute.follow('no such/job', (view, change) => told.push(change));
  await settled();
  assert.deepEqual([peer.heard(), told, follow.view.refused.code], [[], ['refused'], 'not_found']);
  assert.equal(typesOf((await comeBack()).heard()), 'auth');
});

test('who follows as soon as the connection is open asks once', async () => {
  const {enroute, peer, sockets, clock} = await open();
  enroute.on('connection', ({state}) => { if (state === 'open') enroute.follow('late'); });
  peer.closes(1006);
  await clock.pass(3_000);
  sockets.last.welcomes(clock.wall());
  assert.equal(typesOf(sockets.last.heard()), 'auth subscribe');
});

test('a subscription that is refused for now is asked for again when it was said', async () => {
  const {enroute, peer, clock} = await open();
  const follow = enroute.follow('j');
  peer.heard();
  peer.says(refusal('subscribe', 'unavailable', {job: 'j', retry: true, retryIn: 2_000}));
  assert.equal(follow.view.refused, null);
  await clock.pass(1_999);
  assert.deepEqual(peer.heard(), []);
  await clock.pass(1);
  assert.deepEqual(peer.heard(), [{type: 'subscribe', job: 'j'}]);
});

test('a connection that is refused takes everybody away, and beginning again brings them back', async () => {
  const {enroute, peer, sockets} = await open();
  const follow = enroute.follow('j');
  peer.says(subscribed('j', {tracking: 'live', position: {
    type: 'location', id: '1795248617626123', at: 1, job: 'j', received: 1, lat: 1, lon: 2}}));
  assert.ok(follow.view.position);
  peer.closes(4502, 'revoked');
  assert.deepEqual([follow.view.position, follow.view.refused.code], [null, 'revoked']);
  enroute.start();
  await settled();
  assert.equal(follow.view.refused, null);
  sockets.last.welcomes();
  assert.deepEqual(sockets.last.heard()[1].type, 'subscribe');
});

test('a message that was lost to the limit is said again, where it was a question that stays', async () => {
  const {enroute, peer, clock, errors} = await open();
  enroute.follow('a');
  enroute.follow('b');
  enroute.watch('rome');
  peer.heard();
  peer.says(subscribed('a'), refusal('', 'rate_limited', {retry: true, retryIn: 70}));
  await clock.pass(70);
  assert.deepEqual(peer.heard(), [{type: 'subscribe', job: 'b'}, {type: 'watch', zone: 'rome'}]);
  assert.equal(errors[0].code, 'rate_limited');
  // Where it had come after all:
  peer.says(refusal('subscribe', 'bad_request', {job: 'b'}), subscribed('b'));
  const {view} = enroute.follow('b');
  assert.deepEqual([view.refused, view.known], [null, true]);
});

test('many questions go no faster than the gateway takes them', async () => {
  const {enroute, peer, clock} = await open();
  for (let count = 0; count < 100; count++) enroute.follow(`j${count}`);
  assert.equal(peer.heard().length, 30);
  await clock.pass(1_000);
  assert.ok(peer.said.length > 10 && peer.said.length <= 15, `${peer.said.length}`);
  await clock.pass(4_000);
  assert.equal(peer.heard().length, 70);
});

test('a question is kept by its answer, in the order of questions about the same', async () => {
  const {enroute, peer} = await open();
  const on = enroute.travel('j', true);
  const off = enroute.travel('j', false);
  const other = enroute.travel('k', true);
  peer.says({type: 'ok', re: 'travel', job: 'k', deadline: 9});
  peer.says({type: 'ok', re: 'travel', job: 'j', deadline: 7}, refusal('travel', 'forbidden', {job: 'j',
    tasks: ['x']}));
  assert.equal((await on).deadline, 7);
  assert.equal((await other).deadline, 9);
  await assert.rejects(off, (error) => error instanceof EnrouteError && error.code === 'forbidden' && !error.retry
    && error.message === 'no: forbidden' && error.tasks[0] === 'x');
});

test('availability, refresh, presence and darkness say what they are given, and nothing else', async () => {
  const {enroute, peer, errors} = await open();
  const answers = [
    enroute.availability('online', {device: 'd'}), enroute.availability('offline'), enroute.refresh('t2'),
      enroute.presence(),
    enroute.presence({lat: 1, lon: 2}), enroute.dark('hidden', 'j'), enroute.dark('network'),
  ];
  assert.deepEqual(peer.heard(), [
    {type: 'availability', status: 'online', device: 'd'}, {type: 'availability', status: 'offline'},
    {type: 'refresh', token: 't2'}, {type: 'presence'}, {type: 'presence', lat: 1, lon: 2},
    {type: 'dark', job: 'j', reason: 'hidden'}, {type: 'dark', reason: 'network'},
  ]);
  for (const re of ['availability', 'availability', 'refresh', 'presence', 'presence']) peer.says({type: 'ok', re});
  peer.says({type: 'ok', re: 'dark', job: 'j'}, refusal('dark', 'forbidden'));
  assert.deepEqual((await Promise.all(answers)).slice(3), [true, true, true, false]);
  assert.deepEqual(errors.map(({re, code}) => [re, code]), [['dark', 'forbidden']]);
});

test('a question without a connection, without an answer or across its end is refused as the network\u2019s',
  async () => {
  const {enroute, peer, clock} = await open();
  const unanswered = assert.rejects(enroute.travel('j', true), {code: 'network', retry: true,
    message: /may have been done/});
  await clock.pass(15_000);
  await unanswered;
  const cut = assert.rejects(enroute.travel('j', true), {code: 'network', message: /lost before the answer/});
  peer.closes(1006);
  await cut;
  await assert.rejects(enroute.travel('j', true), {code: 'network', message: /no connection/});
  assert.equal(await enroute.dark('hidden'), false);
});

test('positions are told at the pace that the gateway asks for', async () => {
  const {enroute, peer, clock} = await open();
  for (let second = 0; second < 5; second++) {
    enroute.publish('j', fixAt(clock));
    await clock.pass(1_000);
  }
  const reports = peer.heard();
  assert.deepEqual(reports.map(({seq, fixes}) => [seq, fixes.length]), [[1, 1], [2, 1], [3, 1], [4, 1], [5, 1]]);
  peer.says({type: 'rate', interval: 8});
  for (let second = 0; second < 16; second++) {
    enroute.publish(['j'], fixAt(clock));
    await clock.pass(1_000);
  }
  assert.deepEqual(peer.heard().map(({seq, fixes}) => [seq, fixes.length]), [[6, 5], [7, 5]]);
  peer.says({type: 'rate', interval: 1});
  assert.equal(peer.heard().length, 1);
});

test('what was seen without a connection is told with the next one, the newest first', async () => {
  const {enroute, clock, sockets, peer} = await open();
  peer.closes(1006);
  for (let count = 0; count < 40; count++) {
    enroute.publish('j', fixAt(clock));
    await clock.pass(10);
  }
  await clock.pass(1_500);
  sockets.last.welcomes(clock.wall());
  const [, report] = sockets.last.heard();
  assert.equal(report.fixes.length, 5);
  assert.ok(report.fixes.every(({at}, index) => index === 0 || at < report.fixes[index - 1].at));
});

test('a position whose answer was lost with the connection is told again', async () => {
  const {enroute, clock, peer, comeBack} = await open();
  enroute.publish('j', fixAt(clock));
  const [report] = peer.heard();
  const next = await comeBack();
  assert.deepEqual(next.heard()[1].fixes, report.fixes);
  next.says({type: 'ok', re: 'location', job: 'j', seq: 2});
  assert.equal(typesOf((await comeBack()).heard()), 'auth');
});

test('while the last report has not left, the next waits, and newer readings with it', async () => {
  const {enroute, clock, peer} = await open();
  peer.bufferedAmount = 50_000;
  enroute.publish('j', fixAt(clock));
  await clock.pass(3_000);
  assert.deepEqual(peer.heard(), []);
  peer.bufferedAmount = 0;
  await clock.pass(500);
  assert.equal(typesOf(peer.heard()), 'location');
});

test('who ends its journey tells no more of it', async () => {
  const {enroute, clock, peer} = await open();
  enroute.publish('j', fixAt(clock, 50));
  enroute.publish('j', fixAt(clock));
  const off = enroute.travel('j', false);
  peer.says({type: 'ok', re: 'travel', job: 'j'});
  await off;
  peer.heard();
  await clock.pass(5_000);
  assert.deepEqual(peer.heard(), []);
});

test('a refused position is told to whoever listens for errors, and to nobody else', async () => {
  const {enroute, clock, peer, errors} = await open();
  enroute.publish('j', fixAt(clock));
  peer.says(refusal('location', 'travel_mode_off', {job: 'j', reason: 'travel_mode_off'}));
  assert.deepEqual(errors.map(({re, reason}) => [re, reason]), [['location', 'travel_mode_off']]);
});

test('messages are told to who listens for their type, until it does not', async () => {
  const {enroute, peer} = await open();
  const told = [];
  const off = enroute.on('approach', ({state}) => told.push(state));
  peer.says({type: 'approach', job: 'j', state: 'arrived'});
  off();
  peer.says({type: 'approach', job: 'j', state: 'left'}, {type: 'of tomorrow'});
  peer.onmessage({data: 'no JSON'});
  assert.deepEqual(told, ['arrived']);
});

test('a listener that fails holds nobody up', async () => {
  const {enroute, peer} = await open();
  const reported = [];
  globalThis.reportError = (error) => reported.push(error.message);
  let seen = 0;
  enroute.follow('j', () => { throw new Error('mine'); });
  enroute.follow('j', () => { seen += 1; });
  peer.says(subscribed('j'));
  delete globalThis.reportError;
  assert.deepEqual([seen, reported], [1, ['mine']]);
});

test('a zone is watched from the version that was seen last', async () => {
  const {enroute, peer, comeBack} = await open();
  const told = [];
  const watch = enroute.watch('rome', (pool, change) => told.push(change.change ?? change));
  assert.throws(() => enroute.watch('rome'), /already/);
  assert.deepEqual(peer.heard(), [{type: 'watch', zone: 'rome'}]);
  peer.says({type: 'pool', zone: 'rome', version: 10, riders: [], count: 0}, {
    type: 'rider', zone: 'rome', version: 11, prev: 10, rider: 'a', change: 'online', available: true, at: 1,
  });
  assert.deepEqual([told, watch.pool.count], [['pool', 'online'], 1]);
  const next = await comeBack();
  assert.deepEqual(next.heard()[1], {type: 'watch', zone: 'rome', since: 11});
  next.says(refusal('watch', 'forbidden', {zone: 'rome'}));
  assert.equal(watch.pool.refused.code, 'forbidden');
  watch.stop();
  assert.deepEqual(next.heard(), []);
});

test('without a WebSocket it says what to do', () => {
  const theirs = globalThis.WebSocket;
  delete globalThis.WebSocket;
  assert.throws(() => new Enroute({url: 'wss://x/v1', credential: () => null}), /give the constructor one/);
  if (theirs) globalThis.WebSocket = theirs;
});

// ---- REST ----

const answering = (status, body, headers = {}) => {
  const asked = [];
  const fetch = async (url, request) => {
    asked.push([url, request]);
    return new Response(body, {status, headers});
  };
  return {fetch, asked};
};

test('a request carries the credential, and its answer is what was said', async () => {
  const {fetch, asked} = answering(201, '{"a":1}', {ETag: '"x"'});
  const {enroute} = await open({fetch});
  const answer = await enroute.rest('POST', '/jobs', {body: {b: 2}, headers: {'Idempotency-Key': 'k'}});
  assert.deepEqual([answer.status, answer.body, answer.headers.get('etag')], [201, {a: 1}, '"x"']);
  const [[url, {method, headers, body}]] = asked;
  assert.deepEqual([url, method, body], ['https://gw.example/api/v1/jobs', 'POST', '{"b":2}']);
  assert.deepEqual(headers, {Authorization: 'Bearer t', 'Content-Type': 'application/json', 'Idempotency-Key': 'k'});
});

test('a problem is thrown with its code, its members and when to come back', async () => {
  const problem = JSON.stringify({
    type: 'urn:enroute:problem:active_task', title: 'Conflict', status: 409, detail: 'Not now.', code: 'active_task',
    retryable: false, tasks: ['order-1'],
  });
  const {fetch} = answering(409, problem, {'Retry-After': '3'});
  const {enroute} = await open({fetch});
  await assert.rejects(enroute.rest('PATCH', '/riders/me/status', {body: {}}), {
    name: 'EnrouteError', code: 'active_task', message: 'Not now.', retry: false, status: 409, retryIn: 3_000,
    tasks: ['order-1'],
  });
});

test('what is no problem document is one all the same; nobody there is the network\u2019s', async () => {
  const odd = await open({fetch: answering(502, '<html>').fetch});
  await assert.rejects(odd.enroute.rest('GET', '/x'), {code: 'internal', message: 'HTTP 502', retry: true,
    status: 502});
  const nobody = await open({fetch: async () => { throw new TypeError('fetch failed'); }});
  await assert.rejects(nobody.enroute.rest('GET', '/x'), {code: 'network', retry: true});
  const empty = await open({fetch: async () => new Response(null, {status: 204})});
  assert.equal((await empty.enroute.rest('PUT', '/x')).body, null);
});
