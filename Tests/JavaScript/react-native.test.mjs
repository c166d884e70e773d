// Background reports of a rider's phone: the events of both location libraries, one request at a time, a store that fails, the
// end of the app, and a real gateway.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  BackgroundReporter, backgroundGeolocationTask, expoTask, fixOfBackgroundGeolocation, fixesOfExpo,
} from '../../Sources/JavaScript/react-native.js';
import {Enroute} from '../../Sources/JavaScript/enroute.js';
import {Clock, settled} from './clock.mjs';
import {PATIENCE, Stage, isBuilt, until} from './gateway.mjs';
import {Socket} from './socket.mjs';

/** A phone whose gateway is played by the test, and whose storage can be read. */
function phone({answers = [], kept = null, ...more} = {}) {
  const clock = new Clock();
  const [sent, outcomes, faults, stored] = [[], [], [], {text: kept}];
  const options = {
    gateway: 'https://track.example/', credential: () => ({token: 't'}),
    wall: clock.wall, random: () => 1, timers: clock.timers,
    storage: {load: async () => stored.text, save: async (text) => { stored.text = text; }},
    onOutcome: (outcome) => outcomes.push(outcome), onStorageError: (error) => faults.push(error.message),
    fetch: async (url, {method, body}) => {
      sent.push({method, url, body: JSON.parse(body)});
      const answer = answers.shift() ?? {body: {job: 'v', accepted: ['v'], stale: [], refused: [], intervalSeconds: 5}};
      if (answer instanceof Error) throw answer;
      const {status = 200, body: text = {}, headers = {}, until: held} = answer;
      await held;
      return new Response(JSON.stringify(text), {status, headers});
    },
    ...more,
  };
  return {clock, sent, outcomes, faults, stored, options, reporter: new BackgroundReporter(options)};
}

const expo = (clock, ...seconds) => ({
  data: {
    locations: seconds.map((ago) => ({
      coords: {latitude: 41.9, longitude: 12.5, accuracy: 5, speed: -1, heading: -1, altitude: 30, altitudeAccuracy: 3},
      timestamp: clock.wall() - ago * 1000,
    })),
  },
  error: null,
});

test('an event of expo-location becomes one report of its newest fixes', async () => {
  const {clock, reporter, sent, outcomes} = phone();
  await reporter.setJobs(['v', 'w']);
  const outcome = await expoTask(reporter)(expo(clock, 9, 3, 0));
  assert.equal(sent.length, 1);
  assert.deepEqual([sent[0].method, sent[0].url], ['POST', 'https://track.example/api/v1/jobs/v/locations']);
  const {fixes, jobs} = sent[0].body;
  assert.deepEqual(jobs, ['w']);
  assert.deepEqual(fixes.map(({at}) => clock.wall() - at), [0, 3000, 9000]);
  assert.deepEqual(fixes[0], {at: clock.wall(), lat: 41.9, lon: 12.5, acc: 5}, 'what iOS does not know is left out');
  assert.deepEqual(outcomes, [outcome]);
  assert.deepEqual([outcome.sent, outcome.accepted, outcome.error, outcome.waiting], [true, ['v'], null, 0]);
  assert.deepEqual(fixesOfExpo(expo(clock, 0).data.locations[0]), fixesOfExpo(expo(clock, 0).data));
  assert.deepEqual(
    [true, false, undefined].map((mocked) => fixesOfExpo({...expo(clock, 0).data.locations[0], mocked})[0].mock),
    [true, undefined, undefined]);
});

test('events of react-native-background-geolocation are reported; samples and other events are not', async () => {
  const {clock, reporter, sent} = phone();
  await reporter.setJobs(['v']);
  const task = backgroundGeolocationTask(reporter);
  const location = {
    timestamp: new Date(clock.wall()).toISOString(), coords: {latitude: 41, longitude: 12, accuracy: 8, speed: 3, heading: 90},
    battery: {level: 0.3, is_charging: false}, is_moving: true,
  };
  await task({name: 'location', params: {...location, sample: true}});
  assert.equal(await task({name: 'motionchange', params: {}}), null);
  assert.equal(sent.length, 0);
  await task({name: 'location', params: location});
  assert.deepEqual(sent[0].body, {fixes: [{at: clock.wall(), lat: 41, lon: 12, acc: 8, spd: 3, hdg: 90}], battery: 0.3});
  await clock.pass(5000);
  await task({name: 'heartbeat', params: {location: {...location, timestamp: clock.wall()}}});
  assert.equal(sent.length, 2);
  assert.equal(fixOfBackgroundGeolocation({...location, mock: true}).mock, true);
  assert.equal('mock' in fixOfBackgroundGeolocation({...location, mock: false}), false);
  assert.equal('battery' in fixOfBackgroundGeolocation({...location, battery: {level: 0.3, is_charging: true}}), false);
});

test('reports keep the pace of the gateway; waiting fixes are sent when they are due', async () => {
  const {clock, reporter, sent} = phone();
  await reporter.setJobs(['v']);
  const task = expoTask(reporter);
  await task(expo(clock, 0));
  assert.equal(reporter.intervalSeconds, 5);
  for (let second = 0; second < 4; second += 1) {
    await clock.pass(1000);
    assert.equal((await task(expo(clock, 0))).sent, false);
  }
  assert.deepEqual([sent.length, reporter.waiting], [1, 4]);
  await clock.pass(1000);
  assert.deepEqual([sent.length, reporter.waiting], [2, 0]);
  assert.equal(sent[1].body.fixes.length, 4);
});

test('one request runs at a time, and fixes that arrive meanwhile are not lost', async () => {
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  const {clock, reporter, sent} = phone({answers: [{until: held, body: {accepted: ['v'], intervalSeconds: 1}}]});
  await reporter.setJobs(['v']);
  const task = expoTask(reporter);
  const first = task(expo(clock, 0));
  await settled();
  await clock.pass(3000);
  const second = task(expo(clock, 0));
  await settled();
  assert.equal(sent.length, 1);
  release();
  assert.equal(await first, await second, 'both events wait for the same request');
  await clock.pass(0);
  assert.equal(sent.length, 2);
  assert.equal(reporter.waiting, 0);
});

test('without a network the fixes wait and are repeated with the newest one', async () => {
  const {clock, reporter, sent, outcomes} = phone({answers: [new TypeError('Network request failed')]});
  await reporter.setJobs(['v']);
  await expoTask(reporter)(expo(clock, 0));
  assert.deepEqual([outcomes[0].sent, outcomes[0].error.code, outcomes[0].waiting], [false, 'network', 1]);
  await clock.pass(3000);
  assert.equal(sent.length, 2);
  assert.deepEqual([outcomes[1].sent, outcomes[1].waiting], [true, 0]);
});

test('the fixes wait while a network shows its sign-in page, or a proxy refuses requests', async () => {
  for (const status of [200, 408, 429]) {
    const pages = [new Response('<html>Please sign in</html>', {status}), new Response('{"accepted":["v"],"refused":[]}')];
    const {clock, reporter, outcomes} = phone({fetch: async () => pages.shift()});
    await reporter.setJobs(['v']);
    const {sent, error, waiting} = await expoTask(reporter)(expo(clock, 0));
    assert.deepEqual([sent, error.retry, waiting, reporter.intervalSeconds], [false, true, 1, 1], `${status}`);
    await clock.pass(3_000);
    assert.deepEqual([outcomes.at(-1).accepted, reporter.waiting], [['v'], 0], `${status}`);
  }
});

test('a credential that never arrives delays the reports by 15 s and does not stop them', async () => {
  let calls = 0;
  const {clock, reporter, sent} = phone({credential: () => (++calls === 1 ? new Promise(() => {}) : {token: 't'})});
  await reporter.setJobs(['v']);
  const first = reporter.report(fixesOfExpo(expo(clock, 0).data));
  await clock.pass(14_000);
  const next = reporter.report(fixesOfExpo(expo(clock, 0).data));
  await clock.pass(1_000);
  const {error, waiting} = await first;
  assert.deepEqual([error.code, error.message, waiting], [
    'network', "The app's credential function did not answer within 15 s.", 2]);
  assert.equal((await next).sent, false, 'one request runs at a time');
  await clock.pass(3_000);
  assert.deepEqual([calls, sent.length, reporter.waiting], [2, 1, 0]);
});

test('a refusal is an outcome, never an exception, and the app decides', async () => {
  const problem = {status: 404, body: {code: 'not_found', detail: 'There is no such job.'}};
  const {clock, reporter, outcomes, sent} = phone({answers: [problem, {body: 'not an object'}, {body: null}]});
  await reporter.setJobs(['v']);
  const outcome = await expoTask(reporter)(expo(clock, 0));
  assert.deepEqual([outcome.error.code, outcome.error.message, outcome.waiting], ['not_found', 'There is no such job.', 0]);
  for (const step of [1, 2]) {
    await clock.pass(30_000);
    await expoTask(reporter)(expo(clock, 0));
    assert.equal(outcomes.length, 1 + step, 'an answer that makes no sense');
  }
  await reporter.setJobs([]);
  await clock.pass(60_000);
  assert.equal((await expoTask(reporter)(expo(clock, 0))).sent, false);
  assert.equal(sent.length, 3);
  assert.equal(clock.waiting, 0, 'no timer is left');
});

test('when the rider uses another phone, this one stops until the rider sets out on it again', async () => {
  const problem = {status: 409, body: {code: 'other_device', detail: 'Another device reports.'}};
  const first = phone({answers: [problem]});
  await first.reporter.setJobs(['v']);
  const outcome = await expoTask(first.reporter)(expo(first.clock, 0));
  assert.deepEqual([outcome.error.code, outcome.waiting, [...first.reporter.jobs]], ['other_device', 0, []]);
  const {reporter, clock, sent} = phone({kept: first.stored.text});
  await clock.pass(30_000);
  assert.equal((await expoTask(reporter)(expo(clock, 0))).sent, false);
  assert.deepEqual([reporter.waiting, sent.length, clock.waiting], [0, 0, 0]);
  await reporter.setJobs(['v']);
  assert.equal((await expoTask(reporter)(expo(clock, 0))).sent, true);
});

test('after the end of the app, the next start reports for the same jobs at the same pace', async () => {
  const first = phone({answers: [new TypeError('offline')]});
  await first.reporter.setJobs(['v'], {clockOffset: 60_000});
  await expoTask(first.reporter)(expo(first.clock, 0));
  const second = phone({kept: first.stored.text});
  await expoTask(second.reporter)({data: {locations: []}});
  assert.deepEqual(second.reporter.jobs, ['v']);
  assert.equal(second.sent.length, 0, 'the pause after the failure goes on');
  await second.clock.pass(3000);
  assert.equal(second.sent[0].body.fixes[0].at, first.clock.wall() + 60_000);
});

test('a clock that is changed during the trip hides the rider for one report at most', async () => {
  const accepted = [];
  let ahead = 0;
  const {clock, reporter} = phone({
    wall: () => clock.wall() + ahead,
    fetch: async (url, {body}) => {
      const serverTime = clock.wall();
      const isRight = JSON.parse(body).fixes.some(({at}) => Math.abs(serverTime - at) < 30_000);
      accepted.push(isRight);
      const answer = isRight ? {accepted: ['v'], refused: [], intervalSeconds: 1} : {code: 'future_position', status: 422};
      return new Response(JSON.stringify({...answer, serverTime}), {status: isRight ? 200 : 422});
    },
  });
  await reporter.setJobs(['v'], {clockOffset: 0});
  for (const minutes of [0, 15, -15, 0]) {
    ahead = minutes * 60_000;
    for (let second = 0; second < 10; second += 1) {
      await reporter.report({at: clock.wall() + ahead, lat: 41, lon: 12});
      await clock.pass(1000);
    }
    const shown = accepted.splice(0);
    assert.ok(shown.length >= 10 && shown.filter((isRight) => !isRight).length <= 1, `${minutes} min: ${shown}`);
  }
});

test('a store that fails does not stop the reports', async () => {
  const storage = {load: async () => { throw new Error('no load'); }, save: async () => { throw new Error('no save'); }};
  const {clock, reporter, sent, faults} = phone({storage});
  await reporter.setJobs(['v']);
  await expoTask(reporter)(expo(clock, 0));
  assert.equal(sent.length, 1);
  assert.equal(faults[0], 'no load');
  assert.ok(faults.slice(1).every((fault) => fault === 'no save'));
  const without = phone({storage: undefined});
  await without.reporter.setJobs(['v']);
  assert.equal((await expoTask(without.reporter)(expo(without.clock, 0))).sent, true);
});

test('the reason for a missing location is reported for every job', async () => {
  const {reporter, sent} = phone({answers: Array.from({length: 8}, () => ({body: {}}))});
  assert.equal(await reporter.explain('no_fix'), false, 'there is no job');
  await reporter.setJobs(['v', 'w']);
  const reasons = async (task, event) => {
    sent.length = 0;
    await task(event);
    return [...new Set(sent.map(({body}) => body.reason))].concat(sent.length).join(' ');
  };
  const [expoEvents, events] = [expoTask(reporter), backgroundGeolocationTask(reporter)];
  assert.equal(await reasons(expoEvents, {error: {code: 1, message: 'Authorization was denied'}}), 'permission_denied 2');
  assert.equal(await reasons(expoEvents, {error: {code: 0, message: 'Location unknown'}}), 'no_fix 2');
  assert.equal(await reasons(events, {name: 'providerchange', params: {enabled: false, status: 3}}), 'services_disabled 2');
  assert.equal(await reasons(events, {name: 'providerchange', params: {enabled: true, status: 2}}), 'permission_denied 2');
  assert.equal(await reasons(events, {name: 'providerchange', params: {enabled: true, status: 3}}), '0');
});

test('each request names the phone', async () => {
  const {clock, reporter, sent} = phone({device: 'my-phone'});
  await reporter.setJobs(['v']);
  await expoTask(reporter)(expo(clock, 0));
  await reporter.explain('hidden');
  assert.deepEqual(sent.map(({body}) => body.device), ['my-phone', 'my-phone']);
  assert.deepEqual(sent[1].body, {reason: 'hidden', device: 'my-phone'});
});

test('a wrong address of the gateway is refused at once', () => {
  for (const gateway of [undefined, '', 'track.example', '/v1', 'wss://track.example']) {
    assert.throws(() => phone({gateway}), /https:\/\/track\.example/, `${gateway}`);
  }
});

const skip = isBuilt ? false : 'there is no gateway: swift build, or name one in ENROUTE_EXECUTABLE';
test('a follower sees what a phone in the background reports to a gateway', {skip, timeout: 2 * PATIENCE}, async () => {
  const stage = await Stage.open();
  const signedIn = (token) => new Enroute({url: stage.url, WebSocket: Socket, credential: () => ({token})});
  const customer = signedIn(await stage.token('customer', 'anna'));
  try {
    const gateway = stage.url.replace('/v1', '');
    const [service, token] = [await stage.token('service', 'orders'), await stage.token('rider', 'rider-7')];
    const orders = signedIn(service);
    for (const job of ['v', 'w']) {
      await orders.rest('POST', '/jobs', {body: {job, kind: 'service', customer: 'anna', rider: 'rider-7'}});
      await orders.rest('POST', `/jobs/${job}/status`, {body: {status: 'on_the_way'}});
    }
    const reporter = new BackgroundReporter({gateway, credential: () => ({token})});
    await reporter.setJobs(['v', 'w']);
    const event = () => expo({wall: Date.now}, 0);
    const refused = await expoTask(reporter)(event());
    assert.equal(refused.error.code, 'travel_mode_off');
    assert.deepEqual([...reporter.jobs], ['w'], 'the error is that of the first job');
    const [rider, device] = [signedIn(token), 'my-phone'];
    for (const job of ['v', 'w']) await rider.rest('PUT', `/jobs/${job}/travel`, {body: {device}});
    const again = new BackgroundReporter({gateway, device, credential: () => ({token})});
    await again.setJobs(['v', 'w']);
    assert.equal(await again.explain('hidden'), true, 'before the first report');
    const follow = customer.follow('w');
    customer.start();
    const outcome = await expoTask(again)(event());
    assert.deepEqual([outcome.error, [...outcome.accepted].sort()], [null, ['v', 'w']]);
    assert.ok(again.intervalSeconds >= 1);
    await until('the customer sees the rider', () => follow.view.position?.lat === 41.9);
    assert.equal(await again.explain('no_fix'), true);
    await until('the customer reads why', () => follow.view.unavailable === 'unavailable_no_fix');
    await again.setJobs([]);
    await reporter.setJobs([]);
  } finally {
    customer.stop();
    await stage.close();
  }
});

test('one phone reports in the background and over the socket', {skip, timeout: 2 * PATIENCE}, async () => {
  const stage = await Stage.open();
  const [service, token] = [await stage.token('service', 'orders'), await stage.token('rider', 'rider-7')];
  const device = 'my-phone';
  const rider = new Enroute({url: stage.url, WebSocket: Socket, credential: () => ({token}), device});
  try {
    const orders = new Enroute({url: stage.url, WebSocket: Socket, credential: () => ({token: service})});
    await orders.rest('POST', '/jobs', {body: {job: 'v', kind: 'service', customer: 'anna', rider: 'rider-7'}});
    await orders.rest('POST', '/jobs/v/status', {body: {status: 'on_the_way'}});
    const [accepted, errors] = [[], []];
    rider.on('ok', ({replyTo, seq}) => { if (replyTo === 'location') accepted.push(seq); });
    rider.on('error', ({replyTo, code}) => errors.push([replyTo, code]));
    rider.start();
    await until('the app is open', () => rider.connection.state === 'open');
    await rider.travel('v', true);
    const reporter = new BackgroundReporter({gateway: stage.url.replace('/v1', ''), device, credential: () => ({token})});
    await reporter.setJobs(['v'], {clockOffset: rider.serverTime - Date.now()});
    const {error, accepted: jobs} = await reporter.report({at: Date.now() - 1, lat: 41.9, lon: 12.5});
    assert.deepEqual([error, jobs], [null, ['v']]);
    rider.publish('v', {at: Date.now(), lat: 41.9, lon: 12.5});
    await until('the gateway accepts the report of the app', () => accepted.length === 1);
    assert.deepEqual(errors, []);
    await reporter.setJobs([]);
  } finally {
    rider.stop();
    await stage.close();
  }
});
