// The golden files that the Swift tests read too (Tests/EnrouteWireTests/Golden): the library sends exactly the bytes that a
// gateway is known to read, and understands those that a gateway is known to write. A kind of message without a line here
// fails the test.

import assert from 'node:assert/strict';
import {readFileSync, readdirSync} from 'node:fs';
import {test} from 'node:test';
import {Enroute} from '../../Sources/WebAssets/web/enroute.js';
import {Clock, playedSockets, settled} from './clock.mjs';

const golden = (direction) => {
  const folder = new URL(`../EnrouteWireTests/Golden/${direction}/`, import.meta.url);
  return Object.fromEntries(readdirSync(folder).map((name) => [
    name.replace('.jsonl', ''), readFileSync(new URL(name, folder), 'utf8').trimEnd().split('\n'),
  ]));
};
const client = golden('client');
const server = golden('server');
const first = (kind) => JSON.parse(server[kind][0]);
const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJl';

async function open(credential = {token: TOKEN}) {
  const clock = new Clock();
  clock.epoch = 1_795_248_620_000 - clock.now();
  const sockets = playedSockets();
  const texts = [];
  // Each request has a `ref`, a number, as its last member.
  class Noting extends sockets { send(text) { texts.push(text.replace(/,"ref":"\d+"}$/, '}')); super.send(text); } }
  const enroute = new Enroute({
    url: 'wss://gw.example/v1', credential: () => credential, WebSocket: Noting, device: undefined, ...clock,
  });
  enroute.start();
  await settled();
  const welcome = () => Noting.last.welcomes(clock.wall());
  welcome();
  return {enroute, clock, texts, welcome, get peer() { return Noting.last; }};
}

/** What makes the library send each line, in order. */
const SAYING = {
  auth: [() => open(), () => open({link: '5f0c2e7a91b34d6688e0c1a2b3d4e5f6'})],
  refresh: [({enroute}) => enroute.refresh(TOKEN)],
  subscribe: [({enroute}) => enroute.follow('visit-1'), async (opened) => {
    opened.enroute.follow('visit-1');
    opened.peer.says(first('subscribed'));
    await comeBack(opened);
  }],
  unsubscribe: [({enroute}) => enroute.follow('visit-1').stop()],
  travel: [({enroute}) => enroute.travel('visit-1', true), ({enroute}) => enroute.travel('visit-1', false)],
  location: [tellOne, async (opened) => {
    tellOne(opened);
    opened.enroute.publish(['visit-1', 'visit-2'], {at: 1795248618626, lat: 41.9029, lon: 12.4965, acc: 12.5,
      spd: null});
    opened.enroute.publish(['visit-1', 'visit-2'], {at: 1795248619626, lat: -41.9029123, lon: -12.4965});
    await opened.clock.pass(1_000);
  }],
  availability: [
    ({enroute}) => enroute.availability('online', {device: 'phone-1'}), ({enroute}) => enroute.availability('offline'),
  ],
  presence: [({enroute}) => enroute.presence(), ({enroute}) => enroute.presence({lat: 41.9, lon: 12.5,
    device: 'phone-1'})],
  unavailable: [
    ({enroute}) => enroute.reportUnavailable('permission_denied', 'visit-1'),
    ({enroute}) => enroute.reportUnavailable('hidden'),
  ],
  watch: [({enroute}) => enroute.watch('rome'), async (opened) => {
    opened.enroute.watch('rome');
    opened.peer.says(first('pool'));
    await comeBack(opened);
  }],
  unwatch: [({enroute}) => enroute.watch('rome').stop()],
  ping: [({clock}) => clock.pass(20_000)],
};

function tellOne({enroute}) {
  enroute.publish('visit-1', {at: 1795248617626, lat: 41.9028, lon: 12.4964, acc: 5, spd: 8.2, hdg: 47});
}

async function comeBack(opened) {
  opened.peer.closes(1006);
  await opened.clock.pass(3_000);
  opened.welcome();
}

test('the library sends every kind of client message as in the golden file', () => {
  assert.deepEqual(Object.keys(SAYING).sort(), Object.keys(client).sort());
});

for (const [kind, lines] of Object.entries(client)) {
  lines.forEach((line, index) => test(`${kind}, line ${index + 1}, is said as it is written`, async () => {
    const opened = await open();
    const said = SAYING[kind][index](opened);
    // No gateway answers here, so pending requests are rejected when the connection ends.
    if (said?.catch && ['refresh', 'travel', 'availability'].includes(kind)) said.catch(() => {});
    const hasNoOutcome = ['presence', 'unavailable', 'refresh', 'travel', 'availability'].includes(kind);
    const outcome = hasNoOutcome ? undefined : await said;
    assert.equal((outcome?.texts ?? opened.texts).filter((text) => text.includes(`"type":"${kind}"`)).at(-1), line);
    opened.enroute.stop();
    outcome?.enroute?.stop();
  }));
}

/** The view before a line whose content the first snapshot already has, so that a line that is ignored is noticed. */
const earlier = {status: first('subscribed'), location: first('subscribed')};
Object.assign(earlier.status.snapshot, {id: '1795248600000-0', status: 'assigned', statusAt: 1});
delete earlier.location.snapshot.position;

/** What each line changes in the view, the pool or the events. */
const HEARING = {
  subscribed: [({view}) => [
    view.status, view.tracking, view.unavailable, view.geocoding, view.position.id, view.eta.state, view.vendor,
    view.vendorAddress, view.riderCard.vehicle, view.display.items, view.metadata.tenant, view.recipient.floor,
  ]],
  reset: [({view}) => [view.known, view.tracking, view.reason, view.position]],
  status: [({view}) => [view.id, view.status, view.statusAt], ({view}) => [view.id]],
  location: [({view}) => [view.position.id, view.position.hdg], ({view}) => [view.position.id, view.position.lat]],
  tracking: [
    ({view}) => [view.tracking, view.reason], ({view}) => [view.tracking, view.reason, view.text, view.position],
    ({view}) => [view.tracking, view.reason, view.text],
  ],
  eta: [({view}) => [view.eta.arrivesAt, view.eta.confidence], ({view}) => [view.eta.state, view.eta.stopsBefore],
    ({view}) => [view.eta.earliestAt, view.eta.latestAt], ({view}) => [view.eta.source, view.eta.route.meters]],
  ended: [({view}) => [view.ended, view.position]],
  proximity: [({view}) => [view.proximity]],
  unavailable: [({view, told}) => [view.unavailable, told.reason], ({view}) => [view.unavailable]],
  rate: [({told}) => [told.intervalSeconds], ({told}) => [told.intervalSeconds]],
  pool: [({pool}) => [pool.version, pool.count, [...pool.riders.keys()]], ({pool}) => [pool.version, pool.count]],
  jobs: [({told: {reset, count, jobs: [row]}}) => [reset, count, row.arrivesAt, row.promisedBy,
    row.display.orderNumber, row.geocoding],
    ({told}) => [told.gone]],
  places: [({told}) => [told.reset, told.places[0].destination.lat, told.places[1].rider], ({told}) => [told.goneJobs]],
  rider: [({pool}) => [pool.version, pool.riders.get('rider-7').tasks, pool.count]],
  welcome: [({told, enroute}) => [told.session, enroute.connection.state]],
  degraded: [({enroute}) => [enroute.connection.degraded]], restored: [({enroute}) => [enroute.connection.degraded]],
  ok: [({answer}) => [answer.deadline], ({told}) => [told.seq], ({answer}) => [answer.replyTo]],
  error: [
    ({foreign}) => [foreign.refused.code], ({error}) => [error.code, error.message, error.retry, error.retryInMs],
    ({error}) => [error.code, error.tasks], ({pool}) => [pool.refused.code], ({told}) => [told.code, told.reason],
  ],
  pong: [({enroute}) => [enroute.serverTime]], goaway: [({told}) => [told.retryInMs]],
};

const HEARD = {
  subscribed: [[
    'on_the_way', 'stale', 'unavailable_network', 'ok', '1795248617626123', 'recalculating', 'Da Gino & Söhne',
    'Via Appia 1, Roma', 'cargo_bike', ['2 × Margherita'], 'north', '3rd floor',
  ]],
  reset: [[true, 'ended', 'reassigned', null]],
  status: [['1795248617611-0', 'on_the_way', 1795248617611], ['1795248610000-0']],
  location: [['1795248617626123', 47], ['1795248618626124', 41.9029123]],
  tracking: [['live', null], ['paused', 'deactivated', 'paused', null], ['ended', 'time_limit', 'ended_time_limit']],
  eta: [[1795249337630, 'low'], ['unavailable', 1], [1795249092110, 1795250007950], ['osrm', 485]],
  ended: [['completed', null]], proximity: [['arrived']],
  unavailable: [['unavailable_network', 'network'], ['unavailable_hidden']],
  rate: [[2.5], [8]],
  pool: [[1795248617626123, 1, ['rider-7']], [1795248618000456, 0]], rider: [[1795248618000456, 1, 0]],
  jobs: [[true, 1, 1795249337630, 1795249200000, 'A-1042', 'low'], [['order-7']]],
  places: [[true, 41.91, 'rider-7'], [['order-7']]],
  welcome: [['1f-3', 'open']], degraded: [[true]], restored: [[false]],
  ok: [[1795263017611], [17], ['availability']],
  error: [
    ['not_found'], ['unavailable', 'Try again "shortly".', true, 1500], ['active_task', ['order-1', 'order-2']],
      ['forbidden'],
    ['implausible_position', 'inaccurate'],
  ],
  pong: [[1795248617626]], goaway: [[4200]],
};

test('the library understands every kind of gateway message in the golden file', () => {
  assert.deepEqual(Object.keys(HEARING).sort(), Object.keys(server).sort());
});

for (const [kind, lines] of Object.entries(server)) {
  lines.forEach((line, index) => test(`${kind}, line ${index + 1}, is understood`, async () => {
    const {enroute, peer, clock} = await open();
    // A pong tells the time only after a ping.
    if (kind === 'pong') await clock.pass(20_000);
    let told, answer, error;
    enroute.on(kind, (event) => { told = event; });
    const message = JSON.parse(line);
    const isRefused = kind === 'error' && message.replyTo === 'subscribe';
    const follow = enroute.follow('visit-1');
    const watch = enroute.watch('rome');
    if (!isRefused) peer.says(earlier[kind] ?? first('subscribed'));
    if (!(message.replyTo === 'watch')) peer.says(first('pool'));
    if (kind === 'restored') peer.says(first('degraded'));
    // An answer needs a request.
    const question = {travel: () => enroute.travel('visit-1', true),
      availability: () => enroute.availability('offline')};
    question[message.replyTo]?.().then((ok) => { answer = ok; }, (refused) => { error = refused; });
    // It answers the request of this test.
    peer.says({...message, ref: undefined});
    await settled();
    const seen = {view: follow.view, foreign: follow.view, pool: watch.pool, enroute, told, answer, error};
    assert.deepEqual(HEARING[kind][index](seen), HEARD[kind][index]);
    enroute.stop();
  }));
}
