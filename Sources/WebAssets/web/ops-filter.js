// The filters of the job list: buttons for jobs that need somebody and for tracking states, a search field, a status and a
// reason. They show and change the address. A search is applied when typing pauses, so that the history has no entry for each
// letter.

import {locale, make, put} from './page.js';
import {needs, unavailableReasons, statuses, trackings} from './ops-list.js';

const TYPING = 250;    // ms after the last key press

/** These keep their button even without a job. */
const ALWAYS = ['attention', 'live'];
const number = new Intl.NumberFormat(locale);

export class FilterForm {
  #typing = null;

  /**
   * @param trackings the element for the buttons; `clear`: the button that resets all filters.
   * @param query returns the current filters; `go(change, {isSmall})` changes them.
   */
  constructor({form, trackings: switches, clear, words, query, go}) {
    Object.assign(this, {form, switches, clear, words, query, go});
    form.addEventListener('submit', (event) => event.preventDefault());
    form.addEventListener('input', ({target: {name, value}}) => {
      clearTimeout(this.#typing);
      if (name === 'q') this.#typing = setTimeout(() => go({q: value}, {isSmall: true}), TYPING);
      else go({[name]: value});
    });
    clear.addEventListener('click', () => {
      clearTimeout(this.#typing);
      form.reset();
      go({q: '', need: '', status: '', tracking: '', unavailable: ''});
      form.elements.q.focus();
    });
  }

  /** @param texts of statuses, or null before they are loaded. */
  make(texts) {
    const button = (filter, value, text) => {
      const made = make('button', {type: 'button', [`data-${filter}`]: value, 'data-kind': value},
        text, ' ', make('span', {class: 'tally'}, '0'));
      made.addEventListener('click', () => this.go({[filter]: this.query()[filter] === value ? '' : value}));
      return made;
    };
    this.switches.replaceChildren(
      ...needs.map((need) => button('need', need, this.words.needs[need])),
      ...trackings.map((tracking) => button('tracking', tracking, this.words.trackings[tracking])));
    const options = (name, values, text) => this.form.elements[name].replaceChildren(
      make('option', {value: ''}, this.words.any), ...values.map((value) => make('option', {value}, text(value))));
    options('status', statuses, (status) => texts?.statuses?.[status]?.short ?? status);
    options('unavailable', unavailableReasons, (reason) => this.words.reasons[reason]);
  }

  /** Shows the filters, but does not overwrite the field in which somebody types. */
  write(query) {
    for (const name of ['q', 'status', 'unavailable']) {
      const field = this.form.elements[name];
      if (field.value !== query[name] && (name !== 'q' || field !== document.activeElement)) field.value = query[name];
    }
    this.clear.hidden = !(query.q || query.need || query.status || query.tracking || query.unavailable);
  }

  /** Shows how many jobs each button would list. */
  count(counts, query) {
    for (const button of this.switches.children) {
      const filter = button.dataset.need ? 'need' : 'tracking';
      const value = button.dataset[filter];
      button.setAttribute('aria-pressed', String(query[filter] === value));
      put(button.lastChild, number.format(counts[value]));
      button.hidden = counts[value] === 0 && query[filter] !== value && !ALWAYS.includes(value);
    }
  }
}
