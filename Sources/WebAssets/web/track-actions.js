// The customer's actions: leave the rider a note, and cancel while the status allows it. The gateway reports which are possible
// (`can` of the rendered page); an action that it would refuse is not offered.

import {make} from './page.js';
import {tabStorage} from './page-storage.js';
import {send} from './track-request.js';
import {OVER} from './track-story.js';

const requestKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Maximum length of a note in characters. */
export const LONGEST_NOTE = 280;
/** Requests to save a note. Each but the last was refused because the job has changed, but not its note. */
const MOST_TRIES = 3;

/**
 * What is offered now.
 *
 * @param can `{note?, cancelFrom?}` of the gateway, or null
 * @param view of the job
 */
export function offered(can, {status, ended, known}) {
  const isOpen = known && !ended && !OVER.includes(status);
  return {note: isOpen && typeof can?.note === 'string', cancel: isOpen && Boolean(can?.cancelFrom?.includes(status))};
}

export class CustomerActions {
  // 'note', 'cancel' or null.
  #open = null;
  #isBusy = false;
  #failure = '';
  #drawn = '';
  #note = '';
  // Text that was typed but not saved, even before the page was loaded in another language; or null.
  #draft = null;
  // The key of the cancellation, so that a repeated request cancels only once.
  #key = null;
  #state = {offers: {note: false, cancel: false}, kind: 'delivery'};

  /**
   * @param panel may be missing on an operator's own page.
   * @param {{words: object, job: string, header: () => string, say: (text: string) => void, read: () => Promise<object|null>,
   *   after: HTMLElement}} with `header` for `Authorization`; `read` calls `show` with the gateway's current state and returns
   *   it; `after` gets the keyboard focus when the panel disappears
   */
  constructor(panel, {words, job, header, say, read, after, request = send, makeKey = requestKey}) {
    Object.assign(this, {panel, words, job, header, say, read, after, request, makeKey, draftKey: `enroute-note-${job}`});
    [this.#draft, this.#note] = JSON.parse(tabStorage().getItem(this.draftKey)) ?? [null, ''];
  }

  /** @param can `{note?, cancelFrom?, tag?}`, or null @param view of the job */
  show(can, view) {
    if (!this.panel) return;
    if (can !== this.can) this.#take(can?.note ?? '');
    this.can = can;
    const offers = offered(can, view);
    this.#state = {offers, kind: view.kind ?? 'delivery'};
    if (this.#open && !offers[this.#open]) this.#forget();
    if (offers.note && this.#draft !== null) this.#open = 'note';
    this.#draw();
  }

  /** Takes the stored note. Somebody who has typed another one meanwhile sees it before they replace it. */
  #take = (note) => {
    const isOther = note && note !== this.#note && note !== this.#draft?.trim();
    if (isOther && this.#draft !== null) this.#failure = `${this.words.noteChanged}\n${note}`;
    this.#note = note;
  };

  #forget = () => {
    [this.#open, this.#failure, this.#draft] = [null, '', null];
    tabStorage().removeItem(this.draftKey);
  };

  #draw = (focus = null) => {
    const {offers, kind} = this.#state;
    const drawn = JSON.stringify([offers, kind, this.#open, this.#isBusy, this.#failure, this.#note]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const focused = this.panel.contains(document.activeElement) ? document.activeElement.id : null;
    this.panel.hidden = !offers.note && !offers.cancel;
    this.panel.replaceChildren(...[
      ...(offers.note ? this.#open === 'note' ? this.#form(kind) : this.#reading(kind) : []),
      ...(offers.cancel && this.#open !== 'note' ? this.#open === 'cancel' ? this.#confirmation(kind) : [this.#opener(
        'cancel', this.words.cancel[kind])] : []),
      this.#failure && make('p', {class: 'failure', role: 'alert'}, this.#failure),
    ].filter(Boolean));
    const next = focus ?? (focused ? `#${focused}` : null);
    const [found, button] = [next, 'button'].map((one) => one && this.panel.querySelector(one));
    if (next) (found ?? button ?? this.after)?.focus({preventScroll: !button});
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
    // Another tab or device may have changed the note.
    else this.read();
  }, 'plain');

  #reading = (kind) => (this.#note ? [
    make('div', {class: 'lines'}, make('h2', {}, this.words.yourNote[kind]), make('p', {id: 'own-note'}, this.#note)),
    this.#opener('note', this.words.changeNote),
  ] : [this.#opener('note', this.words.addNote[kind])]);

  #form = (kind) => {
    const text = make('textarea', {id: 'note-text', rows: 3, maxlength: LONGEST_NOTE, 'aria-describedby': 'note-hint'});
    text.value = this.#draft ?? this.#note;
    text.addEventListener('input', () => {
      this.#draft = text.value;
      tabStorage().setItem(this.draftKey, JSON.stringify([text.value, this.#note]));
    });
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
    this.#forget();
    this.#draw(focus);
  };

  #ask = async (method, path, body, more) => {
    [this.#isBusy, this.#failure] = [true, ''];
    for (const button of this.panel.querySelectorAll('button')) button.setAttribute('aria-disabled', 'true');
    const status = await this.request(method, `jobs/${encodeURIComponent(this.job)}/${path}`, body, this.header(), more);
    this.#isBusy = false;
    for (const button of this.panel.querySelectorAll('button')) button.removeAttribute('aria-disabled');
    return status;
  };

  #save = async (note) => {
    if (note === this.#note) return this.#close('#note-open');
    const before = this.#note;
    let status = 412;
    for (let tries = 0; status === 412 && tries < MOST_TRIES; tries += 1) {
      // The status and the details of the job may have changed, or the note, or this is a request whose response was lost.
      if (tries > 0 && !await this.read()) break;
      if (this.#note === note) status = 200;
      else if (this.#note !== before && this.#note) return;
      else status = await this.#ask('PUT', 'note', {note}, this.can?.tag && {'If-Match': this.can.tag});
    }
    if (![200, 202].includes(status)) return this.#failed('note', status, [404, 409]);
    this.#note = note;
    this.say(note ? this.words.noteSaved : this.words.noteRemoved);
    this.#close('#note-open');
  };

  #cancel = async () => {
    this.#key ??= this.makeKey();
    const status = await this.#ask('POST', 'status', {status: 'cancelled'}, {'Idempotency-Key': this.#key});
    // The status arrives as a message, and then these actions are no longer offered.
    if ([200, 202].includes(status)) return this.#close(null);
    this.#failed('cancel', status, [403, 404, 409]);
    if (status !== 0) this.#key = null;
  };

  #failed = (what, status, tooLate) => {
    const {words} = this;
    if (this.#open !== what) return;
    this.#failure = tooLate.includes(status) ? words.tooLate[what] : status === 401 ? words.signInExpired : words.actionFailed;
    this.#draw(what === 'note' ? '#note-save' : '#cancel-keep');
  };
}
