// The card of jobs that need attention: the most urgent first, with the reason and since when. New ones are announced, and
// with a sound if the dispatcher enables it.

import {deviceStorage} from './page-storage.js';
import {locale, make} from './page.js';
import {labelOf} from './ops-attention.js';
import {lateText} from './ops-columns.js';
import {clear, minutesAgo, replace} from './ops-panels.js';

const SHOWN = 30;
const STORED_AS = 'enroute.ops.sound';
const number = new Intl.NumberFormat(locale);

/** Two short tones, made by the browser: no file, and nothing is played before the dispatcher switches it on. */
export class Chime {
  #context = null;

  /** A browser plays nothing before somebody uses the page, so this follows a click or a key. */
  wake() {
    const Context = globalThis.AudioContext;
    if (!Context) return;
    this.#context ??= new Context();
    this.#context.resume?.().catch(() => { /* stays silent */ });
  }

  play() {
    const context = this.#context;
    if (context?.state !== 'running') return;
    for (const [at, frequency] of [[0, 660], [0.18, 880]]) {
      const [tone, volume] = [context.createOscillator(), context.createGain()];
      const start = context.currentTime + at;
      tone.frequency.value = frequency;
      volume.gain.setValueAtTime(0.0001, start);
      volume.gain.exponentialRampToValueAtTime(0.2, start + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, start + 0.16);
      tone.connect(volume).connect(context.destination);
      tone.start(start);
      tone.stop(start + 0.18);
    }
  }
}

/** What makes an entry new: its job and reason, and for a late job what was promised. */
const keyOf = ({row, reason}) => `${row.job} ${reason}${reason === 'late' ? row.promisedBy : ''}`;

/** Returns the new entries of a queue. @param known null before the first queue */
export function news(known, entries) {
  return known === null ? [] : entries.filter((entry) => !known.has(keyOf(entry)));
}

/**
 * Returns the entries that were announced. An expected arrival can be missing for a while, so a late job stays known while
 * it is open.
 */
export const knownAfter = (known, entries, isOpen) => new Set([
  ...[...known ?? []].filter((key) => key.includes(' late') && isOpen(key.split(' ')[0])), ...entries.map(keyOf)]);

export class QueueCard {
  #known = null;
  #isLoud;
  /** Null while the queue is unknown, and the card is empty. */
  #entries = null;

  /** @param link `link(job)` returns an address; `say(text)` announces */
  constructor(panel, {words, link, say, chime = new Chime(), storage = deviceStorage()}) {
    Object.assign(this, {panel, words, link, say, chime, storage});
    this.#isLoud = this.#stored() === 'on';
    const wake = () => { if (this.#isLoud) this.chime.wake(); };
    for (const type of ['pointerdown', 'keydown']) addEventListener(type, wake, {passive: true});
  }

  /** Starts again, for another zone: its queue is unknown, and then its current entries are not new. */
  clear() { this.#known = this.#entries = null; }

  /** @param entries of `JobList.queue` @param isOpen whether a job is still listed */
  take(entries, isOpen) {
    const added = news(this.#known, entries);
    this.#known = knownAfter(this.#known, entries, isOpen);
    this.#entries = entries;
    if (added.length === 0) return;
    const [{row, reason}] = added;
    this.say(added.length === 1 ? this.words.newInQueue(labelOf(row), this.words.reasonsWhy[reason])
      : this.words.newInQueueMany(number.format(added.length)));
    if (this.#isLoud) this.chime.play();
  }

  /** @param chosen the open job, or null */
  render(now, chosen) {
    const {words} = this;
    if (!this.#entries) {
      clear(this.panel);
      return;
    }
    const shown = this.#entries.slice(0, SHOWN).map(({row, reason, since}) => ({
      job: row.job, label: labelOf(row), reason, rider: row.rider ?? '',
      ago: reason === 'late' ? lateText(row, now, words) : minutesAgo(now - since),
    }));
    const more = this.#entries.length - shown.length;
    replace(this.panel, [shown, more, chosen, this.#isLoud, this.link('')], () => [
      make('div', {class: 'head'},
        make('h2', {id: 'queue-title'}, `${words.needs.attention} `,
          make('span', {class: 'tally'}, number.format(this.#entries.length))),
        this.#soundSwitch()),
      shown.length === 0 ? make('p', {class: 'quiet calm'}, words.nothingNeeded)
        : make('ol', {class: 'queue'}, ...shown.map((entry) => this.#item(entry, chosen))),
      ...(more > 0 ? [make('p', {class: 'quiet'}, words.more(number.format(more)))] : []),
    ]);
  }

  #item = ({job, label, reason, rider, ago: since}, chosen) => {
    const {words} = this;
    const anchor = make('a', {href: this.link(job), 'aria-current': job === chosen ? 'true' : null},
      make('b', {title: job}, label), make('span', {class: 'since'}, since),
      make('span', {class: 'why', 'data-kind': 'bad'}, words.reasonsWhy[reason]), make('span', {class: 'who'}, rider));
    anchor.dataset.job = anchor.dataset.place = job;
    return make('li', {'data-reason': reason}, anchor);
  };

  #soundSwitch = () => {
    const button = make('button', {type: 'button', class: 'plain', role: 'switch', 'aria-checked': String(this.#isLoud)}, this.words.sound);
    button.dataset.place = 'sound';
    button.addEventListener('click', () => {
      this.#isLoud = !this.#isLoud;
      try { this.storage.setItem(STORED_AS, this.#isLoud ? 'on' : 'off'); } catch { /* lasts as long as the page */ }
      if (this.#isLoud) {
        this.chime.wake();
        this.chime.play();
      }
      this.say(this.#isLoud ? this.words.soundOn : this.words.soundOff);
      button.setAttribute('aria-checked', String(this.#isLoud));
    });
    return button;
  };

  #stored = () => {
    try { return this.storage.getItem(STORED_AS); } catch { return null; }
  };
}
