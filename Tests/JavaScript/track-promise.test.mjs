// The promised time, whether it was met, and the times of the steps so far.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {LONGEST_TOLD, SLACK, apologyText, outcome, timesText, windowText} from '../../Sources/WebAssets/web/track-promise.js';
import {spanTexts} from '../../Sources/WebAssets/web/page-times.js';
import {Story} from '../../Sources/WebAssets/web/track-story.js';
import {words as allWords} from '../../Sources/WebAssets/web/track-words.js';

const UNTIL = Date.UTC(2026, 10, 21, 15, 0);
const clock = (at) => new Date(at).toISOString().slice(11, 16);
const view = (more) => ({clockOffset: 0, display: {window: {from: UNTIL - 900_000, until: UNTIL}}, ...more});
const apology = (now, more = {}) => apologyText(view(), {eta: null, serverTime: now, isLate: false, ...more}, clock, allWords.en);

test('the page apologizes once the promised time has passed, and not before', () => {
  assert.equal(apology(UNTIL), '');
  assert.equal(apology(UNTIL + SLACK), '');
  assert.equal(apology(UNTIL + SLACK + 1), 'We’re sorry – this is running late. It was promised by 15:00.');
  assert.equal(apologyText({clockOffset: 0, display: null}, {eta: null, serverTime: UNTIL * 2}, clock, allWords.en), '');
});

test('an arrival that is expected after the promised time is admitted before it has passed', () => {
  const eta = (minutes) => ({state: 'ok', arrivesAt: UNTIL + minutes * 60_000});
  assert.match(apology(UNTIL - 600_000, {eta: eta(5)}), /running late/);
  assert.equal(apology(UNTIL - 600_000, {eta: eta(-1)}), '');
  // An estimate that has passed says nothing about the arrival.
  assert.match(apology(UNTIL + 600_000, {eta: eta(-1), isLate: true}), /running late/);
});

test('a delay that was admitted stays so until an arrival time keeps the promise, or another time is promised', () => {
  const before = (more) => apology(UNTIL - 600_000, {admitted: UNTIL, ...more});
  assert.match(before({}), /running late/);
  for (const state of ['recalculating', 'unavailable']) assert.match(before({eta: {state}}), /running late/, state);
  assert.equal(before({eta: {state: 'ok', arrivesAt: UNTIL}}), '');
  assert.equal(before({admitted: UNTIL - 1}), '');
});

test('a range of times is written like every other time, in both languages', () => {
  const from = Date.UTC(2026, 10, 21, 6, 36);
  const range = (minutes, language) => timesText(from, from + minutes * 60_000, language, 'UTC').replace(/\s/g, ' ');
  assert.deepEqual([range(7, 'en'), range(7, 'de'), range(7, 'en-GB')], ['6:36 – 6:43 AM', '6:36–6:43', '6:36–6:43']);
  assert.deepEqual([range(0, 'en'), range(0, 'de')], ['6:36 AM', '6:36']);
});

test('the end shows who came and how long it took, as far as it is known', () => {
  const told = (story, kind = 'delivery', language = 'en') =>
    outcome({}, {kind, story: {times: {}, rider: null, ...story}, locale: language}, allWords[language]);
  const times = {pending_vendor_acceptance: UNTIL, delivered: UNTIL + 34 * 60_000};
  assert.equal(told({times, rider: 'Rosa'}), 'Delivered by Rosa, 34 minutes after you ordered.');
  assert.equal(told({rider: 'Rosa'}), 'Delivered by Rosa.');
  // Otherwise the digits would be part of the name, and the sentence would be read in another order.
  assert.equal(told({times, rider: '\u05e8\u05d5\u05d6\u05d4'}),
    'Delivered by \u2068\u05e8\u05d5\u05d6\u05d4\u2069, 34 minutes after you ordered.');
  assert.equal(told({times}), 'Delivered 34 minutes after you ordered.');
  assert.equal(told({}), '');
  assert.equal(told({times: {...times, delivered: UNTIL + LONGEST_TOLD + 1}}), '');
  assert.equal(told({times: {...times, delivered: UNTIL - 1}}), '');
  assert.equal(told({times: {work_in_progress: UNTIL, completed: UNTIL + 45 * 60_000}, rider: 'Max'}, 'service', 'de'),
    'Erledigt von Max in 45 Minuten.');
});

const seen = (status, more = {}) => ({known: true, status, statusAt: UNTIL, ...more});

test('times come from the page and from messages, and messages are newer', () => {
  const story = new Story();
  story.take(seen('preparing', {statusAt: 9}));
  story.read({times: {accepted: 1, preparing: 2}, shop: {lat: 1, lon: 2}, rider: null});
  assert.deepEqual(story.times, {accepted: 1, preparing: 9});
  assert.deepEqual(story.shop, {lat: 1, lon: 2});
  story.read({});
  assert.deepEqual(story.shop, {lat: 1, lon: 2});
});

test('the rider\u2019s name stays when the end removes the card, and another rider has another name', () => {
  const story = new Story();
  story.take(seen('in_transit', {riderCard: {name: 'Rosa'}}));
  story.take(seen('delivered'));
  assert.equal(story.rider, 'Rosa');
  story.take(seen('in_transit', {riderCard: {name: 'Max'}}));
  assert.equal(story.rider, 'Max');
  story.forget();
  assert.deepEqual([story.rider, story.shop, story.times], [null, null, {}]);
});

test('only a delivery that happens while the page is open is celebrated, once', () => {
  const story = new Story();
  assert.equal(story.take(seen('in_transit')), false);
  assert.equal(story.take(seen('delivered')), true);
  assert.equal(story.take(seen('delivered')), false);
  assert.equal(new Story().take(seen('delivered')), false);
  assert.equal(story.take({known: false}), false);
});

test('the promised time stays on one line', () => {
  for (const locale of ['en', 'de', 'en-GB']) {
    const text = windowText({from: UNTIL - 900_000, until: UNTIL}, {now: UNTIL, locale, timeZone: 'UTC'});
    // A line may end at a space, unless it is non-breaking, and after a dash, unless a word joiner follows.
    assert.doesNotMatch(text, /[ \u2009]|–(?!\u2060)/, locale);
    assert.match(text, /–/);
  }
});

test('a window in which the clocks change names both time zones, on all pages', (run) => {
  const before = process.env.TZ;
  process.env.TZ = 'America/New_York';
  run.after(() => { if (before === undefined) delete process.env.TZ; else process.env.TZ = before; });
  const [from, until] = [Date.UTC(2026, 10, 1, 5, 30), Date.UTC(2026, 10, 1, 6, 15)];
  const text = (now, locale) => windowText({from, until}, {now, locale}).replace(/\s/g, ' ');
  assert.equal(text(from, 'en-US'), '1:30 AM EDT – 1:15 AM EST');
  assert.equal(text(from - 48 * 3_600_000, 'en-US'), 'Nov 1, 1:30 AM EDT – 1:15 AM EST');
  const later = 24 * 3_600_000;
  assert.equal(windowText({from: from + later, until: until + later}, {now: from + later, locale: 'en-US'})
    .replace(/\s/g, ' ').replace('\u2060', ''), '12:30 – 1:15 AM');
  const both = spanTexts({from, until}, from, 'en-US').map((each) => each.replace(/\s/g, ' '));
  assert.deepEqual(both, ['1:30 AM EDT', '1:15 AM EST']);
});

test('a window across midnight has no date while it is near, and otherwise the date on which it starts', () => {
  const window = {from: UNTIL + 8.5 * 3_600_000, until: UNTIL + 9.5 * 3_600_000};
  const text = (now) => windowText(window, {now, locale: 'en-US', timeZone: 'UTC'}).replace(/\s/g, ' ').replace('\u2060', '');
  assert.equal(text(UNTIL), '11:30 PM – 12:30 AM');
  assert.equal(text(UNTIL - 48 * 3_600_000), 'Nov 21, 11:30 PM – 12:30 AM');
});

test('a cached page knows the times, but not where the order comes from and what the customer may do', () => {
  const story = new Story();
  const more = {times: {accepted: 1}, shop: {lat: 1, lon: 2}, rider: 'Rosa', can: {note: ''}};
  story.read({times: more.times}, false);
  assert.deepEqual([story.times, story.shop, story.can, story.isRead], [more.times, null, null, false]);
  story.read(more);
  assert.deepEqual([story.shop, story.rider, story.can, story.isRead], [more.shop, 'Rosa', more.can, true]);
  story.forget();
  assert.equal(story.isRead, false);
});

test('the order number is known after the state without details', () => {
  const story = new Story();
  story.take(seen('in_transit', {display: {orderNumber: 'A-17'}}));
  story.take(seen('delivered', {display: null}));
  assert.equal(story.order, 'A-17');
  story.forget();
  assert.equal(story.order, null);
});
