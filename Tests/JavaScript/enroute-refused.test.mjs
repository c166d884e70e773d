// What listeners receive when a connection was refused, and after the gateway dropped an `unsubscribe`.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {settled} from './clock.mjs';
import {begin, open, refusal, subscribed} from './connected.mjs';

/** A client whose app is signed in at first, and everything that one listener of the job receives. */
async function followed() {
  const session = {credential: {token: 't'}};
  const stage = await open({credential: () => session.credential});
  const told = [];
  const follow = stage.enroute.follow('j', (view, change) => told.push([change, view.refused?.code ?? null]));
  stage.peer.says(subscribed('j'));
  stage.peer.heard();
  assert.deepEqual(told.splice(0), [['snapshot', null]]);
  const signOut = async () => {
    session.credential = null;
    stage.enroute.stop();
    stage.enroute.start();
    await settled();
  };
  const signIn = async () => {
    session.credential = {token: 't'};
    stage.enroute.start();
    await settled();
  };
  return {...stage, follow, told, signOut, signIn};
}

test('listeners learn that a job is visible again, even if it has not changed', async () => {
  const {sockets, clock, follow, told, signOut, signIn} = await followed();
  await signOut();
  assert.deepEqual(told.splice(0), [['refused', 'unauthorized']]);
  await signIn();
  sockets.last.welcomes(clock.wall());
  assert.deepEqual(sockets.last.heard().slice(1), [{type: 'subscribe', job: 'j', since: {epoch: 'e', id: '5-0'}}]);
  sockets.last.says(subscribed('j'));
  sockets.last.says(subscribed('j'));
  assert.deepEqual(told, [['snapshot', null]], 'a repeated snapshot is no change');
  assert.equal(follow.view.status, 'on_the_way');
});

test('listeners learn that the next session may not see the job either', async () => {
  const {sockets, clock, told, signOut, signIn} = await followed();
  await signOut();
  await signIn();
  sockets.last.welcomes(clock.wall());
  sockets.last.says(refusal('subscribe', 'not_found', {job: 'j'}));
  assert.deepEqual(told, [['refused', 'unauthorized'], ['refused', 'not_found']]);
});

test('a job that is followed after the connection was refused is refused at once', async () => {
  const {enroute, sockets, clock, signOut, signIn} = await followed();
  await signOut();
  const told = [];
  const late = enroute.follow('late', (view, change) => told.push([change, view.refused?.code ?? null]));
  assert.deepEqual(told, [], 'not before `follow` returns');
  await settled();
  assert.deepEqual(told.splice(0), [['refused', 'unauthorized']]);
  await signIn();
  sockets.last.welcomes(clock.wall());
  sockets.last.says(subscribed('late'));
  assert.deepEqual([told, late.view.known], [[['snapshot', null]], true]);
});

test('a second follower of a refused job is notified too, and both see the job after the next sign-in', async () => {
  const {enroute, sockets, clock, told, signOut, signIn} = await followed();
  await signOut();
  const second = [];
  enroute.follow('j', (view, change) => second.push(change));
  await settled();
  await signIn();
  sockets.last.welcomes(clock.wall());
  sockets.last.says(subscribed('j'));
  assert.deepEqual([told.map(([change]) => change), second], [['refused', 'snapshot'], ['refused', 'snapshot']]);
});

test('after a token expired, following waits for the renewal and refuses nothing', async () => {
  const {enroute, peer, clock, sockets} = await open();
  peer.closes(4005, 'expired');
  await clock.pass(0);
  assert.deepEqual([enroute.connection.state, sockets.all.length], ['refused', 1]);
  const told = [];
  const follow = enroute.follow('late', (view, change) => told.push(change));
  await settled();
  assert.deepEqual([told, follow.view.refused], [[], null]);
});

test('an invalid name stays refused when the next session starts', async () => {
  const {enroute, sockets, clock, signOut, signIn} = await followed();
  await signOut();
  const bad = enroute.follow('no such/job');
  await settled();
  assert.equal(bad.view.refused.code, 'not_found');
  await signIn();
  sockets.last.welcomes(clock.wall());
  assert.deepEqual([sockets.last.heard().slice(1).map(({job}) => job), bad.view.refused.code], [['j'], 'not_found']);
});

test('a job that is followed before start() is not refused', async () => {
  const enroute = begin({url: 'wss://x/v1', credential: () => null, WebSocket: class {}});
  const follow = enroute.follow('j');
  await settled();
  assert.equal(follow.view.refused, null);
});

// ---- an unsubscribe that the gateway dropped ----

const dropped = (retryInMs) => refusal('unsubscribe', 'rate_limited', {job: 'j', retry: true, retryInMs});
const [subscribe, unsubscribe] = ['subscribe', 'unsubscribe'].map((type) => ({type, job: 'j'}));
const left = {type: 'ok', replyTo: 'unsubscribe', job: 'j'};
const already = refusal('subscribe', 'bad_request', {job: 'j'});

test('a dropped unsubscribe is repeated at the given time, and is no error', async () => {
  const {peer, clock, follow, enroute, errors} = await followed();
  follow.stop();
  peer.says(dropped(700));
  peer.heard();
  await clock.pass(699);
  assert.deepEqual(peer.heard(), []);
  await clock.pass(1);
  assert.deepEqual(peer.heard(), [unsubscribe]);
  peer.says(left);
  enroute.follow('j');
  assert.deepEqual([peer.heard(), errors], [[subscribe], []]);
});

test('a job whose unsubscribe was dropped can be followed again at once', async () => {
  const {peer, clock, follow, enroute} = await followed();
  follow.stop();
  peer.says(dropped(700));
  peer.heard();
  const again = enroute.follow('j');
  assert.deepEqual(peer.heard(), [unsubscribe, subscribe]);
  peer.says(left, subscribed('j', {status: 'assigned'}));
  await clock.pass(5_000);
  assert.deepEqual([peer.heard(), again.view.status, again.view.refused], [[], 'assigned', null]);
});

test('a job that was followed again before its unsubscribe was dropped gets a new subscription', async () => {
  const {peer, clock, follow, enroute, errors} = await followed();
  follow.stop();
  const again = enroute.follow('j');
  assert.deepEqual(peer.heard(), [unsubscribe, subscribe]);
  peer.says(dropped(700), already);
  assert.equal(again.view.refused, null);
  await clock.pass(700);
  assert.deepEqual(peer.heard(), [unsubscribe, subscribe]);
  peer.says(dropped(900), already);
  await clock.pass(900);
  assert.deepEqual(peer.heard(), [unsubscribe, subscribe]);
  peer.says(left, subscribed('j'));
  await clock.pass(5_000);
  assert.deepEqual([peer.heard(), again.view.known, errors], [[], true, []]);
});

test('a new connection follows no job, so a dropped unsubscribe has no effect on it', async () => {
  const {peer, follow, enroute, comeBack} = await followed();
  follow.stop();
  peer.says(dropped(60_000));
  const next = await comeBack();
  assert.deepEqual(next.heard().slice(1), []);
  enroute.follow('j');
  assert.deepEqual(next.heard(), [subscribe]);
});

// ---- other messages that the gateway dropped ----

const later = (replyTo, more) => refusal(replyTo, 'rate_limited', {retry: true, retryInMs: 500, ...more});

test('a subscription that was answered is not repeated for a dropped one', async () => {
  const {enroute, clock, peer, errors} = await open();
  enroute.follow('j').stop();
  const follow = enroute.follow('j');
  assert.deepEqual(peer.heard(), [subscribe, unsubscribe, subscribe]);
  peer.says(later('subscribe', {job: 'j'}), left, subscribed('j'));
  await clock.pass(5_000);
  assert.deepEqual([peer.heard(), follow.view.refused, errors], [[], null, []]);
});

test('the answer to an earlier subscription does not count for a dropped one', async () => {
  const {enroute, clock, peer} = await open();
  enroute.follow('j').stop();
  enroute.follow('j');
  peer.heard();
  peer.says(subscribed('j'), left, later('subscribe', {job: 'j'}));
  await clock.pass(500);
  assert.deepEqual(peer.heard(), [{...subscribe, since: {epoch: 'e', id: '5-0'}}]);
});

test('a zone that was answered is not watched again for a dropped watch', async () => {
  const {enroute, clock, peer} = await open();
  enroute.watch('rome').stop();
  const watch = enroute.watch('rome');
  peer.heard();
  peer.says(later('watch', {zone: 'rome'}), {type: 'pool', zone: 'rome', version: 5, riders: [], count: 0});
  await clock.pass(5_000);
  assert.deepEqual([peer.heard(), watch.pool.refused], [[], null]);
});

test('a dropped unwatch is repeated, also before the zone is watched again', async () => {
  const {enroute, clock, peer, errors} = await open();
  const [watchRome, unwatchRome] = ['watch', 'unwatch'].map((type) => ({type, zone: 'rome'}));
  enroute.watch('rome').stop();
  peer.says(later('unwatch', {zone: 'rome'}));
  peer.heard();
  await clock.pass(500);
  assert.deepEqual(peer.heard(), [unwatchRome]);
  peer.says(later('unwatch', {zone: 'rome'}));
  const watch = enroute.watch('rome');
  assert.deepEqual(peer.heard(), [unwatchRome, watchRome]);
  peer.says(later('unwatch', {zone: 'rome'}), refusal('watch', 'bad_request', {zone: 'rome'}));
  await clock.pass(500);
  assert.deepEqual([peer.heard(), watch.pool.refused, errors], [[unwatchRome, watchRome], null, []]);
});

test('a refusal by the rate limit that overtakes an answer rejects only its own request', async () => {
  const {enroute, peer} = await open();
  const first = enroute.travel('j', true);
  const second = enroute.travel('j', true);
  peer.says(later('travel', {job: 'j', ref: '2'}), {type: 'ok', replyTo: 'travel', job: 'j', deadline: 9});
  await assert.rejects(second, {code: 'rate_limited', retryInMs: 500});
  assert.equal((await first).deadline, 9);
});
