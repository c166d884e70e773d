// Saved views: filters and a sort order under a name, so that a dispatcher returns to them with one click. The browser stores
// at most `MOST`, on this device only. They contain no job, and no person unless one was typed into the search field.

import {deviceStorage} from './page-storage.js';
import {make} from './page.js';
import {writeQuery} from './ops-list.js';

const STORED_AS = 'enroute.ops.views';
export const MOST = 12;
/** Longest name, in characters. */
const LONGEST = 32;
/** The longest address that a view may have. */
const LONGEST_SEARCH = 512;

/** What a view consists of. The zone, the job and the tab are not part of it. */
const MEMBERS = ['q', 'need', 'status', 'tracking', 'unavailable', 'sort', 'down'];

/** @returns the stored views: `[{name, search}]`, without malformed ones */
export function readViews(text) {
  let stored;
  try { stored = JSON.parse(text ?? '[]'); } catch { return []; }
  if (!Array.isArray(stored)) return [];
  const isView = (view) => typeof view?.name === 'string' && typeof view.search === 'string' && view.name.trim() !== ''
    && view.name.length <= LONGEST && view.search.length <= LONGEST_SEARCH;
  return stored.filter(isView).slice(0, MOST).map(({name, search}) => ({name, search}));
}

/** Adds a view in front, or replaces the one of this name. The oldest one is removed when there are too many. */
export function addView(views, name, search) {
  const named = name.trim().slice(0, LONGEST);
  if (!named) return views;
  return [{name: named, search}, ...views.filter((view) => view.name !== named)].slice(0, MOST);
}

/** The address of a view, with only the parameters that belong to it. */
export const searchOf = (query) => writeQuery({
  ...Object.fromEntries(MEMBERS.map((key) => [key, query[key]])), zone: null, job: null, tab: '',
}, '');

export class ViewsBar {
  #views;
  #isNaming = false;

  /**
   * @param query returns the current filters; `open(search)`: applies a view; `say(text)` announces
   * @param storage stores the views
   */
  constructor(panel, {words, query, open, say, storage = deviceStorage()}) {
    Object.assign(this, {panel, words, query, open, say, storage});
    this.#views = readViews(this.#stored());
  }

  render() {
    const {words} = this;
    const current = searchOf(this.query());
    const state = JSON.stringify([this.#views, current, this.#isNaming]);
    if (this.panel.dataset.state === state) return;
    const before = document.activeElement;
    const place = this.panel.contains(before) ? before.dataset.place : null;
    this.panel.dataset.state = state;
    const items = this.#views.map((view) => {
      const isCurrent = view.search === current;
      const open = make('button', {type: 'button', 'aria-pressed': String(isCurrent), 'data-place': `open ${view.name}`}, view.name);
      open.addEventListener('click', () => this.open(isCurrent ? '' : view.search));
      const remove = make('button', {
        type: 'button', class: 'plain remove', 'aria-label': words.removeView(view.name), 'data-place': `remove ${view.name}`,
      }, '×');
      remove.addEventListener('click', () => this.#remove(view.name));
      return make('li', {}, open, remove);
    });
    const canSave = current !== '' && !this.#views.some(({search}) => search === current);
    this.panel.hidden = items.length === 0 && !canSave;
    this.panel.replaceChildren(make('ul', {}, ...items, ...(canSave ? [make('li', {}, this.#isNaming ? this.#form(current) : this.#save())] : [])));
    if (place) this.panel.querySelector(`[data-place="${CSS.escape(place)}"]`)?.focus({preventScroll: true});
  }

  #save = () => {
    const button = make('button', {type: 'button', class: 'plain', 'data-place': 'save'}, this.words.saveView);
    button.addEventListener('click', () => {
      this.#isNaming = true;
      this.render();
      this.panel.querySelector('input').focus();
    });
    return button;
  };

  #form = (search) => {
    const {words} = this;
    const name = make('input', {
      name: 'name', maxlength: LONGEST, required: true, autocomplete: 'off', 'aria-label': words.viewName, placeholder: words.viewName,
      'data-place': 'name',
    });
    const form = make('form', {}, name, make('button', {type: 'submit', class: 'primary'}, words.save));
    const end = () => {
      this.#isNaming = false;
      this.render();
      this.panel.querySelector('button')?.focus();
    };
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (!name.value.trim()) return;
      this.#keep(addView(this.#views, name.value, search));
      this.say(words.viewSaved(name.value.trim()));
      end();
    });
    form.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      end();
    });
    return form;
  };

  #remove = (name) => {
    this.#keep(this.#views.filter((view) => view.name !== name));
    this.say(this.words.viewRemoved(name));
    this.render();
    (this.panel.querySelector('button') ?? document.querySelector('#filter-q'))?.focus();
  };

  #keep = (views) => {
    this.#views = views;
    // Without storage, the views are kept until the page closes.
    try { this.storage.setItem(STORED_AS, JSON.stringify(views)); } catch { /* full, or not allowed */ }
  };

  #stored = () => {
    try { return this.storage.getItem(STORED_AS); } catch { return null; }
  };
}
