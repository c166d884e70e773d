// What of a zone is shown: a row of switches for what followers see, a search, a status and a reason. The fields say what the
// address says, and change it; a search is said when somebody stops typing, so that the history is not one of letters.

import {locale, make, put} from './page.js';
import {unavailableReasons, statuses, trackings} from './ops-list.js';

const TYPING = 250;    // ms after the last letter

/** States that have a switch even when no job is in them. */
const ALWAYS = ['lost', 'stale', 'live'];
const number = new Intl.NumberFormat(locale);

export class FilterForm {
  #typing = null;

  /**
   * @param trackings the element of the switches; `clear`: the button that takes all filters back.
   * @param query what the address says now; `go(change, {isSmall})` changes it.
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

  /** @param texts of statuses, or null where they are not there yet. */
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

  /** Writes the query into the fields, but not into the one in which somebody types. */
  write(query) {
    for (const name of ['q', 'status', 'unavailable']) {
      const field = this.form.elements[name];
      if (field.value !== query[name] && (name !== 'q' || field !== document.activeElement)) field.value = query[name];
    }
    this.clear.hidden = !(query.q || query.status || query.tracking || query.unavailable);
  }

  /** How many jobs each switch would show. */
  count(counts, query) {
    for (const button of this.switches.children) {
      const {tracking} = button.dataset;
      button.setAttribute('aria-pressed', String(query.tracking === tracking));
      put(button.lastChild, number.format(counts[tracking]));
      button.hidden = counts[tracking] === 0 && query.tracking !== tracking && !ALWAYS.includes(tracking);
    }
  }
}
