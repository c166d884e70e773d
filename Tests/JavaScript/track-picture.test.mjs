// What the customer is told in every state of the stories: the sentences of US-072 and CUS-027, without a browser.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import {reduce, unknownView} from '../../Sources/WebAssets/web/enroute-view.js';
import {onward} from '../../Sources/WebAssets/web/track-movement.js';
import {
  STALE_AFTER, isTakenAway, picture, refusalOnceOpen, refusalWithoutRoom,
} from '../../Sources/WebAssets/web/track-picture.js';
import {words as allWords} from '../../Sources/WebAssets/web/track-words.js';

const read = (language) =>
  JSON.parse(readFileSync(new URL(`../../Sources/EnrouteWire/Texts/${language}.json`, import.meta.url), 'utf8'));
const texts = {en: read('en'), de: read('de')};

const WALL = Date.UTC(2026, 10, 21, 14, 33);
const HOME = {lat: 41.9, lon: 12.5};
const STEPS = {
  service: ['assigned', 'on_the_way', 'work_in_progress', 'completed'],
  delivery: ['pending_vendor_acceptance', 'accepted', 'preparing', 'ready_for_pickup', 'in_transit', 'delivered'],
};

const ENDS = ['delivered', 'completed'];

/** The view of a job in a status, as a gateway would tell it. */
function viewOf(kind, status, more = {}) {
  const place = STEPS[kind].indexOf(status);
  const at = place < 0 ? STEPS[kind].length : place;
  const steps = STEPS[kind].map((name, index) => ({
    status: name, state: index < at || ENDS.includes(status) ? 'complete' : index > at ? 'upcoming' : 'active',
  }));
  const snapshot = {
    kind, status, statusAt: WALL - 60_000, steps, epoch: 'e', id: '5-0', tracking: 'waiting', text: 'waiting',
    position: null, destination: HOME, ...more,
  };
  return reduce(unknownView('job-1'), {type: 'subscribed', snapshot}, 1_000).view;
}
const underway = (kind = 'service', more = {}) => viewOf(kind, kind === 'service' ? 'on_the_way' : 'in_transit', {
  tracking: 'live', text: 'live', position: {id: '1', at: 1, ...onward(HOME, 200, 4_023)}, positionAgeMs: 0,
  eta: {state: 'ok', arrivesAt: WALL + 12 * 60_000, at: WALL}, ...more,
});
const seen = (view, {language = 'en', locale = 'en-US', now = 1_000, wall = WALL, ...more} = {}) => {
  const made = picture(view, {now, wall, locale, timeZone: 'UTC', ...more}, texts[language], allWords[language]);
  return JSON.parse(JSON.stringify(made).replace(/[\u00a0\u202f]/g, ' '));
};
const stepsOf = (view) => seen(view).steps.map(({status, state}) => `${status} ${state}`);
const currentOf = (view) => seen(view).steps.filter(({isCurrent}) => isCurrent).map(({status}) => status);

test('US-072 AC-001: who travels is on the map, with an arrival', () => {
  const {isMapped, eta, twin, age, isStale} = seen(underway());
  assert.deepEqual([isMapped, eta, age, isStale], [true, 'Arriving in 12 min', 'Live', false]);
  assert.equal(twin, 'Technician is 2.5 miles away and is expected to arrive in 12 minutes.');
});

test('US-072 AC-003: at work the map is gone, and it is said that the technician has arrived', () => {
  const {isMapped, headline} = seen(viewOf('service', 'work_in_progress'));
  assert.deepEqual([isMapped, headline], [false, 'The technician has arrived.']);
});

test('US-072 AC-003: who switched it off by hand has not arrived', () => {
  const paused = {tracking: 'paused', text: 'paused', reason: 'deactivated'};
  const {isMapped, headline, detail} = seen(underway('service', paused));
  assert.equal(isMapped, false);
  assert.equal(headline, 'Your technician is on the way');
  assert.match(detail, /paused by hand. This does not mean arrival/);
});

test('US-072 AC-004: on the way without travel mode there is no map, and the sentence', () => {
  const {isMapped, detail} = seen(viewOf('service', 'on_the_way'));
  assert.equal(isMapped, false);
  assert.equal(
    detail, 'Technician is on the way. Live location will be available once the technician enables it.');
});

test('US-072 AC-005: 29 s without a position are no news, 31 s are', () => {
  assert.equal(seen(underway(), {now: 1_000 + 29_000}).age, 'Live');
  assert.equal(STALE_AFTER, 30_000);
  const old = seen(underway(), {now: 1_000 + 31_000, wall: WALL + 31_000});
  assert.deepEqual(
    [old.isStale, old.age, old.eta], [true, 'Last updated 31 seconds ago', 'ETA recalculating\u2026']);
  assert.equal(old.twin, 'Technician was 2.5 miles away when last seen.');
  assert.equal(seen(underway(), {now: 1_000 + 75_000}).age, 'Last updated 1 minute ago');
});

test('US-072 AC-005: what the gateway calls stale is stale, whatever our clock says', () => {
  const view = underway('service', {tracking: 'stale', text: 'stale', positionAgeMs: 12_000, unavailable: 'unavailable_network'});
  const {isStale, detail} = seen(view);
  assert.equal(isStale, true);
  assert.match(detail, /no connection to the phone/);
});

test('US-072 AC-006: without a connection nothing is called live', () => {
  const {age, isStale, isOld, eta} = seen(underway(), {isLost: true, now: 1_000 + 8_000});
  assert.deepEqual([age, isStale, isOld, eta], ['Last updated 8 seconds ago', false, true, 'Arriving in 12 min']);
});

test('US-072 AC-007: without an arrival the map goes on', () => {
  const {isMapped, eta, twin} = seen(underway('service', {eta: {state: 'unavailable', at: WALL}}));
  assert.deepEqual([isMapped, eta, twin], [true, 'ETA unavailable', 'Technician is 2.5 miles away.']);
});

test('US-072 BR-002: when the time is up that is said', () => {
  const ended = {tracking: 'ended', text: 'ended_time_limit', reason: 'time_limit', travelDeadline: WALL - 1};
  const view = underway('service', ended);
  assert.match(seen(view).detail, /on for the longest time allowed/);
  assert.equal(seen(view).isMapped, false);
});

test('an arrival counts down by itself, and a clock that is wrong does not matter', () => {
  const said = (minutesLater) => seen(underway(), {wall: WALL + minutesLater * 60_000}).eta;
  assert.deepEqual([said(0), said(5), said(11.2), said(40)], [
    'Arriving in 12 min', 'Arriving in 7 min', 'Arriving now', 'Arriving now',
  ]);
  const ahead = Object.freeze({...underway(), clockOffset: 3_600_000});
  assert.equal(seen(ahead, {wall: WALL - 3_600_000}).eta, 'Arriving in 12 min');
  const later = underway('service', {eta: {state: 'ok', arrivesAt: WALL + 72 * 60_000, at: WALL}});
  assert.equal(seen(later).eta, 'Arriving at 3:45 PM');
  assert.equal(seen(later).facts.arrival, '3:45 PM');
  assert.equal(seen(underway('service', {eta: {state: 'ok', arrivesAt: WALL + 720_000, after: 1}})).eta,
    'Arriving in 12 min, after another stop');
});

test('CUS-027 AC-001 to AC-004: each status has its sentence, and its step is the active one', () => {
  const sentences = {
    pending_vendor_acceptance: 'Waiting for vendor to accept your order', preparing: 'Your order is being prepared',
    ready_for_pickup: 'Ready for pickup', in_transit: 'Your order is on its way',
  };
  for (const [status, sentence] of Object.entries(sentences)) {
    const view = viewOf('delivery', status);
    assert.equal(seen(view).headline, sentence);
    assert.deepEqual(currentOf(view), [status]);
  }
  const preparing = stepsOf(viewOf('delivery', 'preparing'));
  assert.deepEqual(preparing.slice(0, 4), [
    'pending_vendor_acceptance complete', 'accepted complete', 'preparing active', 'ready_for_pickup upcoming',
  ]);
});

test('CUS-027 AC-005: what is delivered is Delivered, and all steps are complete', () => {
  const view = viewOf('delivery', 'delivered');
  assert.equal(seen(view).headline, 'Delivered');
  assert.ok(seen(view).steps.every(({state}) => state === 'complete'));
});

test('CUS-027 AC-006: what is cancelled ends in a step that says so', () => {
  const before = viewOf('delivery', 'preparing');
  const event = {type: 'status', epoch: 'e', prev: '5-0', id: '6-0', status: 'cancelled', at: WALL};
  const {view} = reduce(before, event, 2_000);
  assert.equal(seen(view).headline, 'Cancelled');
  assert.equal(seen(view).tone, 'bad');
  assert.deepEqual(stepsOf(view).slice(1), [
    'accepted complete', 'preparing cancelled', 'ready_for_pickup cancelled', 'in_transit cancelled',
    'delivered cancelled', 'cancelled over',
  ]);
  assert.deepEqual(currentOf(view), ['cancelled']);
  assert.match(seen(view).detail, /contact support/);
});

test('CUS-027 AC-007: when no rider is found that is said, and what happens next', () => {
  const before = viewOf('delivery', 'ready_for_pickup');
  const event = {type: 'status', epoch: 'e', prev: '5-0', id: '6-0', status: 'allocation_failed', at: WALL};
  const {view} = reduce(before, event, 2_000);
  const {headline, detail, tone} = seen(view);
  assert.deepEqual([headline, tone], ["We're having trouble finding a rider", 'warn']);
  assert.match(detail, /^We keep trying/);
  assert.deepEqual(currentOf(view), ['allocation_failed']);
  assert.equal(stepsOf(view)[3], 'ready_for_pickup active');
  assert.equal(stepsOf(view)[4], 'allocation_failed failed');
});

test('whoever may not follow any more sees nobody', () => {
  const {view} = reduce(underway(), {type: 'ended', reason: 'revoked'}, 2_000);
  assert.equal(seen(view).isMapped, false);
});

test('every state has all its sentences in both languages, and German speaks German', () => {
  const paths = (value, path = '') => (typeof value === 'object'
    ? Object.entries(value).flatMap(([name, part]) => paths(part, `${path}.${name}`)) : [`${path} ${typeof value}`]);
  assert.deepEqual(paths(allWords.de), paths(allWords.en));
  const de = seen(underway(), {language: 'de', locale: 'de-DE'});
  assert.equal(de.eta, 'Ankunft in 12 Min.');
  assert.equal(de.twin, 'Techniker ist 4 Kilometer entfernt und kommt voraussichtlich in 12 Minuten an.');
  assert.equal(seen(viewOf('service', 'work_in_progress'), {language: 'de'}).headline, 'Der Techniker ist angekommen.');
});

test('the facts are the order, its vendor, its arrival and since when; what nobody knows is left out', () => {
  const {facts} = seen(underway('delivery', {}));
  assert.deepEqual(facts, {name: 'Order', job: 'job-1', vendor: '', arrival: '2:45 PM', since: '2:32 PM'});
  assert.equal(seen(Object.freeze({...underway(), vendor: 'Trattoria'})).facts.vendor, 'Trattoria');
});

test('a connection that is open takes back what was said of it, and nothing that was said of the job', () => {
  const view = underway();
  assert.equal(refusalOnceOpen('down', view), null);
  assert.equal(refusalOnceOpen('limited', unknownView('job-1')), null);
  const refused = reduce(unknownView('job-1'), {type: 'error', code: 'not_found', message: ''}, 1_000).view;
  assert.equal(refusalOnceOpen('unknown', refused), 'unknown');
  // The first state said so, and the socket has not answered yet.
  for (const said of ['unknown', 'expired']) assert.equal(refusalOnceOpen(said, unknownView('job-1')), said);
  for (const reason of ['revoked', 'reassigned']) {
    const ended = reduce(view, {type: 'ended', reason}, 1_000).view;
    assert.deepEqual([isTakenAway(ended), refusalOnceOpen('revoked', ended)], [true, 'revoked']);
  }
});

test('after a phone has slept a position is as old as the wall clock says, and never younger than the other', () => {
  const message = {type: 'location', id: '2', at: 5_000, ...onward(HOME, 200, 4_000)};
  const {view} = reduce(underway(), message, 1_000, {wall: WALL});
  // 10 min, of which the clock that never goes back has counted 12 s.
  const slept = seen(view, {now: 13_000, wall: WALL + 600_000});
  assert.deepEqual([slept.isStale, slept.age], [true, 'Last updated 10 minutes ago']);
  const setBack = seen(view, {now: 76_000, wall: WALL - 3_600_000});
  assert.deepEqual([setBack.isStale, setBack.age], [true, 'Last updated 1 minute ago']);
  assert.equal(seen(view, {now: 13_000, wall: WALL + 12_000}).age, 'Live');
});

test('where there is no room, who was here keeps what it saw, and who comes new is told', () => {
  assert.deepEqual([refusalWithoutRoom(null, true), refusalWithoutRoom(null, false)], [null, 'full']);
  assert.deepEqual([refusalWithoutRoom('unknown', true), refusalWithoutRoom('unknown', false)], ['unknown', 'unknown']);
  assert.equal(refusalOnceOpen('full', unknownView('job-1')), null);
});
