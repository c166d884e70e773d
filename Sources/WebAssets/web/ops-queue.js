// The card of jobs that need attention: the most urgent first, with the reason and since when. New ones are announced, and
// with a sound if the dispatcher enables it.

import {deviceStorage} from './page-storage.js';
import {locale, make} from './page.js';
import {labelOf, lateness} from './ops-attention.js';
import {replace, shortAgo} from './ops-panels.js';

const SHOWN = 30;
const STORED_AS = 'enroute.ops.sound';
const MINUTE = 60_000;
const number = new Intl.NumberFormat(locale);
const minutes = (ms) => number.format(Math.max(1, Math.round(ms / MINUTE)));

/** To the minute, because a card that changes every second cannot be read. */
const ago = (since, now) => (now - since < MINUTE ? '< 1 min' : shortAgo(Math.floor((now - since) / MINUTE) * MINUTE));

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

/** Returns the new entries of a queue, by job and reason. @param known null before the first queue */
export function news(known, entries) {
  return known === null ? [] : entries.filter(({row, reason}) => !known.has(`${row.job} ${reason}`));
}

export class QueueCard {
  #known = null;
  #isLoud;
  #entries = [];

  /** @param link `link(job)` returns an address; `say(text)` announces */
  constructor(panel, {words, link, say, chime = new Chime(), storage = deviceStorage()}) {
    Object.assign(this, {panel, words, link, say, chime, storage});
    this.#isLoud = this.#stored() === 'on';
    const wake = () => { if (this.#isLoud) this.chime.wake(); };
    for (const type of ['pointerdown', 'keydown']) addEventListener(type, wake, {passive: true});
  }

  /** Starts again, for another zone: its current entries are not new. */
  clear() { this.#known = null; }

  /** @param entries of `JobList.queue` */
  take(entries) {
    const added = news(this.#known, entries);
    this.#known = new Set(entries.map(({row, reason}) => `${row.job} ${reason}`));
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
    const shown = this.#entries.slice(0, SHOWN).map(({row, reason, since}) => ({
      job: row.job, label: labelOf(row), reason, rider: row.rider ?? '',
      ago: reason === 'late' ? words.lateBy(minutes(lateness(row, now)?.by ?? 0)) : ago(since, now),
    }));
    const more = this.#entries.length - shown.length;
    replace(this.panel, [shown, more, chosen, this.#isLoud, this.link('')], () => [
      make('div', {class: 'head'},
        make('h2', {id: 'queue-title'}, `${words.needs.attention} `, make('span', {class: 'tally'}, number.format(this.#entries.length))),
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
