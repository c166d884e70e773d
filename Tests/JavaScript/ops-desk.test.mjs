// The decisions of the operations page: what needs attention, what is on the map, which markers form a cluster, saved views.

import {Place} from './page.mjs';
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {sentenceOf} from '../../Sources/WebAssets/web/ops-actions.js';
import {lateness, needOf, overdue, queue, reasons, silentRiders} from '../../Sources/WebAssets/web/ops-attention.js';
import {columnsOf, lateText} from '../../Sources/WebAssets/web/ops-columns.js';
import {Field, GLIDE, Way, worldX, worldY} from '../../Sources/WebAssets/web/ops-field.js';
import {entryText} from '../../Sources/WebAssets/web/ops-job.js';
import {PlaceBook, jobStates, riderStates, tally} from '../../Sources/WebAssets/web/ops-places.js';
import {clock} from '../../Sources/WebAssets/web/ops-polling.js';
import {QueueCard, knownAfter, news} from '../../Sources/WebAssets/web/ops-queue.js';
import {MOST, addView, readViews, searchOf} from '../../Sources/WebAssets/web/ops-views.js';
import {readQuery} from '../../Sources/WebAssets/web/ops-list.js';
import {words} from '../../Sources/WebAssets/web/ops-words.js';

const MINUTE = 60_000;
const NOW = 1_795_248_617_611;
const row = (job, members = {}) => ({
  job, kind: 'delivery', status: 'in_transit', statusAt: NOW - MINUTE, customer: 'anna', rider: 'ben', tracking: 'live',
  followers: 0, ...members,
});
const jobs = (entries) => entries.map(({row: {job}, reason}) => `${job} ${reason}`);

test('a job is late, at risk or on time compared with what was promised', () => {
  assert.equal(lateness(row('a'), NOW), null);
  assert.deepEqual(lateness(row('a', {promisedBy: NOW + 10 * MINUTE}), NOW), {state: 'on_time', by: 0});
  assert.deepEqual(lateness(row('a', {promisedBy: NOW + 3 * MINUTE}), NOW), {state: 'risk', by: 0});
  assert.deepEqual(lateness(row('a', {promisedBy: NOW - 2 * MINUTE}), NOW), {state: 'late', by: 2 * MINUTE});
  // What is expected counts before it happens.
  const expected = row('a', {promisedBy: NOW + MINUTE, arrivesAt: NOW + 9 * MINUTE});
  assert.deepEqual(lateness(expected, NOW), {state: 'late', by: 8 * MINUTE});
});

test('a visit in progress is not late when its window ends, because the rider came in time', () => {
  const visit = {kind: 'service', promisedBy: NOW - 20 * MINUTE, arrivesAt: undefined, tracking: 'arrived'};
  assert.equal(lateness(row('a', {...visit, status: 'work_in_progress'}), NOW), null);
  assert.equal(needOf(row('a', {...visit, status: 'work_in_progress'}), NOW), null);
  assert.equal(needOf(row('a', {...visit, status: 'on_the_way', tracking: 'live'}), NOW), 'late');
});

test('a visit of another day needs a rider on its day, not when it is planned', () => {
  const visit = (promisedBy, status = 'assigned') => row('a', {
    kind: 'service', rider: undefined, status, promisedBy, tracking: 'waiting',
  });
  assert.equal(needOf(visit(NOW + 24 * 60 * MINUTE), NOW), null);
  assert.equal(needOf(visit(NOW + 6 * 60 * MINUTE), NOW), 'no_rider');
  assert.equal(needOf(visit(undefined), NOW), 'no_rider');
  assert.equal(needOf(visit(NOW + 24 * 60 * MINUTE, 'on_the_way'), NOW), 'no_rider');
  // It waits since then, not since it was planned.
  const [{since}] = queue([{...visit(NOW + 5 * 60 * MINUTE), statusAt: 1}], NOW);
  assert.equal(since, NOW - 60 * MINUTE);
});

test('a promise for another day has its date in the table', () => {
  const due = columnsOf({words: words.en, statusText: String, ago: String}).find(({key}) => key === 'due');
  const wall = clock();
  const day = new Intl.DateTimeFormat('en', {month: 'short', day: 'numeric'}).format(wall + 48 * 60 * MINUTE);
  assert.ok(due.text(row('a', {promisedBy: wall + 48 * 60 * MINUTE})).startsWith(day));
  assert.match(due.text(row('a', {promisedBy: wall + 60 * MINUTE})), /^\d+:\d\d/);
});

test('a delay is written in the largest unit that fits, and as expected until the promised time ends', () => {
  const text = (members, language = 'en') => lateText(row('a', members), NOW, words[language]);
  const day = 24 * 60 * MINUTE;
  assert.equal(text({promisedBy: NOW - 1}), '1 min late');
  assert.equal(text({promisedBy: NOW - 99 * MINUTE}), '99 min late');
  assert.equal(text({promisedBy: NOW - 100 * MINUTE}), '2 h late');
  assert.equal(text({promisedBy: NOW - 1_562 * MINUTE}), '26 h late');
  assert.equal(text({promisedBy: NOW - 2 * day}), '2 days late');
  assert.equal(text({promisedBy: NOW + 12 * MINUTE, arrivesAt: NOW + 13 * MINUTE}), 'expected 1 min late');
  assert.equal(text({promisedBy: NOW - 3 * day}, 'de'), '3 Tage zu spät');
  assert.equal(text({promisedBy: NOW + MINUTE, arrivesAt: NOW + 3 * MINUTE}, 'de'), 'wohl 2 Min. zu spät');
});

test('the table shows the promised time of a job that is only expected to be late, marked as late', () => {
  const due = columnsOf({words: words.en, statusText: String, ago: String}).find(({key}) => key === 'due');
  const now = clock();
  const expected = row('a', {promisedBy: now + 12 * MINUTE, arrivesAt: now + 13 * MINUTE});
  assert.match(due.text(expected), /^\d+:\d\d/);
  assert.equal(due.kind(expected), 'bad');
  assert.equal(due.text(row('a', {promisedBy: now - 12 * MINUTE})), '12 min late');
  assert.equal(due.text(row('a', {promisedBy: now - MINUTE, status: 'work_in_progress'})).includes('late'), false);
});

test('time in a status is compared with a target', () => {
  assert.equal(overdue(row('a', {status: 'ready_for_pickup', statusAt: NOW - 9 * MINUTE}), NOW), 0);
  assert.equal(overdue(row('a', {status: 'ready_for_pickup', statusAt: NOW - 12 * MINUTE}), NOW), 2 * MINUTE);
  assert.equal(overdue(row('a', {status: 'work_in_progress', statusAt: 1}), NOW), 0);
});

test('D3, D23: the queue lists failed, without rider, lost, silent and late jobs, the longest waiting first', () => {
  const rows = [
    row('fine'), row('late', {promisedBy: NOW - MINUTE}), row('later', {promisedBy: NOW - 9 * MINUTE}),
    row('stale', {tracking: 'stale', seenAt: NOW - MINUTE}), row('mute', {rider: 'carl', tracking: 'waiting'}),
    row('lost', {tracking: 'lost', seenAt: NOW - 40 * MINUTE}), row('alone', {rider: undefined, status: 'ready_for_pickup'}),
    row('failed', {status: 'allocation_failed'}), row('cooking', {rider: undefined, status: 'preparing'}),
  ];
  const silent = silentRiders([
    {rider: 'carl', reachable: false, tasks: ['mute']}, {rider: 'dora', reachable: false, tasks: []},
  ]);
  assert.deepEqual([...silent], ['carl']);
  assert.deepEqual(jobs(queue(rows, NOW, silent)), [
    'failed failed', 'alone no_rider', 'lost lost', 'mute silent', 'stale silent', 'later late', 'late late',
  ]);
  assert.equal(needOf(row('fine'), NOW), null);
});

test('a visit planned for later needs no reachable rider until six hours before its window ends', () => {
  const visit = (promisedBy) => row('a', {status: 'assigned', rider: 'carl', promisedBy});
  const silent = new Set(['carl']);
  assert.equal(needOf(visit(NOW + 20 * 60 * MINUTE), NOW, silent), null);
  assert.equal(needOf(visit(NOW + 5 * 60 * MINUTE), NOW, silent), 'silent');
});

test('a job whose address was not found needs attention, whatever its status', () => {
  for (const geocoding of ['low', 'none']) {
    for (const status of ['pending_vendor_acceptance', 'in_transit']) {
      assert.equal(needOf(row('a', {geocoding, status}), NOW), 'address');
    }
  }
  for (const language of ['en', 'de']) assert.deepEqual(reasons.filter((reason) => !words[language].reasonsWhy[reason]), []);
});

test('the log shows which entries were late, and what a correction changed and why', () => {
  const name = (status) => status.toUpperCase();
  const texts = (entry) => ['en', 'de'].map((language) => entryText(entry, words[language], name));
  assert.deepEqual(texts({status: 'preparing'}), ['PREPARING', 'PREPARING']);
  assert.deepEqual(texts({status: 'preparing', late: true}), ['PREPARING, reported late', 'PREPARING, verspätet gemeldet']);
  assert.deepEqual(texts({status: 'in_transit', late: true, assigned: {rider: 'ben'}})[0], 'Rider ben, reported late');
  assert.deepEqual(texts({status: 'in_transit', late: true, assigned: {rider: null, customer: 'anna'}})[1],
    'Fahrer –, Kunde anna, verspätet gemeldet');
  assert.deepEqual(texts({status: 'preparing', corrected: 'delivered', reason: 'wrong door'}),
    ['PREPARING, instead of DELIVERED, wrong door', 'PREPARING, statt DELIVERED, wrong door']);
});

test('only entries that were not in the queue before are news, and none are at the start', () => {
  const entries = queue([row('a', {status: 'allocation_failed'}), row('b', {tracking: 'lost'})], NOW);
  assert.deepEqual(news(null, entries), []);
  assert.deepEqual(jobs(news(new Set(['a failed']), entries)), ['b lost']);
});

test('that a job is late is news once for each promise, however often its expected arrival changes', () => {
  const late = (promisedBy) => [{row: row('a', {promisedBy}), reason: 'late'}];
  let isOpen = true;
  let known = null;
  const take = (entries) => {
    const added = news(known, entries);
    known = knownAfter(known, entries, () => isOpen);
    return added.length;
  };
  assert.deepEqual([take([]), take(late(1)), take(late(1))], [0, 1, 0]);
  // Without an expected arrival the job is not late; its rider may not respond meanwhile.
  const silent = [{row: row('a'), reason: 'silent'}];
  assert.deepEqual([take([]), take(late(1)), take(silent), take(late(1)), take(silent)], [0, 0, 1, 0, 1]);
  assert.deepEqual([take(late(2)), take([]), take(late(2))], [1, 0, 0]);
  isOpen = false;
  take([]);
  assert.equal(known.size, 0);
});

test('the card says that nothing needs attention only if the queue is known', () => {
  const panel = new Place();
  const card = new QueueCard(panel, {words: words.en, link: String, say() {}, storage: sessionStorage});
  const shown = () => {
    card.render(NOW, null);
    return panel.textContent;
  };
  assert.equal(shown(), '');
  card.take([], () => true);
  assert.match(shown(), /All good\. Nothing needs your attention\./);
  card.take(queue([row('a', {status: 'allocation_failed', display: {orderNumber: 'A-7'}})], NOW), () => true);
  assert.match(shown(), /A-7.*No rider found/);
  // Another zone, of which the page knows nothing yet.
  card.clear();
  assert.equal(shown(), '');
  card.take([], () => true);
  assert.match(shown(), /All good/);
});

const spot = (lat, lon) => ({lat, lon});
const message = (places, more = {}) => ({reset: true, more: false, places, goneJobs: [], goneRiders: [], ...more});

test('the map shows each rider once, with the newest position and the worst state of their jobs', () => {
  const book = new PlaceBook();
  book.take(message([
    {job: 'a', rider: 'ben', destination: spot(1, 1), position: spot(2, 2), hdg: 90, at: 5},
    {job: 'b', rider: 'ben', destination: spot(3, 3), position: spot(4, 4), at: 9},
    {job: 'gone', destination: spot(5, 5)}, {rider: 'ben', position: spot(6, 6), at: 99},
    {rider: 'dora', position: spot(7, 7), at: 1}, {rider: 'emil', position: spot(8, 8), at: 1},
  ]));
  const rows = new Map([['a', row('a', {promisedBy: NOW - MINUTE})], ['b', row('b')]]);
  const riders = new Map([['dora', {rider: 'dora', reachable: true, available: true, tasks: []}]]);
  const markers = book.markers({row: (job) => rows.get(job) ?? null, riders, silent: new Set(), now: NOW});
  assert.deepEqual(tally(markers), {'job late': 1, 'job open': 1, 'rider available': 1, 'rider online': 1, 'rider late': 1});
  const ben = markers.find(({id}) => id === 'rider:ben');
  assert.deepEqual([ben.lat, ben.state, ben.job], [4, 'late', 'b']);
});

test('on the map a rider without a shared place is free only without a task', () => {
  const book = new PlaceBook();
  book.take(message(['dora', 'emil'].map((rider) => ({rider, position: spot(1, 1), at: 1}))));
  const riders = new Map([['dora', []], ['emil', ['a']]].map(([rider, tasks]) => [rider, {rider, reachable: true, available: true, tasks}]));
  assert.deepEqual(tally(book.markers({row: () => null, riders, silent: new Set(), now: NOW})), {'rider available': 1, 'rider busy': 1});
});

test('on the map a rider who is missing in the limited list is online, neither free nor busy', () => {
  const book = new PlaceBook();
  book.take(message([{rider: 'dora', position: spot(1, 1), at: 1}]));
  const markers = book.markers({row: () => null, riders: new Map(), silent: new Set(), now: NOW});
  assert.deepEqual([tally(markers), markers[0].job], [{'rider online': 1}, null]);
  for (const language of ['en', 'de']) {
    const named = [...riderStates.map((state) => `rider ${state}`), ...jobStates.map((state) => `job ${state}`)];
    assert.deepEqual(Object.keys(words[language].markers).sort(), named.sort());
  }
});

test('places that have disappeared leave the map, and a reset starts again', () => {
  const book = new PlaceBook();
  book.take(message([{job: 'a', destination: spot(1, 1)}, {rider: 'ben', position: spot(1, 1)}]));
  book.take(message([], {reset: false, goneJobs: ['a'], goneRiders: ['ben']}));
  assert.equal(book.size, 0);
  book.take(message([{job: 'a', destination: spot(1, 1)}]));
  book.take(message([{job: 'b', destination: spot(1, 1)}]));
  assert.deepEqual([book.size, book.job('a')], [1, null]);
});

test('the rider of a delivery goes to the shop until they have the order, and others to the destination', () => {
  const book = new PlaceBook();
  book.take(message([{job: 'a', vendor: spot(1, 1), destination: spot(2, 2)}, {job: 'b', destination: spot(3, 3)}]));
  for (const status of ['pending_vendor_acceptance', 'accepted', 'preparing', 'ready_for_pickup', 'allocation_failed']) {
    assert.deepEqual(book.nextStop(row('a', {status})), {kind: 'vendor', ...spot(1, 1)});
  }
  assert.deepEqual(book.nextStop(row('a')), {kind: 'destination', ...spot(2, 2)});
  assert.deepEqual(book.nextStop(row('b', {status: 'accepted'})), {kind: 'destination', ...spot(3, 3)});
  assert.equal(book.nextStop(row('c')), null);
});

const marker = (id, lat, lon) => ({id, kind: 'rider', state: 'live', lat, lon, heading: null, job: null});

test('world coordinates equal those of Web Mercator', () => {
  assert.deepEqual([worldX(-180), worldX(0), worldY(0)], [0, 0.5, 0.5]);
  assert.ok(Math.abs(worldY(85.0511)) < 1e-6 && Math.abs(worldY(-90) - 1) < 1e-6);
});

test('a marker glides to its new position, jumps over long distances, and stands still otherwise', () => {
  const field = new Field();
  field.update([marker('a', 41.9, 12.5)], 0);
  assert.equal(field.isMoving(0), false);
  field.update([marker('a', 41.9, 12.501)], 1_000);
  assert.equal(field.isMoving(1_000), true);
  field.move(1_000 + GLIDE / 2);
  assert.ok(Math.abs(field.xs[0] - (worldX(12.5) + worldX(12.501)) / 2) < 1e-9);
  field.move(1_000 + GLIDE);
  assert.equal(field.xs[0], worldX(12.501));
  assert.equal(field.isMoving(1_000 + GLIDE), false);
  field.update([marker('a', 42.9, 12.501)], 9_000);
  assert.equal(field.isMoving(9_000), false);
  field.update([marker('a', 42.9, 12.502)], 10_000, true);
  assert.equal(field.isMoving(10_000), false);
});

test('many markers close together form clusters, with all members, and none when people look closely', () => {
  const markers = Array.from({length: 5_000}, (_, at) => marker(`r-${at}`, 41.9 + (at % 70) / 1_000, 12.5 + (at % 50) / 1_000));
  const field = new Field();
  field.update(markers, 0);
  const rank = ({id}) => (id === 'r-7' ? 0 : 2);
  const {clusters, singles} = field.clusters(12, rank);
  assert.equal(clusters.reduce((sum, {count}) => sum + count, 0) + singles.length, 5_000);
  assert.equal(clusters.filter((cluster) => cluster.rank === 0).length, 1);
  assert.ok(clusters.length < 200);
  assert.deepEqual(field.clusters(17, rank).clusters, []);
});

test('five thousand moving markers are computed in a fraction of a frame', () => {
  const field = new Field();
  const at = (turn) => Array.from({length: 5_000}, (_, n) => marker(`r-${n}`, 41.9 + n / 100_000 + turn / 10_000, 12.5));
  field.update(at(0), 0);
  field.update(at(1), 1_000);
  const before = process.cpuUsage();
  for (let frame = 0; frame < 100; frame += 1) field.move(1_000 + frame * 10);
  const {user, system} = process.cpuUsage(before);
  assert.ok((user + system) / 100 < 8_000, `${(user + system) / 100} µs of a frame of 16,667`);
});

test('saved views are bounded, without a zone or a job, and malformed ones are ignored', () => {
  assert.equal(searchOf(readQuery('?zone=rome&job=a&tab=system&need=late&sort=-due')), '?need=late&sort=-due');
  let views = [];
  for (let number = 0; number < MOST + 5; number += 1) views = addView(views, ` view ${number} `, `?q=${number}`);
  assert.deepEqual([views.length, views[0].name], [MOST, `view ${MOST + 4}`]);
  assert.equal(addView(views, `view ${MOST + 4}`, '?q=new').length, MOST);
  assert.equal(addView(views, '  ', '?q=new'), views);
  assert.deepEqual(readViews(JSON.stringify(views)), views);
  for (const text of [null, '', '{', '5', '[5]', '[{"name":1}]', JSON.stringify([{name: 'a', search: 'x'.repeat(513)}])]) {
    assert.deepEqual(readViews(text), []);
  }
});

test('refusals are shown in texts of the page, in both languages', () => {
  for (const language of ['en', 'de']) {
    const own = words[language];
    const told = [
      {status: 409, code: 'rider_busy'}, {status: 409, code: 'conflict'}, {status: 404, code: ''}, {status: 0, code: ''},
      {status: 500, code: 'internal'},
    ].map((error) => sentenceOf(error, own));
    assert.equal(new Set(told).size, 5);
    assert.ok(told.every(Boolean));
  }
  assert.deepEqual(Object.keys(words.en).sort(), Object.keys(words.de).sort());
});

/** Google's encoded polyline of places in 1e-5 degrees. */
const encoded = (places) => places.flatMap((place, at) => place.map((value, axis) => {
  const difference = value - (places[at - 1]?.[axis] ?? 0);
  let [rest, text] = [difference < 0 ? ~(difference << 1) : difference << 1, ''];
  for (; rest >= 32; rest >>= 5) text += String.fromCharCode((rest & 31 | 32) + 63);
  return text + String.fromCharCode(rest + 63);
})).join('');
const world = (lat, lon) => [worldX(lon), worldY(lat)];
const degrees = ({kind, places}) => [kind, ...places.map(([x, y]) => [
  Math.round((Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180 / Math.PI) * 1e5), Math.round((x * 360 - 180) * 1e5),
])];

test('the route of a selected job begins where its rider is drawn, and without a route it is a straight line', () => {
  const [way, home] = [new Way(), world(0.001, 0.002)];
  assert.deepEqual(degrees(way.from(world(0, 0.0005), home)), ['line', [0, 50], [100, 200]]);
  assert.equal(way.take({polyline: encoded([[0, 0], [0, 200], [100, 200]])}), true);
  assert.equal(way.take({polyline: encoded([[0, 0], [0, 200], [100, 200]])}), false);
  assert.deepEqual(degrees(way.from(world(0, 0.0005), home)), ['route', [0, 50], [0, 50], [0, 200], [100, 200]]);
  // Behind the corner there is one place less; a destination that is not drawn changes nothing.
  assert.deepEqual(degrees(way.from(world(0.0004, 0.002), null)), ['route', [40, 200], [40, 200], [100, 200]]);
});

test('a rider who has left the route, and one who is not drawn, have no route', () => {
  const [way, home] = [new Way(), world(0.001, 0.002)];
  way.take({polyline: encoded([[0, 0], [0, 200], [100, 200]])});
  assert.equal(way.from(world(-0.001, 0.0005), home).kind, 'line');
  assert.equal(way.from(world(-0.001, 0.0005), null), null);
  assert.equal(way.from(null, home), null);
  way.take(null);
  assert.equal(way.from(world(0, 0.0005), home).kind, 'line');
  // An unreadable route is ignored.
  way.take({polyline: 'nonsense\u0001'});
  assert.equal(way.from(world(0, 0.0005), home).kind, 'line');
});

test('without a connection the riders on the map are not shown as live', () => {
  const book = new PlaceBook();
  book.take(message([{job: 'a', rider: 'ben', destination: spot(1, 1), position: spot(2, 2), at: 5}]));
  const markers = (more) => tally(book.markers({row: () => row('a'), riders: new Map(), silent: new Set(), now: NOW, ...more}));
  assert.deepEqual(markers(), {'job open': 1, 'rider live': 1});
  assert.deepEqual(markers({isOld: true}), {'job open': 1, 'rider silent': 1});
});
