// One open job: its full row, its status log and the verdicts on its positions. Its link can be shared. The close button
// comes first.

import {locale, make} from './page.js';
import {distanceText} from './enroute-words.js';
import {contactLink} from './page-contact.js';
import {listed} from './page-lists.js';
import {spanTexts, timeText} from './page-times.js';
import {TARGETS, lateness, namesOf, overdue} from './ops-attention.js';
import {lateText} from './ops-columns.js';
import {replace, shortAgo, verdictText} from './ops-panels.js';
import {clock} from './ops-polling.js';

const number = new Intl.NumberFormat(locale);
const time = (at) => timeText(at, clock(), locale);
const minutes = (ms) => number.format(Math.max(1, Math.round(ms / 60_000)));

/** The promised window. Its end has a date of its own only if it is on another day than its start. */
const windowText = (window) => spanTexts(window, clock(), locale).join(' – ');

/** Since when a job has its status, and the target if it has one. */
const sinceText = (row, now, words) => {
  const [at, target] = [time(row.statusAt), TARGETS[row.status]];
  return target ? words.sinceTarget(at, minutes(now - row.statusAt), minutes(target)) : at;
};

const joined = (...texts) => listed(texts);

/** The text of an entry of the log. Late entries never were the job's status. @param name of a status */
export const entryText = ({status, late, assigned, corrected, reason}, words, name) => joined(
  ...(assigned ? Object.entries(assigned).map(([who, person]) => `${words.columns[who]} ${person ?? '–'}`) : [name(status)]),
  late && words.reportedLate, corrected && words.insteadOf(name(corrected)), reason);

/** A telephone number or an https address is a link, whose text can be read out and dialled elsewhere. */
const contact = (uri) => contactLink(uri, '', {call: () => uri.slice('tel:'.length), write: () => uri.slice('https://'.length)}) ?? uri;
const anchor = ({href, text}) => make('a', {href, ...(href.startsWith('https:') && {target: '_blank', rel: 'noopener'})}, text);

export class JobPanel {
  #log = null;
  #verdicts = null;
  #details = null;
  #note = null;
  #job = null;
  #isEntered = false;

  /**
   * @param texts of statuses, or null; `close()` closes the panel; `actions`: what can be done with the job; `ahead` receives
   *     the route of its rider, or null
   */
  constructor(panel, {words, close, actions, ahead}) {
    Object.assign(this, {panel, words, close, actions, ahead, texts: null});
  }

  /** The open job. The log and verdicts are those of the previous job until new ones arrive. */
  get job() { return this.#job; }

  open(job) {
    if (job === this.#job) return;
    this.#job = job;
    this.#log = this.#verdicts = this.#details = this.#note = null;
    this.panel.hidden = job === null;
    this.actions.open(job);
  }

  /** Requests the details that the list does not contain. */
  async ask(poller, isCurrent) {
    const job = this.#job;
    if (!job) return;
    const answers = await Promise.all(['/log', '/verdicts', '', '/operations-note'].map(
      (part) => poller.get(`jobs/${job}${part}`))).catch((error) => {
      // Nothing of an erased job stays on the page.
      if (error.status === 404) return [];
      throw error;
    });
    if (!isCurrent() || this.#job !== job) return;
    [this.#log, this.#verdicts, this.#details, this.#note] = answers;
    this.actions.note = this.#note?.text ?? '';
  }

  /** Moves the focus into the panel with the next rendering. */
  focus() { this.#isEntered = true; }

  /** @param row of the list, or null if the job is not (or no longer) open in this zone. */
  show(row, now, zone) {
    const [job, words] = [this.#job, this.words];
    // A route may still arrive for a job that has ended.
    const route = job && row ? this.#details?.eta?.route ?? null : null;
    this.ahead(route);
    if (!job) return;
    const facts = [...(row ? this.#facts(row, now, route) : []), ...this.#written()];
    const entries = (this.#log?.events ?? []).slice().reverse();
    const counts = this.#verdicts?.counts ?? [];
    const title = namesOf({job, display: this.#details?.display ?? row?.display});
    replace(this.panel, [title, facts, entries, counts, Boolean(row), this.actions.state, this.#note?.text], () => {
      const button = make('button', {type: 'button', class: 'plain'}, words.close);
      button.dataset.place = 'close';
      button.addEventListener('click', () => this.close());
      return [
        make('div', {class: 'head'}, make('h2', {id: 'job-title'}, title), button),
        ...(row ? [] : [make('p', {class: 'quiet'}, words.gone)]),
        ...this.actions.elements(row, zone),
        ...(this.#note?.text ? [make('div', {class: 'question', id: 'note-shown'},
          make('p', {class: 'quiet'}, `${words.operationsNote} · ${this.#note.by}, ${time(this.#note.at)}`),
          make('p', {class: 'written'}, this.#note.text))] : []),
        make('dl', {class: 'facts'}, ...facts.flatMap(([name, value, kind]) => [
          make('dt', {}, name),
          make('dd', {'data-kind': kind}, value.href ? anchor(value) : value)])),
        ...(entries.length === 0 ? [] : [
          make('h3', {}, words.history),
          make('ol', {class: 'plainlist'}, ...entries.map((entry) => make('li', {},
            make('time', {class: 'quiet'}, time(entry.at)), ` ${entryText(entry, words, this.#status)}`,
            entry.actor ? make('span', {class: 'quiet'}, ` ${words.actor} ${entry.actor}`) : '')))]),
        ...(counts.length === 0 ? [] : [
          make('h3', {}, words.verdicts),
          make('dl', {class: 'facts'}, ...counts.flatMap(({verdict, count}) => [
            make('dt', {}, ...verdictText(verdict, words)), make('dd', {}, number.format(count))]))]),
      ];
    });
    if (this.#isEntered) this.panel.querySelector('button').focus();
    this.#isEntered = false;
  }

  #status = (status) => this.texts?.statuses?.[status]?.short ?? status;

  /** The details of the job and its rider that the order system wrote. */
  #written = () => {
    const {words} = this;
    const {riderCard: card, display, metadata, customerNote, recipient, vendor, vendorAddress} = this.#details ?? {};
    return [
      (vendor || vendorAddress) && [words.vendor, joined(vendor, vendorAddress)],
      (recipient?.address || recipient?.floor) && [words.destination, joined(recipient.address, recipient.floor)],
      card && [words.card, listed([card.name, words.vehicles[card.vehicle], card.plate], ' · ') || '–'],
      card?.contact && [words.contact, contact(card.contact)],
      display?.items && [words.items, listed(display.items)],
      display?.window && [words.window, windowText(display.window)],
      display?.note && [words.note, display.note],
      recipient?.name && [words.recipient, recipient.name],
      recipient?.contact && [words.recipientContact, contact(recipient.contact)],
      customerNote && [words.customerNote, customerNote],
      ...Object.entries(metadata ?? {}),
    ].filter(Boolean);
  };

  #facts = (row, now, route) => {
    const words = this.words;
    const tracking = `${words.trackings[row.tracking]}${row.reason ? ` (${row.reason})` : ''}`;
    return [
      [words.kind, words.kinds[row.kind] ?? row.kind],
      [words.status, this.#status(row.status)],
      row.geocoding && [words.destination, words.reasonsWhy.address, 'bad'],
      [words.columns.since, sinceText(row, now, words), overdue(row, now) > 0 && TARGETS[row.status] > 0 ? 'bad' : undefined],
      row.promisedBy && [words.promisedBy, time(row.promisedBy)],
      row.arrivesAt && [words.expected, time(row.arrivesAt)],
      route && [words.wayAhead, distanceText(route.meters, locale)],
      lateness(row, now)?.state === 'late' && [words.columns.due, lateText(row, now, words), 'bad'],
      [words.columns.tracking, tracking, row.tracking],
      row.unavailable && [words.unavailable, `${words.reasons[row.unavailable] ?? row.unavailable} (${row.unavailable})`],
      row.seenAt && [words.columns.seen, shortAgo(Math.floor((now - row.seenAt) / 5_000) * 5_000)],
      row.proximity && [words.proximities[row.proximity] ?? row.proximity, '●'],
      row.deadline && [words.deadline, time(row.deadline)],
      [words.columns.rider, row.rider ?? '–'],
      [words.columns.customer, row.customer],
      [words.columns.followers, number.format(row.followers)],
    ].filter(Boolean);
  };
}
