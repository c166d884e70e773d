// The client: follows, pools, answers and refusals, with a clock and a socket of the test. gateway.test.mjs shows that real
// gateways behave the same way.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Enroute, EnrouteError} from '../../Sources/WebAssets/web/enroute.js';
import {Clock, playedSockets, settled} from './clock.mjs';
import {begin, open, refusal, subscribed, typesOf} from './connected.mjs';

test('a job is subscribed to once for all its listeners and unsubscribed with the last one', async () => {
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

test('a job followed before the connection is subscribed to after the welcome', async () => {
  const clock = new Clock();
  const sockets = playedSockets();
  const enroute = begin({url: 'wss://x/v1', credential: () => ({link: 'l'}), WebSocket: sockets, ...clock});
  enroute.follow('j');
  enroute.start();
  await settled();
  sockets.last.welcomes();
  assert.equal(typesOf(sockets.last.heard()), 'auth subscribe');
});

test('after reconnecting a job resumes from its last status and its view stays', async () => {
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

test('the session of a link is closed after its job ended: the view stays, and nothing is tried again', async () => {
  const {enroute, peer, clock, sockets} = await open({credential: () => ({link: 'secret'})});
  const changes = [];
  const done = enroute.follow('done', (view, change) => changes.push(change));
  peer.says(subscribed('done'), {type: 'ended', job: 'done', reason: 'completed'});
  const count = sockets.all.length;
  peer.closes(4500);
  await clock.pass(60_000);
  assert.deepEqual([done.view.ended, done.view.refused, done.view.known], ['completed', null, true]);
  assert.deepEqual([enroute.connection.state, enroute.connection.close.code], ['refused', 4500]);
  assert.deepEqual([changes.at(-1), sockets.all.length], ['ended', count]);
  // Somebody corrected the job: the link is accepted again.
  enroute.start();
  await settled();
  const anew = enroute.follow('done');
  sockets.last.welcomes(clock.wall());
  sockets.last.says(subscribed('done'));
  assert.deepEqual([anew.view.ended, anew.view.known, enroute.connection.state], [null, true, 'open']);
});

test('an ended or refused job is not subscribed to again unless it is followed again', async () => {
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

test('an invalid job name is refused without a message', async () => {
  const {enroute, peer, comeBack} = await open();
  const told = [];
  const follow = enroute.follow('no such/job', (view, change) => told.push(change));
  await settled();
  assert.deepEqual([peer.heard(), told, follow.view.refused.code], [[], ['refused'], 'not_found']);
  assert.equal(typesOf((await comeBack()).heard()), 'auth');
});

test('following as soon as the connection is open subscribes once', async () => {
  const {enroute, peer, sockets, clock} = await open();
  enroute.on('connection', ({state}) => { if (state === 'open') enroute.follow('late'); });
  peer.closes(1006);
  await clock.pass(3_000);
  sockets.last.welcomes(clock.wall());
  assert.equal(typesOf(sockets.last.heard()), 'auth subscribe');
});

test('a temporarily refused subscription is repeated at the given time', async () => {
  const {enroute, peer, clock} = await open();
  const follow = enroute.follow('j');
  peer.heard();
  peer.says(refusal('subscribe', 'unavailable', {job: 'j', retry: true, retryInMs: 2_000}));
  assert.equal(follow.view.refused, null);
  await clock.pass(1_999);
  assert.deepEqual(peer.heard(), []);
  await clock.pass(1);
  assert.deepEqual(peer.heard(), [{type: 'subscribe', job: 'j'}]);
});

test('a refused connection clears all views, and start() restores them', async () => {
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

test('a received position is dated by both clocks', async () => {
  const {enroute, peer, clock} = await open();
  const follow = enroute.follow('j');
  peer.says(subscribed('j', {tracking: 'live', positionAgeMs: 800, position: {
    type: 'location', id: '1795248617626123', at: 1, job: 'j', received: 1, lat: 1, lon: 2}}));
  const {positionReceivedAt, positionReceivedAtWall} = follow.view;
  assert.deepEqual([positionReceivedAt, positionReceivedAtWall], [clock.now() - 800, clock.wall() - 800]);
});

test('a message dropped by the rate limit is repeated if it was a subscription', async () => {
  const {enroute, peer, clock, errors} = await open();
  enroute.follow('a');
  enroute.follow('b');
  enroute.watch('rome');
  peer.heard();
  peer.says(subscribed('a'), refusal('', 'rate_limited', {retry: true, retryInMs: 70}));
  await clock.pass(70);
  assert.deepEqual(peer.heard(), [{type: 'subscribe', job: 'b'}, {type: 'watch', zone: 'rome'}]);
  assert.equal(errors[0].code, 'rate_limited');
  // If it had arrived after all:
  const b = enroute.follow('b');
  peer.says(refusal('subscribe', 'bad_request', {job: 'b'}));
  assert.equal(b.view.refused, null);
  peer.says(subscribed('b'));
  assert.ok(b.view.known);
});

test('an invalid zone throws, and every refusal except that of a repetition is reported', async () => {
  const {enroute, peer} = await open();
  assert.throws(() => enroute.watch('Munich Nord'), {name: 'EnrouteError', code: 'not_found'});
  assert.deepEqual(peer.heard(), []);
  const rome = enroute.watch('rome');
  const job = enroute.follow('a');
  peer.says(refusal('watch', 'bad_request', {zone: 'rome'}), refusal('subscribe', 'bad_request', {job: 'a'}));
  assert.deepEqual([rome.pool.refused?.code, job.view.refused?.code], ['bad_request', 'bad_request']);
});

test('many messages are sent no faster than the gateway accepts', async () => {
  const {enroute, peer, clock} = await open();
  for (let count = 0; count < 100; count++) enroute.follow(`j${count}`);
  assert.equal(peer.heard().length, 30);
  await clock.pass(1_000);
  assert.ok(peer.said.length > 10 && peer.said.length <= 15, `${peer.said.length}`);
  await clock.pass(4_000);
  assert.equal(peer.heard().length, 70);
});

const named = (messages, type) => messages.filter((message) => message.type === type).map(({job, zone}) => job ?? zone);

test('a job that is unfollowed before its turn is not subscribed to and delays nothing', async () => {
  const {enroute, peer, clock} = await open();
  for (let count = 0; count < 2_000; count++) enroute.follow(`row-${count}`).stop();
  for (let count = 0; count < 2_000; count++) enroute.watch(`zone-${count}`).stop();
  for (let count = 0; count < 10; count++) enroute.follow(`seen-${count}`);
  await clock.pass(1_000);
  const messages = peer.heard();
  assert.deepEqual(named(messages, 'subscribe').slice(-10), Array.from({length: 10}, (_, count) => `seen-${count}`));
  const rows = (type) => named(messages, type).filter((job) => job.startsWith('row'));
  assert.deepEqual(rows('unsubscribe'), rows('subscribe'), 'what was subscribed to is left');
});

test('more jobs than messages may wait are all subscribed to and all unsubscribed', async () => {
  const {enroute, peer, clock} = await open();
  const follows = Array.from({length: 700}, (_, count) => enroute.follow(`j${count}`));
  await assert.rejects(enroute.travel('v', true), {code: 'network', retry: true, message: /Too many messages wait/});
  const pass = async () => {
    for (let times = 0; times < 6; times++) {
      await clock.pass(10_000);
      peer.says({type: 'pong', serverTime: clock.wall()});
    }
  };
  await pass();
  assert.equal(new Set(named(peer.heard(), 'subscribe')).size, 700);
  for (const follow of follows) follow.stop();
  await pass();
  assert.equal(new Set(named(peer.heard(), 'unsubscribe')).size, 700);
});

test('a waiting repetition is sent once, and a job that may already be subscribed to is unsubscribed', async () => {
  const {enroute, peer, clock} = await open();
  const follows = Array.from({length: 50}, (_, count) => enroute.follow(`j${count}`));
  const dropped = refusal('', 'rate_limited', {retry: true, retryInMs: 1});
  peer.heard();
  for (let times = 0; times < 20; times++) {
    peer.says(dropped);
    await clock.pass(2);
  }
  follows[0].stop();
  await clock.pass(10_000);
  const messages = peer.heard();
  assert.equal(named(messages, 'subscribe').length, 49);
  assert.deepEqual(named(messages, 'unsubscribe'), ['j0']);
});

test('a gateway with lower limits receives fewer messages', async () => {
  const {enroute, clock, sockets, peer} = await open();
  peer.closes(1006);
  await clock.pass(3_000);
  for (let count = 0; count < 60; count++) enroute.follow(`j${count}`);
  sockets.last.opens();
  sockets.last.says({
    type: 'welcome', session: 's', serverTime: clock.wall(), pingIntervalSeconds: 25,
    limits: {messagesPerSecond: 5, messagesBurst: 10},
  });
  assert.equal(named(sockets.last.heard(), 'subscribe').length, 7);
  await clock.pass(4_000);
  assert.equal(named(sockets.last.heard(), 'subscribe').length, 15);
});

test('a request resolves with its answer, in the order of requests of one kind', async () => {
  const {enroute, peer} = await open();
  const on = enroute.travel('j', true);
  const off = enroute.travel('j', false);
  const other = enroute.travel('k', true);
  peer.says({type: 'ok', replyTo: 'travel', job: 'k', deadline: 9});
  peer.says({type: 'ok', replyTo: 'travel', job: 'j', deadline: 7}, refusal('travel', 'forbidden', {job: 'j',
    tasks: ['x']}));
  assert.equal((await on).deadline, 7);
  assert.equal((await other).deadline, 9);
  await assert.rejects(off, (error) => error instanceof EnrouteError && error.code === 'forbidden' && !error.retry
    && error.message === 'no: forbidden' && error.tasks[0] === 'x');
});

test('a request without a connection, an answer or across a disconnect fails with code network',
  async () => {
  const {enroute, peer, clock} = await open();
  const unanswered = assert.rejects(enroute.travel('j', true), {code: 'network', retry: true,
    message: /may have been executed/});
  await clock.pass(15_000);
  await unanswered;
  const cut = assert.rejects(enroute.travel('j', true), {code: 'network', message: /lost before the answer/});
  peer.closes(1006);
  await cut;
  await assert.rejects(enroute.travel('j', true), {code: 'network', message: /no connection/});
  assert.equal(await enroute.reportUnavailable('hidden'), false);
});

test('a function that follows a job twice is called twice, and each follow stops on its own', async () => {
  const {enroute, peer} = await open();
  let told = 0;
  const listener = () => { told += 1; };
  const [first] = [enroute.follow('j', listener), enroute.follow('j', listener)];
  peer.says(subscribed('j'));
  first.stop();
  first.stop();
  peer.says({type: 'status', job: 'j', epoch: 'e', prev: '5-0', id: '6-0', status: 'completed', at: 6});
  assert.deepEqual([told, typesOf(peer.heard())], [3, 'subscribe']);
});

test('a URL of another host is refused, because the credential would be sent there', async () => {
  const sockets = playedSockets();
  const opened = async (more) => {
    begin({credential: () => ({token: 't'}), WebSocket: sockets, ...more}).start();
    await settled();
    return sockets.last.url;
  };
  globalThis.location = {origin: 'https://shop.example'};
  try {
    assert.equal(await opened({url: '/v1'}), 'wss://shop.example/v1');
    assert.equal(await opened({url: 'http://localhost:8080/v1'}), 'ws://localhost:8080/v1');
    for (const url of ['https://track.example', 'https://track.example/']) {
      assert.equal(await opened({url}), 'wss://track.example/v1');
    }
    const wrong = [{url: 'track.example/v1'}, {url: '.evil.example'}, {url: 'https:///v1'}, {url: '/v1', rest: 'api/v1'}];
    for (const options of wrong) {
      const refused = {name: 'TypeError', message: /^This is not a valid address: /};
      await assert.rejects(opened(options), refused, JSON.stringify(options));
    }
  } finally {
    delete globalThis.location;
  }
});

test('listeners receive messages of their type until they are removed', async () => {
  const {enroute, peer} = await open();
  const told = [];
  const off = enroute.on('proximity', ({state}) => told.push(state));
  peer.says({type: 'proximity', job: 'j', state: 'arrived'});
  off();
  peer.says({type: 'proximity', job: 'j', state: 'left'}, {type: 'of tomorrow'});
  peer.onmessage({data: 'no JSON'});
  assert.deepEqual(told, ['arrived']);
});

test('a listener that throws does not affect the others', async () => {
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

test('a zone is watched from its last known version', async () => {
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

test('without a WebSocket the constructor throws an error with advice', () => {
  const theirs = globalThis.WebSocket;
  delete globalThis.WebSocket;
  assert.throws(() => new Enroute({url: 'wss://x/v1', credential: () => null}), /Pass a class/);
  if (theirs) globalThis.WebSocket = theirs;
});

test('a late answer does not resolve the next request', async () => {
  const {enroute, peer, clock} = await open();
  const first = assert.rejects(enroute.travel('j', true), {code: 'network'});
  await clock.pass(15_000);
  await first;
  let isAnswered = false;
  const second = enroute.travel('j', false).finally(() => { isAnswered = true; });
  peer.says(refusal('travel', 'forbidden', {job: 'j'}));
  await settled();
  assert.equal(isAnswered, false);
  peer.says({type: 'ok', replyTo: 'travel', job: 'j', deadline: 7});
  assert.equal((await second).deadline, 7);
});

test('a request that the gateway dropped does not get the answer to the next one', async () => {
  const {enroute, peer, clock} = await open();
  const first = assert.rejects(enroute.travel('j', true), {code: 'network'});
  peer.says(refusal('', 'rate_limited', {retry: true, retryInMs: 100}));
  await clock.pass(15_000);
  await first;
  const second = enroute.travel('j', false);
  peer.says({type: 'ok', replyTo: 'travel', job: 'j'});
  assert.equal((await second).replyTo, 'travel');
});
