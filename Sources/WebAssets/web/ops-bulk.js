// Actions for several jobs at once: which jobs are selected, and what a dispatcher does with all of them. Each action asks
// first and says how many jobs it changes. A few requests run at a time, and the result names every job, because some may be
// refused.

import {make} from './page.js';
import {labelOf} from './ops-attention.js';
import {UNDO_WITHIN, assign, sentenceOf} from './ops-actions.js';

/** Jobs that may be selected at once. */
export const MOST_SELECTED = 200;
/** Requests in flight at once. */
export const AT_ONCE = 4;
const RIDERS_SHOWN = 8;

/** The selected jobs. */
export class Selection {
  #jobs = new Set();
  #last = null;

  get size() { return this.#jobs.size; }
  get jobs() { return [...this.#jobs]; }
  has(job) { return this.#jobs.has(job); }

  /** @param shown the jobs in the order of the table, for a range from the last change. @returns whether there was room */
  set(job, isOn, {isRange = false, shown = []} = {}) {
    const [from, to] = [shown.indexOf(this.#last), shown.indexOf(job)];
    const jobs = isRange && from >= 0 && to >= 0 ? shown.slice(Math.min(from, to), Math.max(from, to) + 1) : [job];
    this.#last = job;
    return this.setAll(jobs, isOn);
  }

  setAll(jobs, isOn) {
    for (const job of jobs) {
      if (!isOn) this.#jobs.delete(job);
      else if (this.#jobs.size < MOST_SELECTED || this.#jobs.has(job)) this.#jobs.add(job);
      else return false;
    }
    return true;
  }

  /** Drops jobs that are no longer open. */
  prune(isOpen) { for (const job of this.#jobs) if (!isOpen(job)) this.#jobs.delete(job); }

  clear() { this.#jobs.clear(); }
}

/** What the table needs to select rows. @param shown returns the jobs in its order. `changed(hasRoom)`: after each change. */
export const picksOf = ({words, selection, shown, changed}) => ({
  title: words.selectAll, label: (row) => words.select(labelOf(row)), has: (job) => selection.has(job),
  set: (job, isOn, isRange) => changed(selection.set(job, isOn, {isRange, shown: shown()})),
  setAll: (isOn) => changed(selection.setAll(shown(), isOn)),
  state: () => {
    const count = shown().reduce((sum, job) => sum + (selection.has(job) ? 1 : 0), 0);
    return count === 0 ? 'none' : count === shown().length ? 'all' : 'some';
  },
});

/**
 * Runs an action for each item, at most `atOnce` at a time.
 * @returns {Promise<{item: object, error: object|null}[]>} in the order of the items
 */
export async function runAll(items, act, atOnce = AT_ONCE) {
  const results = items.map((item) => ({item, error: null}));
  const waiting = [...results];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      try {
        await act(next.item);
      } catch (error) {
        if (typeof error.status !== 'number') throw error;
        next.error = error;
      }
    }
  };
  await Promise.all(Array.from({length: Math.min(atOnce, items.length)}, work));
  return results;
}

export class BulkBar {
  /** 'assign', 'cancel' or 'offline'. */
  #open = null;
  /** Who gets the jobs, once chosen. */
  #rider = null;
  #riders = null;
  #isBusy = false;
  /** {lines: [{name, text, isProblem}], summary, undo}. */
  #result = null;
  #timer = null;
  #state = '';
  #typed = '';

  /**
   * @param row returns the row of a job, or null. `zone()`: the zone shown. `changed()`: jobs or the selection changed;
   *     `assigned` as for `JobActions`.
   */
  constructor(panel, {words, selection, row, zone, request, assigned, changed, say}) {
    Object.assign(this, {panel, words, selection, row, zone, request, assigned, changed, say});
  }

  /** Starts from scratch: another zone is shown. */
  clear() {
    this.selection.clear();
    [this.#open, this.#rider, this.#result] = [null, null, null];
    clearTimeout(this.#timer);
  }

  render() {
    const {selection, panel} = this;
    const state = JSON.stringify([selection.jobs, this.#open, this.#rider, this.#riders, this.#isBusy, this.#result,
      this.#riderNames()]);
    if (state === this.#state) return;
    this.#state = state;
    const before = document.activeElement;
    const place = panel.contains(before) ? before.dataset.place : null;
    panel.hidden = selection.size === 0 && !this.#result;
    panel.replaceChildren(...this.#elements());
    if (place) (panel.querySelector(`[data-place="${CSS.escape(place)}"]`) ?? panel.querySelector('button'))?.focus({preventScroll: true});
  }

  #riderNames = () => [...new Set(this.selection.jobs.map((job) => this.row(job)?.rider).filter(Boolean))];

  #elements = () => {
    const {words, selection} = this;
    const bar = selection.size === 0 ? [] : [make('p', {class: 'actions'},
      make('b', {class: 'tally'}, words.selected(selection.size)),
      this.#button('assign', words.assign, () => this.#ask('assign'), {'aria-expanded': String(this.#open === 'assign')}),
      ...(this.#riderNames().length > 0 ? [
        this.#button('offline', words.setRidersOffline, () => this.#ask('offline'), {'aria-expanded': String(this.#open === 'offline')}),
      ] : []),
      this.#button('cancel', words.cancelJobs, () => this.#ask('cancel'), {class: 'danger', 'aria-expanded': String(this.#open === 'cancel')}),
      this.#button('clear', words.clearSelection, () => { selection.clear(); this.#open = null; this.changed(); }, {class: 'plain'}))];
    const riders = this.#riderNames();
    const question = selection.size === 0 ? [] : {
      assign: () => [this.#rider === null ? this.#assignForm()
        : this.#question(words.assignAllWhy(selection.size, this.#rider), words.assign, () => this.#assign(this.#rider))],
      cancel: () => [this.#question(words.cancelAllWhy(selection.size), words.cancelJobs, () => this.#cancel())],
      offline: () => [this.#question(words.offlineAllWhy(riders.length), words.setRidersOffline, () => this.#setOffline(riders))],
    }[this.#open]?.() ?? [];
    return [...bar, ...question, ...(this.#result ? [this.#resultList()] : [])];
  };

  #button = (name, text, action, more = {}) => {
    const button = make('button', {type: 'button', 'aria-disabled': String(this.#isBusy), 'data-place': `bulk ${name}`, 'data-bulk': name, ...more}, text);
    button.addEventListener('click', () => { if (!this.#isBusy) action(); });
    return button;
  };

  #ask = (what) => {
    this.#open = this.#open === what ? null : what;
    [this.#rider, this.#riders] = [null, null];
    if (this.#open === 'assign') this.#findRiders();
    this.render();
  };

  /** The safe choice comes first. */
  #question = (text, verb, action) => make('div', {class: 'question', role: 'group', 'aria-label': text}, make('p', {}, text),
    make('p', {class: 'actions'},
      this.#button('keep', this.words.keep, () => { this.#open = null; this.render(); }),
      this.#button('confirm', verb, action, {class: this.#open === 'assign' ? 'primary' : 'danger'})));

  #findRiders = async () => {
    const answer = await this.request('GET', `zones/${encodeURIComponent(this.zone())}/riders/available`).catch(() => null);
    if (this.#open !== 'assign') return;
    this.#riders = (answer?.riders ?? []).slice(0, RIDERS_SHOWN).map(({rider}) => rider);
    this.render();
  };

  #assignForm = () => {
    const {words} = this;
    if (this.#riders === null) return make('p', {class: 'question quiet'}, words.reading);
    const choose = (rider) => { this.#rider = rider; this.render(); this.panel.querySelector('[data-bulk="keep"]')?.focus(); };
    const field = make('input', {
      id: 'bulk-rider', required: true, maxlength: 64, pattern: '[A-Za-z0-9_\\-]{1,64}', autocomplete: 'off',
      autocapitalize: 'none', spellcheck: 'false', 'data-place': 'bulk rider', value: this.#typed,
    });
    field.addEventListener('input', () => { this.#typed = field.value; });
    const quick = this.#riders.map((rider) => this.#button(`to ${rider}`, rider, () => choose(rider)));
    const form = make('form', {class: 'question'},
      make('p', {}, quick.length === 0 ? words.nobodyAvailable : words.available),
      ...(quick.length ? [make('p', {class: 'actions'}, ...quick)] : []),
      make('label', {for: 'bulk-rider'}, words.otherRider),
      make('p', {class: 'actions'}, field, make('button', {type: 'submit', class: 'primary', 'data-place': 'bulk submit'}, words.assign)));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (field.value.trim()) choose(field.value.trim());
    });
    return form;
  };

  // ---- actions ----

  #put = (job, to, from) => assign(this, job, to, from);

  /** Jobs that are with the rider already stay as they are. */
  #assign = (rider) => {
    const items = this.selection.jobs.map((job) => ({job, before: this.row(job)?.rider ?? null}));
    return this.#act(items, ({job, before}) => (before === rider ? null : this.#put(job, rider, before)),
      (job) => this.words.assigned(job, rider),
      (done) => done.filter(({before}) => before !== rider).map(({job, before}) => ({job, before: rider, to: before})));
  };

  #cancel = () => this.#act(this.selection.jobs.map((job) => ({job})),
    ({job}) => this.request('POST', `jobs/${job}/status`, {status: 'cancelled'}), (job) => this.words.cancelled(job));

  #setOffline = (riders) => this.#act(riders.map((rider) => ({job: rider, isRider: true})),
    ({job}) => this.request('PATCH', `riders/${job}/status`, {status: 'offline'}), (rider) => this.words.isOffline(rider));

  /** @param undoOf returns, for the successful items, the changes of an undo: `{job, before, to}` */
  #act = async (items, act, text, undoOf = null) => {
    // A job may be gone from the list when the response arrives.
    const names = items.map(({job, isRider}) => (isRider ? job : labelOf(this.row(job) ?? {job})));
    this.#isBusy = true;
    this.#result = null;
    clearTimeout(this.#timer);
    this.render();
    let results;
    try {
      results = await runAll(items, act);
    } finally {
      this.#isBusy = false;
    }
    const done = results.filter(({error}) => !error).map(({item}) => item);
    // Refused jobs stay selected, so that the dispatcher can try again.
    if (!items.some(({isRider}) => isRider)) this.selection.setAll(done.map(({job}) => job), false);
    [this.#open, this.#rider, this.#typed] = [null, null, ''];
    const undo = undoOf?.(done) ?? [];
    const summary = done.length === items.length ? this.words.allDone(done.length) : this.words.someDone(done.length, items.length);
    this.#result = {
      summary, undo, lines: results.map(({error}, at) => (
        {name: names[at], text: error ? sentenceOf(error, this.words) : text(names[at]), isProblem: Boolean(error)})),
    };
    this.say(summary);
    if (undo.length > 0) {
      this.#timer = setTimeout(() => {
        if (this.#result) this.#result = {...this.#result, undo: []};
        this.render();
      }, UNDO_WITHIN);
    }
    this.changed();
    this.panel.querySelector('[data-bulk="dismiss"]')?.focus({preventScroll: true});
  };

  #undo = (items) => this.#act(items, ({job, before, to}) => this.#put(job, to, before), () => this.words.undone);

  #resultList = () => {
    const {lines, summary, undo} = this.#result;
    // Problems come first, because a dispatcher must act on them.
    const ordered = [...lines.filter(({isProblem}) => isProblem), ...lines.filter(({isProblem}) => !isProblem)];
    const isProblem = lines.some((line) => line.isProblem);
    return make('div', {class: isProblem ? 'result problem' : 'result'},
      make('p', {}, make('b', {}, summary)),
      make('p', {class: 'actions'},
        ...(undo.length > 0 ? [this.#button('undo', this.words.undo, () => this.#undo(undo))] : []),
        this.#button('dismiss', this.words.dismiss, () => { this.#result = null; this.changed(); }, {class: 'plain'})),
      make('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': summary},
        make('ul', {class: 'plainlist'}, ...ordered.map(({name, text, isProblem: isBad}) => make('li', {
          'data-outcome': isBad ? 'refused' : 'done',
        }, ...(isBad ? [make('b', {}, name), ` ${text}`] : [text]))))));
  };
}
