// A table of thousands of rows that renders only the visible ones. It is a real <table>: `aria-rowcount` says how many rows
// there are, each row has its index, and empty rows above and below take up the height. Rows are reused by name and updated
// cell by cell, once per animation frame. One row is in the tab order; the arrow keys, Page Up and Down, Home and End move
// it.

import {make} from './page.js';

const SPARE = 8;    // rows rendered beyond each edge

/** @typedef {{key: string, title: string, text: (row: object) => string, tip?: (row: object) => string,
 *     kind?: (row: object) => string}} Column */

export class VirtualTable {
  #rows = [];
  #index = new Map();      // name -> place among the rows
  #elements = new Map();   // name -> its <tr>, of those that are there
  #active = null;          // the name of the row that is in the tab order
  #chosen = null;
  #frame = null;
  #height = 44;

  /**
   * @param frame the scrolling element, which contains `table`.
   * @param {Column[]} columns the first one contains the link of the row.
   * @param name returns a row's name; `link(row)`: its address; `choose(row)`: it was activated; `order(key)`: a column
   *     header was.
   * @param picks selects several rows, if given: `{title, label(row), has(name), set(name, isOn, isRange), setAll(isOn),
   *     state()}`, where `state()` is 'all', 'some' or 'none' of the rows shown.
   */
  constructor({frame, table, columns, name, link, choose, order, picks = null}) {
    Object.assign(this, {frame, table, columns, name, link, choose, order, picks});
    this.lead = picks ? 1 : 0;
    this.#head();
    this.above = spacer(columns.length + this.lead);
    this.below = spacer(columns.length + this.lead);
    this.body = make('tbody', {}, this.above, this.below);
    table.append(this.body);
    table.setAttribute('aria-colcount', columns.length + this.lead);
    frame.addEventListener('scroll', () => this.refresh(), {passive: true});
    new ResizeObserver(() => this.refresh()).observe(frame);
    this.body.addEventListener('keydown', (event) => this.#key(event));
    this.body.addEventListener('click', (event) => this.#click(event));
    this.body.addEventListener('focusin', (event) => {
      const row = event.target.closest('tr');
      if (row?.dataset.name) this.#activate(row.dataset.name, false);
    });
  }

  /** Shows these rows from the next frame on. The focused row keeps the focus wherever it moves. */
  show(rows) {
    this.#rows = rows;
    this.#index = new Map(rows.map((row, at) => [this.name(row), at]));
    if (!this.#index.has(this.#active)) this.#active = rows.length ? this.name(rows[0]) : null;
    this.table.setAttribute('aria-rowcount', rows.length + 1);
    this.refresh();
  }

  /** Marks the column that the rows are sorted by. */
  sorted(key, down) {
    for (const [index, head] of [...this.table.tHead.rows[0].cells].slice(this.lead).entries()) {
      const isSo = this.columns[index].key === key;
      if (isSo) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    }
  }

  chosen(name) {
    this.#chosen = name;
    this.refresh();
  }

  top() { this.frame.scrollTop = 0; }

  focus(name) {
    if (this.#index.has(name)) this.#activate(name, true);
    else this.frame.focus();
  }

  /** Renders in the next frame. */
  refresh() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#render();
    });
  }

  #head = () => {
    const cells = this.columns.map(({key, title}) => {
      const button = make('button', {type: 'button', class: 'plain'}, title);
      button.addEventListener('click', () => this.order(key));
      return make('th', {scope: 'col', class: `c-${key}`}, button);
    });
    if (this.picks) {
      this.all = make('input', {type: 'checkbox', 'aria-label': this.picks.title});
      this.all.addEventListener('change', () => this.picks.setAll(this.all.checked));
      cells.unshift(make('td', {class: 'c-pick'}, make('label', {}, this.all)));
    }
    this.table.append(make('thead', {}, make('tr', {'aria-rowindex': 1}, ...cells)));
  };

  #render = () => {
    const {scrollTop, clientHeight} = this.frame;
    const first = Math.max(0, Math.floor(scrollTop / this.#height) - SPARE);
    const last = Math.min(this.#rows.length, Math.ceil((scrollTop + clientHeight) / this.#height) + SPARE);
    const free = this.#free(first, last);
    let before = this.above;
    for (let at = first; at < last; at += 1) {
      const row = this.#rows[at];
      const name = this.name(row);
      const element = this.#elements.get(name) ?? free.shift() ?? this.#row();
      element.dataset.name = name;
      this.#elements.set(name, element);
      if (before.nextSibling !== element) this.#place(element, before);
      this.#write(element, row, at);
      before = element;
    }
    for (const element of free) element.remove();
    if (this.picks) {
      const state = this.picks.state();
      [this.all.checked, this.all.indeterminate] = [state === 'all', state === 'some'];
    }
    size(this.above, first * this.#height);
    size(this.below, (this.#rows.length - last) * this.#height);
    const shown = this.#elements.values().next().value;
    const measured = shown?.getBoundingClientRect().height;
    if (measured && Math.abs(measured - this.#height) > 0.5) {
      this.#height = measured;
      this.refresh();
    }
  };

  /**
   * Returns the row elements that are no longer visible, for reuse: writing one takes a third of the time of creating one. If
   * one of them had the focus, the frame gets it, so that it does not move to another job.
   */
  #free = (first, last) => {
    const free = [];
    const names = new Set();
    for (let at = first; at < last; at += 1) names.add(this.name(this.#rows[at]));
    const focused = this.body.contains(document.activeElement) ? document.activeElement.closest('tr') : null;
    for (let element = this.above.nextSibling; element !== this.below; element = element.nextSibling) {
      if (names.has(element.dataset.name)) continue;
      this.#elements.delete(element.dataset.name);
      if (element === focused) this.frame.focus({preventScroll: true});
      free.push(element);
    }
    return free;
  };

  /** Moves an element, which would otherwise lose the focus. */
  #place = (element, before) => {
    const focused = element.contains(document.activeElement) ? document.activeElement : null;
    before.after(element);
    focused?.focus({preventScroll: true});
  };

  #row = () => {
    const cells = this.columns.map(({key}, index) => (index === 0
      ? make('th', {scope: 'row', class: `c-${key}`}, make('a', {}, ''))
      : make('td', {class: `c-${key}`})));
    if (this.picks) cells.unshift(make('td', {class: 'c-pick'}, make('label', {}, make('input', {type: 'checkbox'}))));
    return make('tr', {}, ...cells);
  };

  #write = (element, row, at) => {
    const name = this.name(row);
    attribute(element, 'aria-rowindex', at + 2);
    attribute(element, 'aria-current', name === this.#chosen ? 'true' : null);
    for (const [index, {text, tip = text, kind}] of this.columns.entries()) {
      const cell = element.cells[index + this.lead];
      const place = index === 0 ? cell.firstChild : cell;
      const value = text(row);
      if (place.textContent !== value) {
        place.textContent = value;
        // The full text, if the column is too narrow for it.
        attribute(cell, 'title', tip(row) || null);
      }
      if (kind) attribute(cell, 'data-kind', kind(row) || null);
    }
    const link = this.#linkOf(element);
    attribute(link, 'href', this.link(row));
    attribute(link, 'tabindex', name === this.#active ? 0 : -1);
    if (!this.picks) return;
    const box = element.cells[0].querySelector('input');
    attribute(box, 'aria-label', this.picks.label(row));
    attribute(box, 'tabindex', name === this.#active ? 0 : -1);
    box.checked = this.picks.has(name);
  };

  #linkOf = (element) => element.cells[this.lead].firstChild;

  #activate = (name, isFocused) => {
    this.#active = name;
    if (isFocused) {
      const [top, height] = [this.#index.get(name) * this.#height, this.frame.clientHeight];
      const head = this.table.tHead.offsetHeight;
      if (top < this.frame.scrollTop) this.frame.scrollTop = top;
      if (top + this.#height > this.frame.scrollTop + height - head) {
        this.frame.scrollTop = top + this.#height - height + head;
      }
      this.#render();
      const element = this.#elements.get(name);
      if (element) this.#linkOf(element).focus({preventScroll: true});
    } else {
      this.refresh();
    }
  };

  #key = (event) => {
    const at = this.#index.get(this.#active);
    if (at === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === ' ' && this.picks && event.target.closest('a')) {
      event.preventDefault();
      this.picks.set(this.#active, !this.picks.has(this.#active), event.shiftKey);
      return;
    }
    const page = Math.max(1, Math.floor(this.frame.clientHeight / this.#height) - 2);
    const last = this.#rows.length - 1;
    const to = {
      ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#activate(this.name(this.#rows[Math.min(last, Math.max(0, to))]), true);
  };

  /** A click with a modifier key opens the link as the browser does. */
  #click = (event) => {
    const element = event.target.closest('tr');
    const at = this.#index.get(element?.dataset.name);
    if (event.target.closest('.c-pick')) {
      // A click on the label is followed by one on its checkbox.
      if (at !== undefined && event.target.matches('input')) {
        this.picks.set(element.dataset.name, event.target.checked, event.shiftKey);
      }
      return;
    }
    if (at === undefined || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    this.choose(this.#rows[at]);
  };
}

function spacer(columns) {
  return make('tr', {class: 'spacer', 'aria-hidden': 'true'}, make('td', {colspan: columns}));
}

function size(element, height) {
  const text = `${height}px`;
  if (element.style.height !== text) element.style.height = text;
  const isNeeded = height > 0;
  if (element.hidden === isNeeded) element.hidden = !isNeeded;
}

function attribute(element, name, value) {
  const text = value === null ? null : String(value);
  if (element.getAttribute(name) === text) return;
  if (text === null) element.removeAttribute(name);
  else element.setAttribute(name, text);
}
