// The customer's actions: leave the rider a note, and cancel while the status allows it. The gateway says which are possible
// (`can` of the rendered page); an action that it would refuse is not offered.

import {make} from './page.js';
import {gateway} from './page-gateway.js';

const requestKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Maximum length of a note in characters. */
export const LONGEST_NOTE = 280;
/** ms after which a request without an answer has failed. */
const GIVE_UP = 10_000;

/**
 * What is offered now.
 *
 * @param can `{note?, cancelFrom?}` of the gateway, or null
 * @param view of the job
 */
export function offered(can, {status, ended, known}) {
  const isOpen = known && !ended && !['delivered', 'completed', 'cancelled'].includes(status);
  return {note: isOpen && typeof can?.note === 'string', cancel: isOpen && Boolean(can?.cancelFrom?.includes(status))};
}

/** The request of the gateway's REST interface. @returns its status; 0 without an answer */
export async function send(method, path, body, header, key) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), GIVE_UP);
  try {
    const headers = {Authorization: header, 'Content-Type': 'application/json', ...(key && {'Idempotency-Key': key})};
    const answer = await fetch(`${gateway}/api/v1/${path}`, {
      method, headers, body: JSON.stringify(body), signal: abort.signal,
    });
    return answer.status;
  } catch {
    return 0;
  } finally {
    clearTimeout(timer);
  }
}

export class CustomerActions {
  // 'note', 'cancel' or null.
  #open = null;
  #isBusy = false;
  #failure = '';
  #drawn = '';
  #note = '';
  // The key of the cancellation, so that a repeated request cancels only once.
  #key = null;
  #state = {offers: {note: false, cancel: false}, kind: 'delivery'};

  /**
   * @param panel may be missing on an operator's own page.
   * @param {{words: object, job: string, header: () => string, say: (text: string) => void}} with `header` for `Authorization`
   */
  constructor(panel, {words, job, header, say, request = send, makeKey = requestKey}) {
    Object.assign(this, {panel, words, job, header, say, request, makeKey});
  }

  /** @param can `{note?, cancelFrom?}`, or null @param view of the job */
  show(can, view) {
    if (!this.panel) return;
    if (can !== this.can) this.#note = can?.note ?? '';
    this.can = can;
    const offers = offered(can, view);
    this.#state = {offers, kind: view.kind ?? 'delivery'};
    if (this.#open && !offers[this.#open]) [this.#open, this.#failure] = [null, ''];
    this.#draw();
  }

  #draw = (focus = null) => {
    const {offers, kind} = this.#state;
    const drawn = JSON.stringify([offers, kind, this.#open, this.#isBusy, this.#failure, this.#note]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const focused = this.panel.contains(document.activeElement) ? document.activeElement.id : null;
    const typed = this.panel.querySelector('textarea')?.value ?? null;
    this.panel.hidden = !offers.note && !offers.cancel;
    this.panel.replaceChildren(...[
      ...(offers.note ? this.#open === 'note' ? this.#form(kind) : this.#reading(kind) : []),
      ...(offers.cancel && this.#open !== 'note' ? this.#open === 'cancel' ? this.#confirmation(kind) : [this.#opener(
        'cancel', this.words.cancel[kind])] : []),
      this.#failure && make('p', {class: 'failure', role: 'alert'}, this.#failure),
    ].filter(Boolean));
    // Text that somebody has typed stays when something else changes, and so does the focus.
    const field = this.panel.querySelector('textarea');
    if (field && typed !== null) field.value = typed;
    const next = focus ?? (focused ? `#${focused}` : null);
    if (next) (this.panel.querySelector(next) ?? this.panel.querySelector('button'))?.focus();
  };

  #button = (id, text, act, kind = '') => {
    const button = make('button', {type: 'button', id, class: kind, 'aria-disabled': this.#isBusy && 'true'}, text);
    button.addEventListener('click', () => { if (!this.#isBusy) act(); });
    return button;
  };

  #opener = (what, text) => this.#button(`${what}-open`, text, () => {
    [this.#open, this.#failure] = [what, ''];
    this.#draw(what === 'note' ? 'textarea' : '#cancel-keep');
    if (what === 'cancel') this.say(this.words.cancelAsk[this.#state.kind]);
  }, 'plain');

  #reading = (kind) => (this.#note ? [
    make('div', {class: 'lines'}, make('h2', {}, this.words.yourNote[kind]), make('p', {id: 'own-note'}, this.#note)),
    this.#opener('note', this.words.changeNote),
  ] : [this.#opener('note', this.words.addNote[kind])]);

  #form = (kind) => {
    const text = make('textarea', {id: 'note-text', rows: 3, maxlength: LONGEST_NOTE, 'aria-describedby': 'note-hint'});
    text.value = this.#note;
    return [
      make('label', {for: 'note-text'}, this.words.yourNote[kind]), text,
      make('p', {id: 'note-hint', class: 'quiet'}, this.words.noteHint[kind]),
      make('div', {class: 'row'},
        this.#button('note-save', this.words.save, () => this.#save(text.value.trim()), 'primary'),
        this.#button('note-back', this.words.back, () => this.#close('#note-open'), 'plain')),
    ];
  };

  #confirmation = (kind) => [
    make('p', {id: 'cancel-question'}, this.words.cancelAsk[kind]),
    make('div', {class: 'row', role: 'group', 'aria-labelledby': 'cancel-question'},
      this.#button('cancel-keep', this.words.keep[kind], () => this.#close('#cancel-open')),
      this.#button('cancel-confirm', this.words.cancelYes[kind], () => this.#cancel(), 'danger')),
  ];

  #close = (focus) => {
    [this.#open, this.#failure] = [null, ''];
    this.#draw(focus);
  };

  #ask = async (method, path, body, key) => {
    [this.#isBusy, this.#failure] = [true, ''];
    for (const button of this.panel.querySelectorAll('button')) button.setAttribute('aria-disabled', 'true');
    const status = await this.request(method, `jobs/${encodeURIComponent(this.job)}/${path}`, body, this.header(), key);
    this.#isBusy = false;
    for (const button of this.panel.querySelectorAll('button')) button.removeAttribute('aria-disabled');
    return status;
  };

  #save = async (note) => {
    if (note === this.#note) return this.#close('#note-open');
    const status = await this.#ask('PUT', 'note', {note}, null);
    if (![200, 202].includes(status)) return this.#failed('note', [404, 409].includes(status));
    this.#note = note;
    this.say(note ? this.words.noteSaved : this.words.noteRemoved);
    this.#close('#note-open');
  };

  #cancel = async () => {
    this.#key ??= this.makeKey();
    const status = await this.#ask('POST', 'status', {status: 'cancelled'}, this.#key);
    // The status arrives as a message, and then these actions are no longer offered.
    if ([200, 202].includes(status)) return this.#close(null);
    this.#failed('cancel', [403, 404, 409].includes(status));
    if (status !== 0) this.#key = null;
  };

  #failed = (what, isTooLate) => {
    if (this.#open !== what) return;
    this.#failure = isTooLate ? this.words.tooLate[what] : this.words.actionFailed;
    this.#draw(what === 'note' ? '#note-save' : '#cancel-keep');
  };
}
