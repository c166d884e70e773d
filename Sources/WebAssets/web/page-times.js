// Times as all pages write them: a job may be promised for another day.

import {clockText} from './enroute-words.js';

/** ms around now in which a time needs no date, although midnight may be between. */
export const NEAR = 12 * 3_600_000;

export const dayOf = (time, timeZone) => new Intl.DateTimeFormat('en-CA', {timeZone}).format(time);

/** A time, with the date unless it is on the same day as `now` or near it. @param timeZoneName of Intl, if the zone is shown */
export function timeText(at, now, locale, timeZone, timeZoneName) {
  const isNear = Math.abs(at - now) < NEAR || dayOf(at, timeZone) === dayOf(now, timeZone);
  if (isNear && !timeZoneName) return clockText(at, locale, timeZone);
  const date = isNear ? {} : {month: 'short', day: 'numeric'};
  return new Intl.DateTimeFormat(locale, {...date, hour: 'numeric', minute: '2-digit', timeZone, timeZoneName}).format(at);
}

/**
 * The first and the last time of a window. If the clocks change in between, both name their time zone, because 1:15 AM may be
 * later than 1:30 AM.
 */
export function spanTexts({from, until}, now, locale, timeZone) {
  const offset = (at) => new Date(at).getTimezoneOffset();
  const name = offset(from) === offset(until) ? undefined : 'short';
  return [timeText(from, now, locale, timeZone, name), timeText(until, from, locale, timeZone, name)];
}
