// The columns of the job table: what a cell says, and which color it has.

import {locale} from './page.js';
import {timeText} from './page-times.js';
import {isWithoutRider, labelOf, lateness, namesOf, overdue} from './ops-attention.js';
import {clock} from './ops-polling.js';

const number = new Intl.NumberFormat(locale);

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

/** When the customer was promised the job, and how late it is; without a promise, when it is expected. */
function dueText(row, words) {
  const late = lateness(row, clock());
  if (late?.state === 'late') return words.lateBy(number.format(Math.max(1, Math.round(late.by / 60_000))));
  const at = row.promisedBy ?? row.arrivesAt;
  return at ? timeText(at, clock(), locale) : '';
}
