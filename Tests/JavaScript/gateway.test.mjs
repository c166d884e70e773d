// enroute.js with a real gateway and a real Redis over real sockets: confirms what the other tests assume about gateways. The
// library's clock can run faster, so that a minute of silence passes in two seconds.

import assert from 'node:assert/strict';
import {after, afterEach, before, test} from 'node:test';
import {Enroute} from '../../Sources/WebAssets/web/enroute.js';
import {PATIENCE, Stage, isBuilt, until} from './gateway.mjs';
import {Socket} from './socket.mjs';

const skip = isBuilt ? false : 'there is no gateway: swift build, or name one in ENROUTE_EXECUTABLE';
const begun = [];
const sockets = [];
let stage, service, jobs = 0;

/** Collects the sockets, so that a test can cut them. */
class Kept extends Socket {
  constructor(...all) { super(...all); sockets.push(this); }
}

function begin(credential, {speed = 1, url = stage.url} = {}) {
  const enroute = new Enroute({
    url, WebSocket: Kept, credential: async () => credential,
    now: () => performance.now() * speed,
    // Short delays.
    random: () => 0.1,
    timers: {
      setTimeout: (action, delay) => setTimeout(action, delay / speed), clearTimeout: (timer) => clearTimeout(timer),
    },
  });
  begun.push(enroute);
  enroute.start();
  return enroute;
}

async function person(role, name, more) { return begin({token: await stage.token(role, name)}, more); }

/** Creates a visit for `anna` whose technician `rider-7` is on the way. */
async function visit(status = 'on_the_way') {
  const job = `visit-${++jobs}`;
  await service.rest('POST', '/jobs', {
    body: {job, kind: 'service', customer: 'anna', rider: 'rider-7', destination: {lat: 41.95, lon: 12.5}},
  });
  if (status !== 'assigned') await service.rest('POST', `/jobs/${job}/status`, {body: {status}});
  return job;
}

const isOpen = (enroute) => until('it is open', () => enroute.connection.state === 'open');
const here = (north = 0) => ({at: Date.now(), lat: 41.9 + north / 111_195, lon: 12.5, acc: 5, spd: null, hdg: null});

before(async () => {
  if (skip) return;
  stage = await Stage.open({ENROUTE_DRAIN_SECONDS: '1'});
  service = await person('service', 'orders');
}, {timeout: PATIENCE});
afterEach(() => { for (const enroute of begun.splice(0)) if (enroute !== service) enroute.stop(); });
after(async () => {
  if (skip) return;
  service.stop();
  await stage.close();
}, {timeout: PATIENCE});

const claim = (name, body) => test(name, {skip, timeout: 2 * PATIENCE}, body);

claim('a customer sees a rider travel, arrive and finish', async () => {
  const job = await visit();
  const [anna, rider] = [await person('customer', 'anna'), await person('rider', 'rider-7')];
  const changes = [];
  const follow = anna.follow(job, (view, change) => changes.push(change));
  const rates = [];
  rider.on('rate', ({intervalSeconds}) => rates.push(intervalSeconds));
  await until('the visit is known', () => follow.view.known);
  assert.deepEqual([follow.view.status, follow.view.tracking], ['on_the_way', 'waiting']);
  await isOpen(rider);
  const {deadline} = await rider.travel(job, true);
  assert.ok(deadline > Date.now());
  rider.publish(job, here());
  await until('the rider is seen', () => follow.view.position);
  assert.equal(follow.view.tracking, 'live');
  await until('the rider is told how often', () => rates.length > 0);
  await until('an arrival is told', () => follow.view.eta);
  await service.rest('POST', `/jobs/${job}/status`, {body: {status: 'work_in_progress'}});
  await until('it has arrived', () => follow.view.tracking === 'arrived');
  assert.equal(follow.view.position, null);
  await service.rest('POST', `/jobs/${job}/status`, {body: {status: 'completed'}});
  await until('it is over', () => follow.view.ended);
  assert.deepEqual(follow.view.steps.map(({state}) => state), Array(4).fill('complete'));
  assert.deepEqual(changes.filter((change) => change === 'snapshot'), ['snapshot']);
});

claim('a client that was cut off reconnects and sees what happened meanwhile', async () => {
  const job = await visit('assigned');
  const anna = await person('customer', 'anna');
  const follow = anna.follow(job);
  await until('the visit is known', () => follow.view.known);
  const states = [];
  anna.on('connection', ({state}) => states.push(state));
  sockets.at(-1).cut();
  await until('it is noticed', () => states.includes('waiting'));
  await service.rest('POST', `/jobs/${job}/status`, {body: {status: 'on_the_way'}});
  await until('it was made good', () => follow.view.status === 'on_the_way');
  assert.equal(anna.connection.state, 'open');
});

claim('a guest follows a job by its link and cannot follow another one', async () => {
  const [job, other] = [await visit(), await visit()];
  const {body: {link}} = await service.rest('POST', `/jobs/${job}/links`, {body: {}});
  const guest = begin({link});
  const [own, foreign] = [guest.follow(job), guest.follow(other)];
  await until('its job is known', () => own.view.known);
  await until('the other is refused', () => foreign.view.refused);
  assert.equal(foreign.view.refused.code, 'not_found');
});

claim('an invalid link is refused permanently', async () => {
  const guest = begin({link: '0'.repeat(32)});
  const follow = guest.follow('visit-1');
  await until('it is refused', () => guest.connection.state === 'refused');
  assert.deepEqual([guest.connection.close.code, follow.view.refused.code], [4500, 'unauthorized']);
});

claim('a newer token replaces the old one, another person\u2019s token does not', async () => {
  const anna = await person('customer', 'anna');
  await isOpen(anna);
  const {deadline} = await anna.refresh(await stage.token('customer', 'anna', 3_600));
  assert.ok(deadline > Date.now() + 3_000_000);
  await assert.rejects(anna.refresh(await stage.token('customer', 'bob')), {name: 'EnrouteError', retry: false});
});

claim('an expired token is refused if there is no newer one', async () => {
  const credential = {token: stage.expired(await stage.token('customer', 'anna'))};
  const anna = begin(credential);
  await until('it is refused', () => anna.connection.state === 'refused');
  assert.equal(anna.connection.close.code, 4005);
  credential.token = await stage.token('customer', 'anna');
  anna.start();
  await isOpen(anna);
});

claim('a rider goes online but not offline with a task, and the pool shows both', async () => {
  await service.rest('PUT', '/riders/rider-9', {body: {zone: 'rome', approved: true}});
  const [ops, rider] = [await person('ops', 'olga'), await person('rider', 'rider-9')];
  await Promise.all([isOpen(ops), isOpen(rider)]);
  const changes = [];
  const watch = ops.watch('rome', (pool, change) => changes.push(change.change ?? change));
  await until('the pool is known', () => watch.pool.known);
  await rider.availability('online', {device: 'phone-1'});
  await until('it is in the pool', () => watch.pool.riders.get('rider-9')?.available);
  assert.ok(await rider.presence({lat: 41.9, lon: 12.5, device: 'phone-1'}));
  const job = `order-${++jobs}`;
  await service.rest('POST', '/jobs', {body: {job, kind: 'delivery', customer: 'anna', rider: 'rider-9'}});
  await assert.rejects(rider.availability('offline'),
    (error) => error.code === 'active_task' && error.tasks[0] === job);
  await until('the pool knows', () => changes.includes('assigned'));
});

claim('a position without travel mode is rejected with an error', async () => {
  const job = await visit();
  const rider = await person('rider', 'rider-7');
  await isOpen(rider);
  const errors = [];
  rider.on('error', (error) => errors.push(error));
  rider.publish(job, here());
  await until('it is refused', () => errors.length > 0);
  assert.deepEqual([errors[0].replyTo, errors[0].code], ['location', 'travel_mode_off']);
  assert.ok(await rider.reportUnavailable('hidden', job));
});

claim('more follows than the message limit allows are all subscribed', async () => {
  const job = await visit();
  const ops = await person('ops', 'olga');
  const errors = [];
  ops.on('error', (error) => errors.push(error));
  const follows = Array.from({length: 60}, (_, index) => ops.follow(index === 59 ? job : `none-${index}`));
  await until('all are answered', () => follows.every(({view}) => view.known || view.refused));
  assert.deepEqual([errors, follows.at(-1).view.known], [[], true]);
});

claim('a gateway without Redis reports it and the connection stays open', async () => {
  const job = await visit();
  const anna = await person('customer', 'anna');
  const follow = anna.follow(job);
  await until('the visit is known', () => follow.view.known);
  stage.signalRedis('SIGSTOP');
  await until('it is told', () => anna.connection.degraded);
  const foreign = anna.follow('visit-0');
  stage.signalRedis('SIGCONT');
  await until('it is over', () => !anna.connection.degraded);
  await until('what was asked meanwhile is answered', () => foreign.view.refused);
  assert.deepEqual([anna.connection.state, follow.view.status], ['open', 'on_the_way']);
});

claim('a gateway that shuts down names a time, and the client reconnects', async () => {
  const job = await visit('assigned');
  const anna = await person('customer', 'anna');
  const follow = anna.follow(job);
  await until('the visit is known', () => follow.view.known);
  const told = [];
  anna.on('goaway', ({retryInMs}) => told.push(retryInMs));
  anna.on('connection', ({close}) => { if (close) told.push(close.code); });
  stage.signal('SIGTERM');
  await stage.gatewayEnds();
  await until('it was told', () => told.includes(4000));
  assert.equal(typeof told[0], 'number');
  await stage.startGateway();
  await service.rest('POST', `/jobs/${job}/status`, {body: {status: 'on_the_way'}});
  await until('it is back', () => follow.view.status === 'on_the_way');
});

claim('after a gateway is killed the client reconnects and resumes', async () => {
  const job = await visit();
  const [anna, rider] = [await person('customer', 'anna'), await person('rider', 'rider-7')];
  const follow = anna.follow(job);
  await Promise.all([isOpen(anna), isOpen(rider)]);
  await rider.travel(job, true);
  rider.publish(job, here());
  const seen = await until('the rider is seen', () => follow.view.position);
  stage.signal('SIGKILL');
  await stage.gatewayEnds();
  await until('it is noticed', () => anna.connection.state !== 'open' && rider.connection.state !== 'open');
  assert.equal(follow.view.position, seen);
  rider.publish(job, here(8));
  await stage.startGateway();
  await until('the rider is seen further on', () => follow.view.position?.lat > seen.lat);
  assert.ok(BigInt(follow.view.position.id) > BigInt(seen.id));
});

claim('a frozen gateway is detected by its silence, and the client reconnects when it thaws', async () => {
  const job = await visit();
  const anna = await person('customer', 'anna', {speed: 30});
  const follow = anna.follow(job);
  await until('the visit is known', () => follow.view.known);
  stage.signal('SIGSTOP');
  await until('the silence is noticed', () => anna.connection.close?.reason === 'the gateway did not answer a ping');
  await until('nobody answers', () => anna.connection.close?.reason === 'the gateway did not answer in time');
  assert.equal(follow.view.status, 'on_the_way');
  stage.signal('SIGCONT');
  await isOpen(anna);
  await service.rest('POST', `/jobs/${job}/status`, {body: {status: 'work_in_progress'}});
  await until('news come', () => follow.view.status === 'work_in_progress');
});

claim('B41: a gateway that freezes while a rider is followed is reported long before it is given up', async () => {
  const job = await visit();
  const rider = await person('rider', 'rider-7');
  const anna = await person('customer', 'anna', {speed: 3});
  const follow = anna.follow(job);
  await isOpen(rider);
  await rider.travel(job, true);
  rider.publish(job, here());
  await until('the rider is seen', () => follow.view.position);
  assert.equal(anna.connection.silent, undefined);
  const lastMessageAt = anna.lastMessageAt;
  stage.signal('SIGSTOP');
  await until('the silence is told', () => anna.connection.silent);
  assert.deepEqual([anna.connection.state, anna.connection.close, follow.view.tracking], ['open', undefined, 'live']);
  stage.signal('SIGCONT');
  await until('it is over', () => anna.connection.silent === undefined);
  assert.ok(anna.connection.state === 'open' && anna.lastMessageAt > lastMessageAt);
});
