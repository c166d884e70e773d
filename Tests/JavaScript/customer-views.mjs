// Views of a job as the customer's page gets them, and what it shows, without a browser.

import {readFileSync} from 'node:fs';

import {reduce, unknownView} from '../../Sources/WebAssets/web/enroute-view.js';
import {onward} from '../../Sources/WebAssets/web/track-movement.js';
import {presentation} from '../../Sources/WebAssets/web/track-presentation.js';
import {words as allWords} from '../../Sources/WebAssets/web/track-words.js';

const read = (language) =>
  JSON.parse(readFileSync(new URL(`../../Sources/EnrouteWire/Texts/${language}.json`, import.meta.url), 'utf8'));
export const texts = {en: read('en'), de: read('de')};

export const WALL = Date.UTC(2026, 10, 21, 14, 33);
export const HOME = {lat: 41.9, lon: 12.5};
const STEPS = {
  service: ['assigned', 'on_the_way', 'work_in_progress', 'completed'],
  delivery: ['pending_vendor_acceptance', 'accepted', 'preparing', 'ready_for_pickup', 'in_transit', 'delivered'],
};

const ENDS = ['delivered', 'completed'];

/** The view of a job in a status, as built from a gateway's snapshot. */
export function viewOf(kind, status, more = {}) {
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
/** The same while the rider is travelling and has a position. */
export const underway = (kind = 'service', more = {}) => viewOf(kind, kind === 'service' ? 'on_the_way' : 'in_transit', {
  tracking: 'live', text: 'live', position: {id: '1', at: 1, ...onward(HOME, 200, 4_023)}, positionAgeMs: 0,
  eta: {state: 'ok', arrivesAt: WALL + 12 * 60_000, at: WALL}, ...more,
});
/** What the page shows, with plain spaces. */
export const seen = (view, {language = 'en', locale = 'en-US', now = 1_000, wall = WALL, ...more} = {}) => {
  const moment = {now, wall, serverTime: wall + view.clockOffset, locale, timeZone: 'UTC', ...more};
  const made = presentation(view, moment, texts[language], allWords[language]);
  return JSON.parse(JSON.stringify(made).replace(/[\u00a0\u202f]/g, ' ').replaceAll('\u2060', ''));
};
