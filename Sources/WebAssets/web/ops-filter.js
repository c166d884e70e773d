// The filters of the job list: buttons for tracking states, a search field, a status and a reason. They show and change the
// address. A search is applied when typing pauses, so that the history has no entry for each letter.

import {locale, make, put} from './page.js';
import {unavailableReasons, statuses, trackings} from './ops-list.js';

const TYPING = 250;    // ms after the last key press

/** States that keep their button even without a job. */
const ALWAYS = ['lost', 'stale', 'live'];
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
      go({q: '', status: '', tracking: '', unavailable: ''});
      form.elements.q.focus();
    });
  }

  /** @param texts of statuses, or null before they are loaded. */
  make(texts) {
    this.switches.replaceChildren(...trackings.map((tracking) => {
      const button = make('button', {type: 'button', 'data-tracking': tracking, 'data-kind': tracking},
        this.words.trackings[tracking], ' ', make('span', {class: 'tally'}, '0'));
      button.addEventListener('click', () => this.go({tracking: this.query().tracking === tracking ? '' : tracking}));
      return button;
    }));
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
    this.clear.hidden = !(query.q || query.status || query.tracking || query.unavailable);
  }

  /** Shows how many jobs each button would list. */
  count(counts, query) {
    for (const button of this.switches.children) {
      const {tracking} = button.dataset;
      button.setAttribute('aria-pressed', String(query.tracking === tracking));
      put(button.lastChild, number.format(counts[tracking]));
      button.hidden = counts[tracking] === 0 && query.tracking !== tracking && !ALWAYS.includes(tracking);
    }
  }
}
