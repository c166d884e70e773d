// A dispatcher's actions for a job: assign it, unassign it, cancel it, set the rider offline, write a note, copy the
// customer's link, open the customer's page. Reversible actions can be undone for some seconds; all others ask first. Refusals
// of the gateway are shown in the page's language.

import {locale, make} from './page.js';
import {distanceText} from './enroute-words.js';
import {labelOf} from './ops-attention.js';
import {gateway} from './page-gateway.js';

/** ms in which an action can be undone. */
export const UNDO_WITHIN = 10_000;
/** Longest note of operations staff, in characters, as the gateway allows. */
export const LONGEST_NOTE = 500;
/** How far from the next stop riders are searched first, m. */
const RADIUS = 15_000;
const RIDERS_SHOWN = 5;
/** Unsaved notes that the page remembers. */
const MOST_DRAFTS = 20;

/** The words for a refusal: by its code, or by its status; never a text of the gateway, which is English. */
export function sentenceOf(error, words) {
  const known = words.problems;
  if (known[error.code]) return known[error.code];
  if (error.status === 0) return known.unreachable;
  return {401: words.signInExpired, 403: known.forbidden, 404: known.not_found, 409: known.conflict, 429: known.rate_limited}[error.status]
    ?? words.actionFailed;
}

/** Assigns a job to a rider, or to nobody, and shows the gateway's response. @param from the rider who has it, or null */
export async function assign({request, assigned}, job, to, from) {
  const answer = await (to === null ? request('DELETE', `jobs/${job}/assignment`)
    : request('PUT', `jobs/${job}/assignment`, {rider: to, ...(from && {insteadOf: from})}));
  assigned(job, answer?.rider ?? to);
}

export class JobActions {
  #job = null;
  /** The question or form that is shown: 'assign', 'cancel', 'unassign', 'offline' or 'note'. */
  #open = null;
  /** Who may get the job; null while they are requested. */
  #riders = null;
  /** The kind of place that they are near to; null for any. */
  #nearTo = null;
  #busy = false;
  /** {text, undo, isProblem, link}. */
  #result = null;
  #timer = null;
  /** Notes as they are being written, by job. */
  #drafts = new Map();
  /** The place that the next rendering moves the focus to. */
  #focused = null;

  /** The note of the open job as the gateway has it; '' for none, null while it is unknown. */
  note = null;

  /**
   * @param request `request(method, path, body)` sends a request to the gateway. `changed()`: the job may have changed;
   *     `assigned(job, rider)`: the gateway has given it to a rider, or to nobody (null).
   * @param place returns where the rider of a row goes next, `{kind, lat, lon}`, or null. `say(text)` announces. `show()`
   *     renders again.
   */
  constructor({words, request, place, assigned, changed, say, show, clipboard = globalThis.navigator?.clipboard}) {
    Object.assign(this, {words, request, place, assigned, changed, say, show, clipboard});
  }

  /** The state that determines how the actions look. */
  get state() {
    return [this.#job, this.#open, this.#riders, this.#busy, this.#result?.text, Boolean(this.#result?.undo), this.note === null,
      this.#hasDraft()];
  }

  /** Another job is open: its actions start from scratch, but earlier actions can still be undone. */
  open(job) {
    this.#job = job;
    [this.#open, this.#riders, this.note, this.typed] = [null, null, null, ''];
  }

  /** Closes the question or form, and moves the focus back to its button. A draft note stays. @returns whether one was open */
  close() {
    if (!this.#open) return false;
    [this.#focused, this.#open] = [this.#open, null];
    this.show();
    return true;
  }

  /** @param row of the list @returns elements */
  elements(row, zone) {
    const {words} = this;
    const [asked, focused] = [this.#open, this.#focused];
    this.#focused = null;
    const result = this.#result ? [this.#resultLine()] : [];
    if (!row) return result;
    const customer = make('a', {
      class: 'button', href: `${gateway}/track/${row.job}`, target: '_blank', rel: 'opener', 'data-place': 'follow',
    }, words.follow);
    const buttons = make('p', {class: 'actions'},
      this.#button('assign', row.rider ? words.reassign : words.assign, () => this.#ask('assign', row, zone), {
        class: row.rider ? '' : 'primary', 'aria-expanded': String(asked === 'assign'),
      }),
      ...(row.rider ? [
        this.#button('unassign', words.unassign, () => this.#ask('unassign'), {'aria-expanded': String(asked === 'unassign')}),
        this.#button('offline', words.setOffline, () => this.#ask('offline'), {'aria-expanded': String(asked === 'offline')}),
      ] : []),
      ...(this.note === null ? [] : [this.#button('note', this.#hasDraft() ? words.continueNote : this.note ? words.editNote : words.addNote, () => {
        this.#focused = 'text';
        this.#ask('note');
      }, {'aria-expanded': String(asked === 'note')})]),
      this.#button('link', words.copyLink, () => this.#copyLink(row)),
      customer,
      this.#button('cancel', words.cancelJob, () => this.#ask('cancel'), {class: 'danger', 'aria-expanded': String(asked === 'cancel')}));
    const questions = {
      assign: () => this.#assignForm(row),
      unassign: () => this.#question(words.unassignWhy(row.rider), words.unassign, () => this.#assign(row, null)),
      offline: () => this.#question(words.offlineWhy(row.rider), words.setOffline, () => this.#setOffline(row)),
      note: () => this.#noteForm(row),
      cancel: () => this.#question(words.cancelWhy(labelOf(row)), words.cancelJob, () => this.#cancel(row)),
    };
    // These elements are on the page only after the rendering is complete.
    if (focused) queueMicrotask(() => buttons.parentElement?.querySelector(`[data-place="${focused}"]`)?.focus());
    return [buttons, ...(asked ? [questions[asked]()] : []), ...result];
  }

  #button = (name, text, action, more = {}) => {
    const button = make('button', {type: 'button', 'aria-disabled': String(this.#busy), 'data-place': name, 'data-action': name, ...more}, text);
    button.addEventListener('click', () => { if (!this.#busy) action(); });
    return button;
  };

  // ---- questions ----

  #ask = (what, row, zone) => {
    this.#open = this.#open === what ? null : what;
    this.#riders = null;
    this.show();
    if (this.#open === 'assign') this.#findRiders(row, zone);
  };

  /** The confirming button comes last, so that a second press of the first button changes nothing. */
  #question = (text, verb, action) => {
    const close = this.#button('keep', this.words.keep, () => this.close());
    return make('div', {class: 'question', role: 'group', 'aria-label': text}, make('p', {}, text),
      make('p', {class: 'actions'}, close, this.#button('confirm', verb, action, {class: 'danger'})));
  };

  #findRiders = async (row, zone) => {
    const {job, rider} = row;
    const at = this.place(row);
    const near = at ? `?near=${at.lat.toFixed(5)},${at.lon.toFixed(5)}&radius=${RADIUS}&limit=${RIDERS_SHOWN}` : '';
    const path = `zones/${encodeURIComponent(zone)}/riders/available`;
    let answer = await this.request('GET', `${path}${near}`).catch(() => null);
    const isNear = near && answer?.riders.length !== 0;
    // No rider has reported a place near here: show the other riders too.
    if (near && !isNear) answer = await this.request('GET', path).catch(() => null);
    if (this.#job !== job || this.#open !== 'assign') return;
    this.#nearTo = isNear ? at.kind : null;
    this.#riders = (answer?.riders ?? []).filter((other) => other.rider !== rider).slice(0, RIDERS_SHOWN);
    this.show();
  };

  #assignForm = (row) => {
    const {words} = this;
    const riders = this.#riders;
    if (riders === null) return make('p', {class: 'question quiet'}, words.reading);
    const id = 'assign-rider';
    const field = make('input', {
      id, name: 'rider', required: true, maxlength: 64, pattern: '[A-Za-z0-9_\\-]{1,64}', autocomplete: 'off',
      autocapitalize: 'none', spellcheck: 'false', 'data-place': 'rider', value: this.typed ?? '',
    });
    field.addEventListener('input', () => { this.typed = field.value; });
    const quick = riders.map(({rider, distance}) => this.#button(`to ${rider}`,
      distance === undefined ? rider : `${rider} · ${distanceText(distance, locale)}`, () => this.#assign(row, rider)));
    const form = make('form', {class: 'question'},
      make('p', {}, riders.length === 0 ? words.nobodyAvailable : words.nearestTo[this.#nearTo] ?? words.available),
      ...(quick.length ? [make('p', {class: 'actions'}, ...quick)] : []),
      make('label', {for: id}, words.otherRider),
      make('p', {class: 'actions'}, field, make('button', {type: 'submit', class: 'primary', 'data-place': 'submit'}, words.assign)));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (!this.#busy && field.value.trim()) this.#assign(row, field.value.trim());
    });
    return form;
  };

  #noteForm = (row) => {
    const {words} = this;
    const id = 'operations-note';
    const field = make('textarea', {id, rows: 3, maxlength: LONGEST_NOTE, 'data-place': 'text', 'aria-describedby': 'note-hint'});
    field.value = this.#drafts.get(row.job) ?? this.note;
    field.addEventListener('input', () => this.#draft(row.job, field.value));
    const form = make('form', {class: 'question'}, make('label', {for: id}, words.operationsNote), field,
      make('p', {id: 'note-hint', class: 'quiet'}, words.noteHint),
      make('p', {class: 'actions'}, this.#button('keep', words.discard, () => {
        this.#drafts.delete(row.job);
        this.close();
      }),
        make('button', {type: 'submit', class: 'primary', 'data-place': 'submit'}, words.save)));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (!this.#busy) this.#writeNote(row, field.value.trim());
    });
    return form;
  };

  /** Whether there is an unfinished note that is not shown. */
  #hasDraft = () => this.#open !== 'note' && this.#drafts.has(this.#job);

  /** Keeps the newest drafts. */
  #draft = (job, text) => {
    this.#drafts.delete(job);
    if (text !== this.note) this.#drafts.set(job, text);
    if (this.#drafts.size > MOST_DRAFTS) this.#drafts.delete(this.#drafts.keys().next().value);
  };

  // ---- actions ----

  /** Writes or removes the note; the undo restores the one before. */
  #writeNote = ({job}, text) => {
    const before = this.note ?? '';
    const put = (note) => (note === '' ? this.request('DELETE', `jobs/${job}/operations-note`)
      : this.request('PUT', `jobs/${job}/operations-note`, {text: note}));
    const save = async () => {
      await put(text);
      this.#drafts.delete(job);
    };
    return this.#act(save, text === '' ? this.words.noteRemoved : this.words.noteSaved,
      text === before ? null : () => put(before));
  };

  /** Hands the job over as it was shown: if another dispatcher was faster, the gateway refuses. @param rider null for nobody */
  #assign = (row, rider) => {
    const {job, rider: before} = row;
    const put = (to, from) => assign(this, job, to, from);
    const undo = before === undefined && rider === null ? null : () => put(before ?? null, rider);
    const {words} = this;
    return this.#act(() => put(rider, before), words[rider === null ? 'unassigned' : 'assigned'](labelOf(row), rider), undo);
  };

  #cancel = (row) => this.#act(
    () => this.request('POST', `jobs/${row.job}/status`, {status: 'cancelled'}), this.words.cancelled(labelOf(row)));

  #setOffline = ({rider}) => this.#act(
    () => this.request('PATCH', `riders/${rider}/status`, {status: 'offline'}), this.words.isOffline(rider));

  #copyLink = ({job}) => this.#act(async () => {
    const {url} = await this.request('POST', `jobs/${job}/links`);
    const address = gateway + url;
    try {
      await this.clipboard.writeText(address);
      return null;
    } catch {
      // Without the clipboard permission, the dispatcher copies the link from a field.
      return {link: address};
    }
  }, this.words.linkCopied);

  #act = async (action, text, undo = null) => {
    this.#busy = true;
    this.show();
    let result;
    try {
      const more = await action();
      result = {text: more?.link ? this.words.linkMade : text, undo, ...(more?.link && {link: more.link})};
      [this.#open, this.typed] = [null, ''];
    } catch (error) {
      if (typeof error.status !== 'number') throw error;
      result = {text: sentenceOf(error, this.words), isProblem: true};
    } finally {
      this.#busy = false;
    }
    this.#set(result);
    this.changed();
  };

  #set = (result) => {
    clearTimeout(this.#timer);
    this.#result = result;
    if (result) this.say(result.text);
    // A problem or a link stays until the next action.
    if (result && !result.isProblem && !result.link) this.#timer = setTimeout(() => { this.#result = null; this.show(); }, UNDO_WITHIN);
    this.show();
  };

  #resultLine = () => {
    const {text, undo, isProblem, link} = this.#result;
    const line = make('div', {class: isProblem ? 'result problem' : 'result'}, make('p', {}, text));
    if (undo) line.append(this.#button('undo', this.words.undo, () => this.#act(undo, this.words.undone)));
    if (link) line.append(make('input', {readonly: true, value: link, 'aria-label': this.words.linkMade, 'data-place': 'address'}));
    if (isProblem || link) line.append(this.#button('dismiss', this.words.dismiss, () => this.#set(null), {class: 'plain'}));
    return line;
  };
}
