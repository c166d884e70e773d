// The customer's texts in every state of the stories US-072 and CUS-027, without a browser.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {HOME, WALL, seen, texts, underway, viewOf} from './customer-views.mjs';
import {reduce, unknownView} from '../../Sources/WebAssets/web/enroute-view.js';
import {onward} from '../../Sources/WebAssets/web/track-movement.js';
import {
  AT_THE_DOOR, LATE_AFTER, STALE_AFTER, isTakenAway, presentation, refusalOnceOpen, refusalWithoutRoom,
} from '../../Sources/WebAssets/web/track-presentation.js';
import {words as allWords} from '../../Sources/WebAssets/web/track-words.js';

const stepsOf = (view) => seen(view).steps.map(({status, state}) => `${status} ${state}`);
const currentOf = (view) => seen(view).steps.filter(({isCurrent}) => isCurrent).map(({status}) => status);

test('US-072 AC-001: a travelling technician is on the map with an arrival time', () => {
  const {isMapped, eta, mapDescription, age, isStale} = seen(underway());
  assert.deepEqual([isMapped, eta, age, isStale], [true, 'Arriving in 12 min', 'Live', false]);
  assert.equal(mapDescription, 'Your technician is 2.5 miles away and should arrive in 12 minutes.');
});

test('US-072 AC-003: once work starts the map is hidden and the headline shows that the technician arrived', () => {
  const {isMapped, headline} = seen(viewOf('service', 'work_in_progress'));
  assert.deepEqual([isMapped, headline], [false, 'The technician has arrived.']);
});

test('US-072 AC-003: a technician who pauses location sharing is not shown as arrived', () => {
  const paused = {tracking: 'paused', text: 'paused', reason: 'deactivated'};
  const {isMapped, headline, detail} = seen(underway('service', paused));
  assert.equal(isMapped, false);
  assert.equal(headline, 'Your technician is on the way');
  assert.match(detail, /^Your technician has paused location sharing. They’re still on the way.$/);
});

test('US-072 AC-004: without travel mode there is a sentence instead of the map', () => {
  const {isMapped, detail} = seen(viewOf('service', 'on_the_way'));
  assert.equal(isMapped, false);
  assert.equal(
    detail, 'Your technician is on the way. The live map will appear as soon as they share their location.');
});

test('US-072 AC-005: a position becomes stale after 30 s without a message from the gateway', () => {
  assert.equal(seen(underway(), {now: 1_000 + 29_000}).age, 'Live');
  assert.equal(STALE_AFTER, 30_000);
  const old = seen(underway(), {now: 1_000 + 31_000, wall: WALL + 31_000});
  assert.deepEqual(
    [old.isStale, old.age, old.eta], [true, 'Last updated 31 seconds ago', 'ETA recalculating\u2026']);
  assert.equal(old.mapDescription, 'Your technician was 2.5 miles away when we last saw them.');
  assert.equal(old.detail, 'This is where they were 31 seconds ago.');
  assert.equal(seen(underway(), {now: 1_000 + 75_000}).age, 'Last updated 1 minute ago');
});

test('US-072 AC-005: a position that the gateway calls stale is stale, whatever the local clock shows', () => {
  const stale = {tracking: 'stale', text: 'stale', positionAgeMs: 12_000, unavailable: 'unavailable_network'};
  const view = underway('service', stale);
  const {isStale, detail} = seen(view);
  assert.equal(isStale, true);
  assert.match(detail, /^Your technician’s phone has no signal. Last seen 12 seconds ago.$/);
});

test('while the gateway sends messages, its setting decides what is stale', () => {
  const later = (heardAgo) => seen(underway(), {now: 1_000 + 90_000, wall: WALL + 90_000, heardAt: WALL + 90_000 - heardAgo});
  assert.deepEqual([later(20_000).isStale, later(20_000).age], [false, 'Live']);
  assert.deepEqual([later(31_000).isStale, later(31_000).age], [true, 'Last updated 1 minute ago']);
});

test('US-072 AC-006: without a connection no position is labelled live', () => {
  const {age, isStale, isOld, eta} = seen(underway(), {isLost: true, now: 1_000 + 8_000});
  assert.deepEqual([age, isStale, isOld, eta], ['Last updated 8 seconds ago', false, true, 'Arriving in 12 min']);
});

test('US-072 AC-007: without an arrival time the map stays', () => {
  const {isMapped, eta, mapDescription} = seen(underway('service', {eta: {state: 'unavailable', at: WALL}}));
  assert.deepEqual([isMapped, eta, mapDescription], [true, 'ETA unavailable', 'Your technician is 2.5 miles away.']);
});

test('US-072 BR-002: the page shows when the sharing time limit is reached', () => {
  const ended = {tracking: 'ended', text: 'ended_time_limit', reason: 'time_limit', travelDeadline: WALL - 1};
  const view = underway('service', ended);
  assert.match(seen(view).detail, /^Live location has ended for this trip/);
  assert.equal(seen(view).isMapped, false);
});

test('the arrival time counts down between updates, and a wrong local clock does not matter', () => {
  const said = (minutesLater) => seen(underway(), {wall: WALL + minutesLater * 60_000}).eta;
  assert.deepEqual([said(0), said(5), said(11.2), said(40)], [
    'Arriving in 12 min', 'Arriving in 7 min', 'Arriving now', 'Running late – sorry!',
  ]);
  const ahead = Object.freeze({...underway(), clockOffset: 3_600_000});
  assert.equal(seen(ahead, {wall: WALL - 3_600_000}).eta, 'Arriving in 12 min');
  const later = underway('service', {eta: {state: 'ok', arrivesAt: WALL + 72 * 60_000, at: WALL}});
  assert.equal(seen(later).eta, 'Arriving at 3:45 PM');
  assert.equal(seen(later).facts.arrival, '3:45 PM');
  assert.equal(seen(underway('service', {eta: {state: 'ok', arrivesAt: WALL + 720_000, stopsBefore: 1}})).eta,
    'Arriving in 12 min, after another stop');
});

test('D16: a rider who is still far away after the expected arrival is late, not arriving', () => {
  const late = (ms, more = {}) => seen(underway('delivery', {eta: {state: 'ok', arrivesAt: WALL - ms, at: WALL}, ...more}));
  assert.deepEqual([late(LATE_AFTER - 1).eta, late(LATE_AFTER - 1).isArriving], ['Arriving now', true]);
  const {eta, isArriving, mapDescription, facts} = late(LATE_AFTER);
  assert.deepEqual([eta, isArriving, facts.arrival], ['Running late – sorry!', false, '']);
  assert.equal(mapDescription, 'Your rider is 2.5 miles away.');
  const near = {position: {id: '1', at: 1, ...onward(HOME, 200, AT_THE_DOOR - 5)}};
  assert.equal(late(LATE_AFTER, near).eta, 'Arriving now');
  assert.equal(seen(underway('delivery', {eta: {state: 'ok', arrivesAt: WALL - LATE_AFTER, at: WALL}}),
    {language: 'de', locale: 'de-DE'}).eta, 'Leider verspätet');
});

test('the title of the tab contains the arrival, as long as there is one', () => {
  assert.equal(seen(underway('delivery')).tab, 'Arriving in 12 min · Your order');
  assert.equal(seen(underway('delivery'), {language: 'de', locale: 'de'}).tab, 'Ankunft in 12 Min. · Ihre Bestellung');
  assert.equal(seen(underway('service', {eta: {state: 'unavailable', at: WALL}})).tab, 'Your technician is on the way');
  assert.equal(seen(viewOf('delivery', 'delivered')).tab, 'Delivered at 2:32 PM');
});

test('D17: a rider who has been silent for long is not "lost for a moment": the page shows since when', () => {
  const silent = {lastSeenAt: WALL - 45 * 60_000, unavailable: 'unavailable_no_fix'};
  assert.equal(seen(viewOf('delivery', 'in_transit', silent)).detail,
    'Your rider\u2019s phone isn\u2019t sending its location. Last seen 45 minutes ago.');
  assert.equal(seen(viewOf('service', 'on_the_way', silent), {language: 'de', locale: 'de-DE'}).detail,
    'Das Telefon Ihres Technikers sendet keinen Standort. Zuletzt gesehen vor 45 Minuten.');
  const started = viewOf('delivery', 'in_transit', {unavailable: 'unavailable_no_fix'});
  assert.match(seen(started).detail, /^We’ve lost your rider’s GPS signal/);
});

test('D14: after a change of the rider everybody reads and hears that another one is coming, until they are seen', () => {
  const waiting = viewOf('delivery', 'in_transit');
  const {detail, spoken} = seen(waiting, {isReassigned: true});
  assert.equal(detail, 'A different rider is bringing your order. The map returns when they set off.');
  assert.equal(spoken, detail);
  assert.match(seen(waiting).detail, /^Your rider is on the way/);
  assert.equal(seen(underway('delivery'), {isReassigned: true}).detail, '');
});

test('CUS-027 AC-001 to AC-004: each status has its headline and its active step', () => {
  const sentences = {
    pending_vendor_acceptance: 'Waiting for vendor to accept your order', preparing: 'Your order is being prepared',
    ready_for_pickup: 'Your order is ready – waiting for a rider', in_transit: 'Your order is on its way',
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

test('CUS-027 AC-005: a delivered order has the headline Delivered with the time, and only complete steps', () => {
  const view = viewOf('delivery', 'delivered');
  assert.equal(seen(view).headline, 'Delivered at 2:32 PM');
  assert.ok(seen(view).steps.every(({state}) => state === 'complete'));
  assert.deepEqual(seen(view).steps.map(({note}) => note).slice(-2), ['Done', 'At 2:32 PM']);
});

test('the headline of a completed job has its time in both languages, until the time alone would be unclear', () => {
  assert.equal(seen(viewOf('service', 'completed')).headline, 'Completed at 2:32 PM');
  const german = {language: 'de', locale: 'de-DE'};
  assert.equal(seen(viewOf('delivery', 'delivered'), german).headline, 'Geliefert um 14:32');
  assert.equal(seen(viewOf('service', 'completed'), german).headline, 'Erledigt um 14:32');
  assert.equal(seen(viewOf('delivery', 'delivered'), {wall: WALL + 24 * 3_600_000}).headline, 'Delivered');
});

test('CUS-027 AC-006: a cancelled order ends with a step that shows the cancellation', () => {
  const before = viewOf('delivery', 'preparing');
  const event = {type: 'status', epoch: 'e', prev: '5-0', id: '6-0', status: 'cancelled', at: WALL};
  const {view} = reduce(before, event, 2_000);
  assert.equal(seen(view).headline, 'Your order was cancelled');
  assert.equal(seen(view).tone, 'bad');
  assert.deepEqual(stepsOf(view).slice(1), ['accepted complete', 'preparing complete', 'cancelled over']);
  assert.deepEqual(currentOf(view), ['cancelled']);
  // Once in the headline and once as the last step.
  assert.equal(JSON.stringify([seen(view).headline, seen(view).detail, seen(view).steps.map(({label, note}) => label + note)])
    .match(/cancelled/gi).length, 2);
  assert.match(seen(view).detail, /contact the business/);
  assert.equal(seen(viewOf('service', 'cancelled')).headline, 'Your visit was cancelled');
});

test('D15: the step at which a job was cancelled stays, and later ones are removed', () => {
  const event = {type: 'status', epoch: 'e', prev: '5-0', id: '6-0', status: 'cancelled', at: WALL};
  const {view} = reduce(viewOf('service', 'assigned'), event, 2_000);
  const [first, second, ...others] = seen(view).steps;
  assert.deepEqual([first.label, first.state, first.note], ['Appointment confirmed', 'complete', '']);
  assert.deepEqual([second.label, second.state, others], ['Cancelled', 'over', []]);
});

test('CUS-027 AC-007: the page shows that no rider was found, and what happens next', () => {
  const before = viewOf('delivery', 'ready_for_pickup');
  const event = {type: 'status', epoch: 'e', prev: '5-0', id: '6-0', status: 'allocation_failed', at: WALL};
  const {view} = reduce(before, event, 2_000);
  const {headline, detail, tone} = seen(view);
  assert.deepEqual([headline, tone], ["We're having trouble finding a rider", 'warn']);
  assert.match(detail, /^We’re still looking/);
  assert.deepEqual(currentOf(view), ['allocation_failed']);
  assert.deepEqual(stepsOf(view).slice(3, 5), ['ready_for_pickup complete', 'allocation_failed failed']);
  const notes = seen(view, {story: {times: {ready_for_pickup: WALL - 120_000}}}).steps.map(({note}) => note);
  assert.deepEqual(notes.slice(3), ['2:31 PM', 'Since 2:33 PM', '', '']);
  const longAgo = WALL - 3 * 24 * 3_600_000;
  const earlier = seen(view, {story: {times: {ready_for_pickup: longAgo}}}).steps[3].note;
  assert.equal(earlier, 'Nov 18, 2:33 PM');
});

test('a follower whose access was revoked sees no map', () => {
  const {view} = reduce(underway(), {type: 'ended', reason: 'revoked'}, 2_000);
  assert.equal(seen(view).isMapped, false);
});

test('a sentence names the rider of a delivery and falls back to an operator\u2019s general text', () => {
  const paused = underway('delivery', {tracking: 'paused', text: 'paused', reason: 'deactivated'});
  assert.match(seen(paused).detail, /^Your rider has paused/);
  const own = {...texts.en, tracking: {paused: {short: 'Paused', spoken: 'Sharing is paused.'}}};
  const moment = {now: 1_000, wall: WALL, serverTime: WALL, locale: 'en-US', timeZone: 'UTC'};
  const {detail} = presentation(paused, moment, own, allWords.en);
  assert.equal(detail, 'Sharing is paused.');
});

test('at the door the page shows that the rider is here instead of a distance of 0', () => {
  const near = (meters) => underway('delivery', {position: {id: '1', at: 1, ...onward(HOME, 200, meters)}});
  assert.equal(seen(near(3)).mapDescription, 'Your rider is here.');
  assert.match(seen(near(60)).mapDescription, /^Your rider is 200 feet away/);
});

test('every text exists in both languages, and the German page is in German', () => {
  const paths = (value, path = '') => (typeof value === 'object'
    ? Object.entries(value).flatMap(([name, part]) => paths(part, `${path}.${name}`)) : [`${path} ${typeof value}`]);
  assert.deepEqual(paths(allWords.de), paths(allWords.en));
  const de = seen(underway(), {language: 'de', locale: 'de-DE'});
  assert.equal(de.eta, 'Ankunft in 12 Min.');
  assert.equal(de.mapDescription, 'Ihr Techniker ist 4 Kilometer entfernt und kommt voraussichtlich in 12 Minuten an.');
  assert.equal(seen(viewOf('service', 'work_in_progress'), {language: 'de'}).headline, 'Der Techniker ist angekommen.');
});

test('the details list the order, vendor, arrival and last change, and omit what is unknown', () => {
  const {facts} = seen(underway('delivery', {}));
  assert.deepEqual(facts, {
    name: 'Order', job: 'job-1', vendor: '', items: '', note: '', window: '', arrival: '2:45 PM', since: '2:32 PM',
  });
  assert.equal(seen(Object.freeze({...underway(), vendor: 'Trattoria'})).facts.vendor, 'Trattoria');
});

test('the details show what the order system wrote: number, items, note and the promised window', () => {
  const window = {from: Date.UTC(2026, 10, 21, 18), until: Date.UTC(2026, 10, 21, 18, 30)};
  const view = viewOf('delivery', 'preparing', {display: {orderNumber: 'A-7', items: ['2 pizza', 'water'], note: 'a\nb', window}});
  const {facts} = seen(view, {wall: Date.UTC(2026, 10, 21, 9)});
  assert.deepEqual([facts.job, facts.items, facts.note], ['A-7', '2 pizza\nwater', 'a\nb']);
  assert.match(facts.window, /^6:00\s?–\s?6:30 PM$/);
  assert.match(seen(view, {wall: Date.UTC(2026, 10, 20, 9)}).facts.window, /Nov 21/);
  assert.match(seen(view, {wall: Date.UTC(2026, 10, 21, 9), language: 'de', locale: 'de'}).facts.window, /^18:00–18:30/);
});

test('before the rider shares a position, the page shows when such orders usually arrive, unless a time was promised', () => {
  const eta = {state: 'ok', arrivesAt: WALL + 1_500_000, earliestAt: WALL + 900_000, latestAt: WALL + 2_700_000, at: WALL};
  assert.match(seen(viewOf('delivery', 'preparing', {eta})).eta, /2:48\s?–\s?3:18\sPM/);
  const window = {from: WALL + 3_600_000, until: WALL + 5_400_000};
  assert.match(seen(viewOf('delivery', 'preparing', {eta, display: {window}})).eta, /3:33\s?–\s?4:03\sPM/);
  assert.equal(seen(viewOf('delivery', 'preparing')).eta, '');
  assert.equal(seen(viewOf('delivery', 'cancelled', {eta})).eta, '');
});

test('the map shows shop and home until the rider has a position, but not instead of a rider who paused or is another one', () => {
  const story = {times: {}, shop: onward(HOME, 200, 1_000), rider: null};
  const previewed = (view, more) => seen(view, {story, ...more}).isPreviewed;
  const setOff = viewOf('delivery', 'in_transit');
  assert.equal(previewed(viewOf('delivery', 'ready_for_pickup')), true);
  assert.equal(previewed(setOff), true);
  assert.match(seen(setOff, {story}).mapDescription, /^The vendor is 0.6 miles from you.$/);
  assert.equal(previewed(underway('delivery')), false);
  assert.equal(previewed(underway('delivery', {tracking: 'paused', text: 'paused'})), false);
  assert.deepEqual([previewed(setOff, {isReassigned: true}), previewed(setOff, {isKept: true})], [false, false]);
  assert.equal(previewed(reduce(setOff, {type: 'ended', reason: 'revoked'}, 2_000).view), false);
  // US-072 AC-004: no map before a technician shares the location.
  assert.equal(previewed(viewOf('service', 'on_the_way')), false);
});

test('the rider has a name, a vehicle and a contact in the reader’s language, and is not shown without a card', () => {
  const card = {name: 'Rosa', vehicle: 'cargo_bike', plate: 'AB 1', contact: 'tel:+390612345,42', photo: 'https://p.example/r'};
  const {who} = seen(underway('delivery', {riderCard: card}));
  assert.deepEqual(who, {
    name: 'Rosa', role: 'Your rider', photo: 'https://p.example/r', vehicle: 'Cargo bike · AB 1',
    contact: {href: 'tel:+390612345,42', text: 'Call Rosa'},
  });
  const german = seen(underway('service', {riderCard: {contact: 'https://relay.example/7'}}), {language: 'de', locale: 'de'}).who;
  assert.deepEqual([german.name, german.role, german.vehicle, german.contact.text],
    ['Ihr Techniker', '', '', 'Ihr Techniker kontaktieren']);
  assert.equal(seen(underway()).who, null);
  // For one job the rider may use another vehicle, whose plate is not known.
  assert.equal(seen(underway('delivery', {riderCard: card, display: {vehicle: 'foot'}})).who.vehicle, 'On foot');
  // The gateway validates contacts; the page does not rely on it.
  assert.equal(seen(underway('delivery', {riderCard: {name: 'x', contact: 'javascript:alert(1)'}})).who.contact, null);
});

test('an open connection clears connection errors but not the gateway\u2019s messages about the job', () => {
  const view = underway();
  assert.equal(refusalOnceOpen('down', view), null);
  assert.equal(refusalOnceOpen('limited', unknownView('job-1')), null);
  const refused = reduce(unknownView('job-1'), {type: 'error', code: 'not_found', message: ''}, 1_000).view;
  assert.equal(refusalOnceOpen('unknown', refused), 'unknown');
  // These are part of the first state; the socket has sent nothing yet.
  for (const said of ['unknown', 'expired']) assert.equal(refusalOnceOpen(said, unknownView('job-1')), said);
  for (const reason of ['revoked', 'reassigned']) {
    const ended = reduce(view, {type: 'ended', reason}, 1_000).view;
    assert.deepEqual([isTakenAway(ended), refusalOnceOpen('revoked', ended)], [true, 'revoked']);
  }
});

test('after a phone has slept, the greater of the two clock ages counts', () => {
  const message = {type: 'location', id: '2', at: 5_000, ...onward(HOME, 200, 4_000)};
  const {view} = reduce(underway(), message, 1_000, {wall: WALL});
  // The phone slept for 10 min, of which the monotonic clock counted 12 s.
  const slept = seen(view, {now: 13_000, wall: WALL + 600_000});
  assert.deepEqual([slept.isStale, slept.age], [true, 'Last updated 10 minutes ago']);
  const setBack = seen(view, {now: 76_000, wall: WALL - 3_600_000});
  assert.deepEqual([setBack.isStale, setBack.age], [true, 'Last updated 1 minute ago']);
  assert.equal(seen(view, {now: 13_000, wall: WALL + 12_000}).age, 'Live');
});

test('at the viewer limit an existing viewer keeps the view and a new one sees the reason', () => {
  assert.deepEqual([refusalWithoutRoom(null, true), refusalWithoutRoom(null, false)], [null, 'full']);
  assert.deepEqual([refusalWithoutRoom('unknown', true), refusalWithoutRoom('unknown', false)], ['unknown', 'unknown']);
  assert.equal(refusalOnceOpen('full', unknownView('job-1')), null);
});

test('a page that does not know the present does not apologize', () => {
  const view = viewOf('service', 'on_the_way', {display: {window: {from: WALL - 7_200_000, until: WALL - 3_600_000}}});
  assert.match(seen(view).apology, /sorry/);
  assert.deepEqual([seen(view, {isLost: true}).apology, seen(view, {isKept: true}).apology], ['', '']);
});

test('the apology for a promise of another day names the day', () => {
  const until = Date.UTC(2026, 10, 20, 17);
  const view = viewOf('service', 'assigned', {display: {window: {from: until - 7_200_000, until}}});
  const said = (hours) => seen(view, {wall: until + hours * 3_600_000}).apology.replace(/\s/g, ' ');
  assert.match(said(16), /promised by Nov 20, 5:00 PM\./);
  assert.match(said(2), /promised by 5:00 PM\./);
});

test('a link to an order that has ended shows its number only if the page knows it, and never an internal ID instead', () => {
  const ended = viewOf('delivery', 'delivered', {display: null});
  const story = (order) => ({times: {}, shop: null, rider: null, order});
  assert.equal(seen(ended, {isPast: true, story: story('A-17')}).facts.job, 'A-17');
  assert.equal(seen(ended, {isPast: true, story: story(null)}).facts.job, '');
  assert.equal(seen(ended, {story: story(null)}).facts.job, 'job-1');
  assert.equal(seen(viewOf('delivery', 'preparing', {display: {orderNumber: 'A-18'}}), {story: story('A-17')}).facts.job, 'A-18');
});
