// What a rider's client sends: positions at the requested rate, availability, presence and unavailable reasons.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {fixAt, open, refusal, subscribed, typesOf} from './connected.mjs';

test('availability, refresh, presence and unavailable reasons are sent as given', async () => {
  const {enroute, peer, errors} = await open();
  const answers = [
    enroute.availability('online', {device: 'd'}), enroute.availability('offline'), enroute.refresh('t2'),
      enroute.presence(),
    enroute.presence({lat: 1, lon: 2}), enroute.reportUnavailable('hidden', 'j'), enroute.reportUnavailable('network'),
  ];
  assert.deepEqual(peer.heard(), [
    {type: 'availability', status: 'online', device: 'd'}, {type: 'availability', status: 'offline'},
    {type: 'refresh', token: 't2'}, {type: 'presence'}, {type: 'presence', lat: 1, lon: 2},
    {type: 'unavailable', job: 'j', reason: 'hidden'}, {type: 'unavailable', reason: 'network'},
  ]);
  for (const replyTo of ['availability', 'availability', 'refresh', 'presence', 'presence']) {
    peer.says({type: 'ok', replyTo});
  }
  peer.says({type: 'ok', replyTo: 'unavailable', job: 'j'}, refusal('unavailable', 'forbidden'));
  assert.deepEqual((await Promise.all(answers)).slice(3), [true, true, true, false]);
  assert.deepEqual(errors.map(({replyTo, code}) => [replyTo, code]), [['unavailable', 'forbidden']]);
});

test('invalid messages are not sent', async () => {
  const {enroute, peer} = await open();
  await assert.rejects(enroute.travel('no such/job', true), {code: 'not_found'});
  assert.throws(() => enroute.publish('no such/job', {at: 1, lat: 1, lon: 1}), RangeError);
  const told = enroute.presence({lat: NaN, lon: NaN, device: 'd'});
  assert.deepEqual(peer.heard(), [{type: 'presence', device: 'd'}]);
  peer.says({type: 'ok', replyTo: 'presence'});
  assert.ok(await told);
});

test('positions are sent at the rate that the gateway requests', async () => {
  const {enroute, peer, clock} = await open();
  for (let second = 0; second < 5; second++) {
    enroute.publish('j', fixAt(clock));
    await clock.pass(1_000);
  }
  const reports = peer.heard();
  assert.deepEqual(reports.map(({seq, fixes}) => [seq, fixes.length]), [[1, 1], [2, 1], [3, 1], [4, 1], [5, 1]]);
  peer.says({type: 'rate', intervalSeconds: 8});
  for (let second = 0; second < 16; second++) {
    enroute.publish(['j'], fixAt(clock));
    await clock.pass(1_000);
  }
  // An unanswered report leads to a ping.
  const told = peer.heard().filter(({type}) => type !== 'ping');
  assert.deepEqual(told.map(({seq, fixes}) => [seq, fixes.length]), [[6, 5], [7, 5]]);
  peer.says({type: 'rate', intervalSeconds: 1});
  assert.equal(peer.heard().length, 1);
});

test('readings from a disconnect are sent after reconnecting, the newest first', async () => {
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

test('a position whose answer was lost with the connection is sent again', async () => {
  const {enroute, clock, peer, comeBack} = await open();
  enroute.publish('j', fixAt(clock));
  const [report] = peer.heard();
  const next = await comeBack();
  assert.deepEqual(next.heard()[1].fixes, report.fixes);
  next.says({type: 'ok', replyTo: 'location', job: 'j', seq: 2});
  assert.equal(typesOf((await comeBack()).heard()), 'auth');
});

test('readings with the right time are sent from a phone whose clock is a minute ahead', async () => {
  const {enroute, clock, sockets, peer} = await open();
  clock.epoch += 60_000;
  peer.closes(1006);
  await clock.pass(30_000);
  sockets.last.welcomes(clock.wall() - 60_000);
  sockets.last.heard();
  enroute.publish('j', {at: enroute.serverTime, lat: 41, lon: 12});
  assert.deepEqual(sockets.last.heard().map(({fixes}) => fixes[0].at), [enroute.serverTime]);
});

test('while the socket is congested newer readings replace the next report', async () => {
  const {enroute, clock, peer} = await open();
  peer.bufferedAmount = 50_000;
  enroute.publish('j', fixAt(clock));
  await clock.pass(3_000);
  assert.deepEqual(peer.heard(), []);
  peer.bufferedAmount = 0;
  await clock.pass(500);
  assert.equal(typesOf(peer.heard()), 'location');
});

test('after travel mode is switched off no reading of that job is sent', async () => {
  const {enroute, clock, peer} = await open();
  enroute.publish('j', fixAt(clock, 50));
  enroute.publish('j', fixAt(clock));
  const off = enroute.travel('j', false);
  peer.heard();
  await clock.pass(5_000);
  assert.deepEqual(peer.heard(), []);
  peer.says({type: 'ok', replyTo: 'travel', job: 'j'});
  await off;
});

test('an earlier action of the rider continues or ends only what this device started', async () => {
  const {enroute, peer} = await open({device: 'phone-1'});
  for (const active of [true, false]) {
    const answer = enroute.travel('j', active, {resume: true});
    assert.deepEqual(peer.heard(), [{type: 'travel', job: 'j', active, device: 'phone-1', resume: true}]);
    peer.says(refusal('travel', 'other_device', {job: 'j'}));
    await assert.rejects(answer, {code: 'other_device'});
  }
});

test('a rejected position is reported to error listeners only', async () => {
  const {enroute, clock, peer, errors} = await open();
  enroute.publish('j', fixAt(clock));
  peer.says(refusal('location', 'travel_mode_off', {job: 'j', reason: 'travel_mode_off'}));
  assert.deepEqual(errors.map(({replyTo, reason}) => [replyTo, reason]), [['location', 'travel_mode_off']]);
});

// ---- what continues after a reconnect ----

const resumed = (job) => ({type: 'travel', job, active: true, device: 'phone-1', resume: true});
const resumptions = (peer) => peer.heard().filter(({type}) => type === 'travel');

/** A rider who switched travel mode on for these jobs. */
async function travelling(...jobs) {
  const stage = await open({device: 'phone-1'});
  for (const job of jobs) {
    const answer = stage.enroute.travel(job, true);
    stage.peer.says({type: 'ok', replyTo: 'travel', job, deadline: 9});
    await answer;
  }
  stage.peer.heard();
  return stage;
}

test('after a reconnect travel mode is resumed before the first report, each time', async () => {
  const {enroute, clock, comeBack} = await travelling('a', 'b');
  for (let times = 0; times < 2; times++) {
    enroute.publish('a', fixAt(clock));
    const next = await comeBack();
    assert.equal(typesOf(next.said), 'auth travel travel location');
    assert.deepEqual(resumptions(next), [resumed('a'), resumed('b')]);
    next.says(...['a', 'b'].map((job) => ({type: 'ok', replyTo: 'travel', job, deadline: 9})));
  }
});

for (const code of ['travel_mode_off', 'illegal_transition', 'not_found', 'forbidden', 'other_device']) {
  test(`a job whose resumption is refused with ${code} is reported once and not resumed again`, async () => {
    const {errors, comeBack} = await travelling('a', 'b');
    const next = await comeBack();
    next.says({type: 'ok', replyTo: 'travel', job: 'b'}, refusal('travel', code, {job: 'a'}));
    assert.deepEqual(errors.map((error) => [error.replyTo, error.job, error.code]), [['travel', 'a', code]]);
    assert.deepEqual(resumptions(await comeBack()), [resumed('b')]);
  });
}

test('a resumption that may succeed later is repeated after the next reconnect', async () => {
  const {comeBack} = await travelling('a');
  const next = await comeBack();
  next.says(refusal('travel', 'unavailable', {job: 'a', retry: true, retryInMs: 500}));
  assert.deepEqual(resumptions(await comeBack()), [resumed('a')]);
});

for (const code of ['travel_mode_off', 'other_device']) {
  test(`a job whose location is refused with ${code} is not resumed`, async () => {
    const {enroute, clock, peer, comeBack} = await travelling('a', 'b');
    enroute.publish(['a', 'b'], fixAt(clock));
    peer.says(refusal('location', code, {job: 'a', seq: 1}));
    assert.deepEqual(resumptions(await comeBack()), [resumed('b')]);
  });
}

test('after another device took over, nothing is reported for the job until travel mode is switched on here', async () => {
  const {enroute, clock, peer, errors} = await travelling('a', 'b');
  enroute.publish(['a', 'b'], fixAt(clock));
  peer.says(refusal('location', 'other_device', {job: 'a', seq: 1}));
  peer.heard();
  for (let second = 0; second < 5; second += 1) {
    await clock.pass(1_000);
    enroute.publish(['a', 'b'], fixAt(clock));
    enroute.publish('a', fixAt(clock));
  }
  const reports = () => peer.heard().filter(({type}) => type === 'location').map(({job, jobs}) => job ?? jobs.join());
  assert.deepEqual([reports(), errors.length], [Array(5).fill('b'), 1]);
  const back = enroute.travel('a', true);
  peer.says({type: 'ok', replyTo: 'travel', job: 'a'});
  await back;
  await clock.pass(1_000);
  enroute.publish(['a', 'b'], fixAt(clock));
  assert.deepEqual(reports(), ['a,b']);
});

test('a report that was refused before this device took over again stops nothing', async () => {
  const {enroute, clock, peer} = await travelling('a');
  enroute.publish('a', fixAt(clock));
  const back = enroute.travel('a', true);
  peer.says(refusal('location', 'other_device', {job: 'a', seq: 1}), {type: 'ok', replyTo: 'travel', job: 'a'});
  await back;
  peer.heard();
  await clock.pass(1_000);
  enroute.publish('a', fixAt(clock));
  assert.equal(typesOf(peer.heard()), 'location');
});

test('a refused reading says nothing about a job that this device keeps reporting for', async () => {
  const {enroute, clock, peer, comeBack} = await travelling('a');
  enroute.publish('a', fixAt(clock));
  peer.says(refusal('location', 'stale_position', {job: 'a', seq: 1}));
  assert.deepEqual(resumptions(await comeBack()), [resumed('a')]);
});

test('a followed job that ended is not resumed', async () => {
  const {enroute, peer, comeBack} = await travelling('a', 'b');
  enroute.follow('a');
  peer.says(subscribed('a'), {type: 'ended', job: 'a', reason: 'completed'});
  assert.deepEqual(resumptions(await comeBack()), [resumed('b')]);
});

test('travel mode that could not be switched on does not start later', async () => {
  const {enroute, peer, clock, sockets} = await open();
  peer.closes(1006);
  await assert.rejects(enroute.travel('a', true), {code: 'network', message: /no connection/});
  await clock.pass(30_000);
  sockets.last.welcomes(clock.wall());
  assert.deepEqual(resumptions(sockets.last), []);
  for (const code of ['illegal_transition', 'forbidden']) {
    const answer = enroute.travel('a', true);
    sockets.last.says(refusal('travel', code, {job: 'a'}));
    await assert.rejects(answer, {code});
  }
  sockets.last.closes(1006);
  await clock.pass(30_000);
  sockets.last.welcomes(clock.wall());
  assert.deepEqual(resumptions(sockets.last), []);
});

test('a failed attempt without a connection does not end travel mode that was on before', async () => {
  const {enroute, peer, clock, sockets} = await travelling('a');
  peer.closes(1006);
  await assert.rejects(enroute.travel('a', true), {code: 'network'});
  await clock.pass(30_000);
  sockets.last.welcomes(clock.wall());
  assert.deepEqual(resumptions(sockets.last), [resumed('a')]);
});

test('a request whose answer was lost is resumed, and forgotten if it never arrived', async () => {
  const {enroute, comeBack} = await travelling();
  const lost = assert.rejects(enroute.travel('a', true), {code: 'network', message: /may have been executed/});
  const next = await comeBack();
  await lost;
  assert.deepEqual(resumptions(next), [resumed('a')]);
  next.says(refusal('travel', 'travel_mode_off', {job: 'a'}));
  assert.deepEqual(resumptions(await comeBack()), []);
});

test('the answer to a resumption is not mistaken for the answer to the rider\u2019s own request', async () => {
  const {enroute, errors, comeBack} = await travelling('a');
  const next = await comeBack();
  const answer = enroute.travel('a', true);
  next.says(refusal('travel', 'travel_mode_off', {job: 'a'}));
  assert.equal(errors.length, 1);
  next.says({type: 'ok', replyTo: 'travel', job: 'a', deadline: 9});
  assert.equal((await answer).deadline, 9);
  assert.deepEqual(resumptions(await comeBack()), [resumed('a')]);
});

test('a location that was refused before travel mode is on does not end it', async () => {
  const {enroute, clock, peer, comeBack} = await travelling();
  const answer = enroute.travel('a', true);
  enroute.publish('a', fixAt(clock));
  peer.says(refusal('location', 'travel_mode_off', {job: 'a', seq: 1}), {type: 'ok', replyTo: 'travel', job: 'a'});
  await answer;
  assert.deepEqual(resumptions(await comeBack()), [resumed('a')]);
});

test('travel mode that was switched off is not resumed, whatever the gateway answers', async () => {
  const {enroute, peer, comeBack} = await travelling('a');
  const answers = [enroute.travel('a', true), enroute.travel('a', false)];
  peer.says({type: 'ok', replyTo: 'travel', job: 'a'}, {type: 'ok', replyTo: 'travel', job: 'a'});
  await Promise.all(answers);
  assert.deepEqual(resumptions(await comeBack()), []);
});

const locations = (peer) => peer.heard().filter(({type}) => type === 'location').map(({job, jobs}) => job ?? jobs);

for (const end of ['switched off', 'taken over by another device']) {
  test(`a reading for two jobs stays for the other when one is ${end}`, async () => {
    const {enroute, clock, peer, comeBack} = await travelling('a', 'b');
    enroute.publish(['a', 'b'], fixAt(clock));
    peer.says({type: 'ok', replyTo: 'location', job: 'b', seq: 1});
    await clock.pass(100);
    enroute.publish(['a', 'b'], fixAt(clock));
    if (end === 'switched off') enroute.travel('a', false).catch(() => {});
    else peer.says(refusal('location', 'other_device', {job: 'a', seq: 1}));
    assert.deepEqual(locations(peer), [['a', 'b']]);
    await clock.pass(1_000);
    assert.deepEqual(locations(peer), ['b']);
    assert.deepEqual(locations(await comeBack()), ['b'], 'an unanswered report is repeated for the other job only');
  });
}

test('a dropped resumption is repeated, and nothing is reported until its answer', async () => {
  const {enroute, clock, errors, comeBack} = await travelling('a');
  enroute.publish('a', fixAt(clock));
  const next = await comeBack();
  assert.equal(typesOf(next.heard()), 'auth travel location');
  next.says(refusal('travel', 'rate_limited', {job: 'a', retry: true, retryInMs: 500}));
  next.says(refusal('location', 'other_device', {job: 'a', seq: 2}));
  enroute.publish('a', fixAt(clock));
  await clock.pass(499);
  assert.deepEqual(next.heard(), []);
  await clock.pass(1);
  assert.deepEqual(next.heard(), [resumed('a')]);
  await clock.pass(2_000);
  assert.deepEqual(locations(next), []);
  next.says({type: 'ok', replyTo: 'travel', job: 'a', deadline: 9});
  assert.deepEqual([locations(next), errors], [['a'], []]);
});

test('a dropped resumption of a job that is switched off is not repeated', async () => {
  const {enroute, clock, comeBack} = await travelling('a');
  const next = await comeBack();
  next.says(refusal('travel', 'rate_limited', {job: 'a', retry: true, retryInMs: 500}));
  next.heard();
  enroute.travel('a', false).catch(() => {});
  await clock.pass(5_000);
  assert.deepEqual(resumptions(next).map(({active}) => active), [false]);
});

// ---- why there is no reading ----

const reasons = (peer) => peer.heard().filter(({type}) => type === 'unavailable');
const on = (job) => ({type: 'ok', replyTo: 'travel', job});

test('the reason for a silence is repeated in each session, once travel mode is on', async () => {
  const {enroute, clock, peer, comeBack} = await travelling('a', 'b', 'c');
  enroute.publish('a', fixAt(clock));
  const told = [enroute.reportUnavailable('no_fix', 'b'), enroute.reportUnavailable('hidden')];
  peer.says({type: 'ok', replyTo: 'unavailable', job: 'b'}, {type: 'ok', replyTo: 'unavailable'});
  assert.deepEqual(await Promise.all(told), [true, true]);
  const precise = enroute.reportUnavailable('permission_denied', 'a');
  for (let times = 0; times < 2; times++) {
    const next = await comeBack();
    assert.deepEqual([reasons(next), typesOf(next.said)], [[], '']);
    next.says(on('a'), on('b'), refusal('travel', 'travel_mode_off', {job: 'c'}));
    await clock.pass(0);
    assert.deepEqual(reasons(next), [
      {type: 'unavailable', job: 'a', reason: 'permission_denied'}, {type: 'unavailable', job: 'b', reason: 'hidden'},
    ]);
  }
  assert.equal(await precise, false, 'its answer was lost');
});

test('a reason for all jobs does not outlive the last trip', async () => {
  const {enroute, clock, peer, comeBack} = await travelling('a');
  enroute.reportUnavailable('hidden');
  for (const active of [false, true]) {
    const answer = enroute.travel('a', active);
    peer.says(on('a'));
    await answer;
  }
  const next = await comeBack();
  next.says(on('a'));
  await clock.pass(0);
  assert.deepEqual(reasons(next), []);
});

test('a reason from before the newest reading, or from while travel mode was on earlier, is not repeated', async () => {
  const {enroute, clock, comeBack} = await travelling('a', 'b', 'c');
  for (const job of ['a', 'b', 'c']) enroute.reportUnavailable('no_fix', job);
  enroute.publish('a', {...fixAt(clock), lat: 0, lon: 0});
  enroute.publish('b', fixAt(clock));
  enroute.travel('c', false).catch(() => {});
  const next = await comeBack();
  next.says(on('a'), on('b'), on('c'));
  await clock.pass(0);
  assert.deepEqual(reasons(next).map(({job}) => job), ['a'], 'receivers without a position report 0, 0');
});
