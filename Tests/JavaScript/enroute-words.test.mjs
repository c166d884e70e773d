// Formatting of times, distances and arrivals: languages, clocks and units by `Intl`.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  agoText, arrival, arrivalText, clockText, distanceText, readersLocale, mapText, updatedText, usesMiles,
} from '../../Sources/WebAssets/web/enroute-words.js';

/** Replaces the narrow spaces that `Intl` inserts. */
const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');
const NOW = Date.UTC(2026, 10, 21, 14, 0);
const UTC = {timeZone: 'UTC'};
const eta = (minutes, more = {}) => ({state: 'ok', arrivesAt: NOW + minutes * 60_000, seconds: 1, at: NOW, ...more});

test('an arrival is shown as now, in minutes under an hour, and as a time after that', () => {
  const said = (minutes, locale = 'en-US') => plain(arrivalText(eta(minutes), NOW, locale, UTC));
  assert.equal(said(0.98), 'Arriving now');
  assert.equal(said(-5), 'Arriving now');
  assert.equal(said(1), 'Arriving in 1 min');
  assert.equal(said(12), 'Arriving in 12 min');
  assert.equal(said(59.4), 'Arriving in 59 min');
  assert.equal(said(59.6), 'Arriving at 2:59 PM');
  assert.equal(said(165), 'Arriving at 4:45 PM');
  assert.equal(said(165, 'en-GB'), 'Arriving at 16:45');
  assert.equal(said(0, 'de'), 'Gleich da');
  assert.equal(said(12, 'de-AT'), 'Ankunft in 12 Min.');
  assert.equal(said(165, 'de'), 'Ankunft um 16:45');
});

test('an arrival time is shown by the reader\u2019s clock and counted by the gateway\u2019s', () => {
  assert.equal(plain(arrivalText(eta(120), NOW, 'en-GB', {clockOffset: 600_000, ...UTC})), 'Arriving at 15:50');
});

test('an unknown arrival time has a reason', () => {
  const said = (more, locale = 'en') => arrivalText({at: NOW, ...more}, NOW, locale);
  assert.equal(said({state: 'recalculating'}), 'ETA recalculating\u2026');
  assert.equal(said({state: 'unavailable'}), 'ETA unavailable');
  assert.equal(said({state: 'unavailable', stopsBefore: 1}), 'After another stop');
  assert.equal(said({state: 'unavailable'}, 'de'), 'Ankunftszeit nicht verf\u00fcgbar');
  assert.equal(arrivalText(null, NOW, 'en'), '');
  assert.deepEqual(arrival(null, NOW), {kind: 'none'});
});

test('distances use the units of the reader\u2019s roads', () => {
  const said = (meters, locale, how) => plain(distanceText(meters, locale, how));
  assert.equal(said(4_023, 'en-US', {spoken: true}), '2.5 miles');
  assert.equal(said(4_023, 'en-US'), '2.5 mi');
  assert.equal(said(152, 'en-US'), '500 ft');
  assert.equal(said(30_000, 'en-GB'), '19 mi');
  assert.equal(said(347, 'de'), '350 m');
  assert.equal(said(4_023, 'de'), '4 km');
  assert.equal(said(4_523, 'de', {spoken: true}), '4,5 Kilometer');
  assert.equal(said(12_340, 'en-AU'), '12 km');
  assert.equal(said(997, 'fr'), '1 km');
  assert.ok(usesMiles('en') && usesMiles('en-Latn-GB') && !usesMiles('en-IE') && !usesMiles('de'));
});

test('an age is shown in seconds, minutes and hours', () => {
  assert.equal(agoText(400, 'en'), 'now');
  assert.equal(agoText(42_900, 'en'), '42 seconds ago');
  assert.equal(agoText(60_000, 'en'), '1 minute ago');
  assert.equal(agoText(7_300_000, 'de'), 'vor 2 Stunden');
  assert.equal(agoText(-5, 'en'), 'now');
  assert.equal(updatedText(61_000, 'en'), 'Last updated 1 minute ago');
  assert.equal(updatedText(61_000, 'de'), 'Zuletzt aktualisiert vor 1 Minute');
});

test('the map is described in one sentence', () => {
  const said = (arrives, locale = 'en-US') => plain(mapText(
    {who: locale === 'de' ? 'Ihr Techniker' : 'Technician', meters: 4_023, eta: arrives, serverTime: NOW, ...UTC},
      locale));
  assert.equal(said(eta(12)), 'Technician is 2.5 miles away and should arrive in 12 minutes.');
  assert.equal(said(eta(0)), 'Technician is 2.5 miles away and should arrive any moment.');
  assert.equal(said(eta(165)), 'Technician is 2.5 miles away and should arrive at 4:45 PM.');
  assert.equal(said({state: 'unavailable', at: NOW}), 'Technician is 2.5 miles away.');
  assert.equal(said(null), 'Technician is 2.5 miles away.');
  assert.equal(
    said(eta(12), 'de'), 'Ihr Techniker ist 4 Kilometer entfernt und kommt voraussichtlich in 12 Minuten an.');
});

test('a page uses the reader\u2019s variant of its language', () => {
  assert.equal(readersLocale('en', ['de-DE', 'en-GB', 'en-US']), 'en-GB');
  assert.equal(readersLocale('de', ['en-US']), 'de');
  assert.equal(readersLocale('en', ['not a locale']), 'en');
});

test('a language without texts falls back to English with its own clock', () => {
  assert.equal(plain(arrivalText(eta(165), NOW, 'fr', UTC)), 'Arriving at 16:45');
  assert.equal(plain(clockText(NOW, 'en-US', 'Europe/Rome')), '3:00 PM');
});

test('D33: no line breaks within a time', () => {
  const texts = [clockText(NOW, 'en-US', 'UTC'), arrivalText(eta(165), NOW, 'en-US', UTC)];
  assert.deepEqual(texts, ['2:00\u202fPM', 'Arriving at 4:45\u202fPM']);
});
