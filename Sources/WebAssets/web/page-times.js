// Times as all pages write them: a job may be promised for another day.

import {clockText} from './enroute-words.js';

/** ms around now in which a time needs no date, although midnight may be between. */
export const NEAR = 12 * 3_600_000;

/** A time, with the date unless it is on the same day as `now` or near it. */
export function timeText(at, now, locale, timeZone) {
  const day = (time) => new Intl.DateTimeFormat('en-CA', {timeZone}).format(time);
  if (Math.abs(at - now) < NEAR || day(at) === day(now)) return clockText(at, locale, timeZone);
  const options = {month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', timeZone};
  return new Intl.DateTimeFormat(locale, options).format(at);
}
