// The columns of the job table: what a cell says, and which color it has.

import {locale} from './page.js';
import {timeText} from './page-times.js';
import {isWithoutRider, labelOf, lateness, namesOf, overdue} from './ops-attention.js';
import {clock} from './ops-polling.js';

const number = new Intl.NumberFormat(locale);
/** ms in each of `words.units`. */
const UNITS = [60_000, 3_600_000, 86_400_000];
/** ms from which a delay is written in hours and in days: the column has room for two digits of minutes. */
const LONG = [6_000_000, 172_800_000];

/** How late a job is: `26 h late`, or while its promised time is still ahead, `expected 3 min late`. */
export function lateText(row, now, words) {
  const {by} = lateness(row, now);
  const unit = LONG.filter((ms) => by >= ms).length;
  const delay = `${number.format(Math.max(1, Math.round(by / UNITS[unit])))} ${words.units[unit]}`;
  return words[now > row.promisedBy ? 'lateBy' : 'lateExpected'](delay);
}

/**
 * @param statusText returns the text of a status
 * @param ago returns how long ago a time was
 * @returns for `VirtualTable`: `[{key, title, text(row), kind?(row), tip?(row)}]`
 */
export const columnsOf = ({words, statusText, ago}) => [
  {key: 'job', text: labelOf, tip: namesOf},
  {key: 'tracking', text: (row) => words.trackings[row.tracking] ?? row.tracking, kind: (row) => row.tracking},
  {key: 'unavailable', text: (row) => (row.unavailable ? words.reasons[row.unavailable] ?? row.unavailable : '')},
  {key: 'seen', text: (row) => (row.seenAt ? ago(row.seenAt) : '')},
  {
    key: 'rider', text: (row) => row.rider ?? (isWithoutRider(row, clock()) ? words.needs.no_rider : ''),
    kind: (row) => (isWithoutRider(row, clock()) ? 'bad' : ''),
  },
  {key: 'status', text: (row) => statusText(row.status), kind: (row) => (row.status === 'allocation_failed' ? 'bad' : '')},
  {key: 'since', text: (row) => ago(row.statusAt), kind: (row) => (overdue(row, clock()) > 0 ? 'over' : '')},
  {
    key: 'due', text: (row) => dueText(row, words),
    kind: (row) => ({late: 'bad', risk: 'over'}[lateness(row, clock())?.state] ?? ''),
  },
  {key: 'customer', text: (row) => row.customer},
  {key: 'followers', text: (row) => (row.followers ? number.format(row.followers) : '')},
].map((column) => ({...column, title: words.columns[column.key]}));

/** How late a job is, once its promised time is over; until then the promised time, or without a promise the expected one. */
function dueText(row, words) {
  const [now, at] = [clock(), row.promisedBy ?? row.arrivesAt];
  if (lateness(row, now) && now > at) return lateText(row, now, words);
  return at ? timeText(at, now, locale) : '';
}
