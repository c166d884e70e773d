// The promise and its outcome: the promised window, an apology when it cannot be kept, who came and how long it took. Nothing
// here uses a document or a clock.

import {clockText} from './enroute-words.js';
import {isolated} from './page-lists.js';
import {dayOf, spanTexts} from './page-times.js';

/** ms by which an expected arrival may be after the promised time before the page apologizes. */
export const SLACK = 60_000;
/** Longest duration in ms that is shown: an order for tomorrow did not take a day. */
export const LONGEST_TOLD = 3 * 3_600_000;

/** Two times as a range: 6:36 – 6:43 AM. Where the day has 24 hours, some languages would add a word: 06:36–06:43 Uhr. */
export function timesText(from, until, locale, timeZone) {
  const format = new Intl.DateTimeFormat(locale, {timeStyle: 'short', timeZone});
  if (format.resolvedOptions().hour12) return format.formatRange(from, until);
  return [...new Set([from, until].map((at) => clockText(at, locale, timeZone)))].join('–');
}

/** A window of time, with the date unless it is today or near `now`. */
export function windowText(window, {now, locale, timeZone}) {
  if (!window) return '';
  const {from, until} = window;
  const range = spanTexts(window, now, locale, timeZone).join(' – ');
  if (range !== [from, until].map((at) => clockText(at, locale, timeZone)).join(' – ')) return range;
  // Across midnight `formatRange` would add dates.
  const short = dayOf(from, timeZone) === dayOf(until, timeZone) ? timesText(from, until, locale, timeZone) : range;
  // Keeps a short range on one line: a line can break after a dash, even before a no-break space.
  return short.replace(/[ \u2009]/g, '\u00a0').replace('–', '–\u2060');
}

/**
 * Admits that the promised time has passed or cannot be kept; empty while it can. Once admitted, only an arrival time that
 * keeps the promise changes that.
 *
 * @param admitted the promise that could not be kept when the page was last rendered
 * @param time the text of a time
 */
export function apologyText(view, {eta, serverTime, isLate, admitted}, time, words) {
  const until = view.display?.window?.until;
  const expected = eta?.state === 'ok' && !isLate ? Math.max(eta.arrivesAt, serverTime)
    : until === admitted ? Infinity : serverTime;
  return expected > until + SLACK ? words.apology(time(until)) : '';
}

/** Says who came and how long it took, as far as it is known. */
export function outcome(view, {kind, story, locale}, words) {
  const [from, to] = kind === 'delivery' ? ['pending_vendor_acceptance', 'delivered'] : ['work_in_progress', 'completed'];
  const took = story.times[to] - story.times[from];
  const time = took >= 60_000 && took <= LONGEST_TOLD ? durationText(took, locale) : '';
  const which = story.rider && time ? 'both' : story.rider ? 'name' : time ? 'time' : null;
  return which ? words.outcome[kind][which](...[isolated(story.rider), time].filter(Boolean)) : '';
}

const durationText = (ms, locale) =>
  new Intl.NumberFormat(locale, {style: 'unit', unit: 'minute', unitDisplay: 'long'}).format(Math.round(ms / 60_000));
