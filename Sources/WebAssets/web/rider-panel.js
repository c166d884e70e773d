// The panel about the location permission (US-122): why it is needed, before the browser asks, and how to allow it after a
// refusal. Its content depends only on the phase. It is a dialog: Escape and "Not now" close it and return the focus.

import {PANELS, browserOf, platformOf} from './rider-permission.js';
import {PRESENCE} from './rider-travel.js';
import {language, make} from './page.js';
import {closeSheet, isOpen, openSheet} from './rider-sheet.js';
import {permissionWords} from './rider-permission-words.js';

const words = permissionWords[language] ?? permissionWords.en;

const PIN = '<svg viewBox="0 0 24 24" width="28" height="28" aria-hidden="true">'
  + '<path d="M12 21s-7-6.2-7-11.5a7 7 0 0 1 14 0C19 14.8 12 21 12 21z"/><circle cx="12" cy="9.5" r="2.5"/></svg>';
const PIN_OFF = PIN.replace('</svg>', '<path d="M3 3l18 18"/></svg>');

/** Phases that ask the rider to fix something. */
const IS_BAD = ['refused', 'dismissed', 'services', 'revoked', 'insecure', 'unsupported'];

/** Returns the steps to allow the location in this browser on this device. */
function steps(phase) {
  const {userAgent, maxTouchPoints} = navigator;
  if (phase === 'services') return words.devices[platformOf(userAgent, maxTouchPoints)];
  const isRefusal = ['refused', 'dismissed', 'revoked'].includes(phase);
  return isRefusal ? words.settings[browserOf(userAgent, maxTouchPoints)] : [];
}

export class Panel {
  #shown = null;

  /**
   * @param {HTMLDialogElement} dialog
   * @param travel provides the phase and receives the rider's answer
   */
  constructor(dialog, travel) {
    Object.assign(this, {dialog, travel});
    dialog.addEventListener('cancel', (event) => {
      event.preventDefault();
      this.#put(() => travel.cancel());
    });
  }

  /** Shows the panel for the current phase, or closes it. */
  update() {
    const {phase} = this.travel;
    if (!PANELS.includes(phase)) {
      this.#shown = null;
      closeSheet(this.dialog);
      return;
    }
    const saying = phase === 'explaining' && this.travel.wish === PRESENCE ? 'presence' : phase;
    if (this.#shown === saying && isOpen(this.dialog)) return;
    this.#shown = saying;
    this.#build(saying, phase);
    openSheet(this.dialog);
    this.dialog.querySelector('h2').focus();
  }

  #build = (saying, phase) => {
    const {title, text, points, last, main, other} = words[saying];
    const glyph = make('span', {class: 'glyph'});
    // Our own drawing, without any content from outside.
    glyph.innerHTML = IS_BAD.includes(phase) ? PIN_OFF : PIN;
    this.dialog.dataset.tone = IS_BAD.includes(phase) ? 'bad' : 'good';
    this.dialog.dataset.phase = phase;
    const parts = [glyph, make('h2', {id: 'permission-title', tabindex: '-1'}, title), make('p', {}, text)];
    if (points) parts.push(make('ul', {class: 'points'}, ...points.map((point) => make('li', {}, point))));
    if (steps(phase).length > 0) parts.push(make('ol', {}, ...steps(phase).map((step) => make('li', {}, step))));
    if (last) parts.push(make('p', {class: 'quiet'}, last));
    this.still = make('p', {class: 'problem', role: 'alert', hidden: true}, words.stillNot);
    const buttons = make('div', {class: 'buttons'});
    if (main) buttons.append(this.#button(main, 'primary', () => this.#answer(phase)));
    const {anyway} = this.travel;
    if (phase === 'services' && anyway) {
      buttons.append(this.#button(words.navigateAnyway, '', () => {
        this.#put(() => this.travel.cancel());
        anyway();
      }));
    }
    buttons.append(this.#button(other, main ? '' : 'primary', () => this.#put(() => this.travel.cancel())));
    this.dialog.replaceChildren(...parts, this.still, buttons);
  };

  #button = (text, kind, action) => {
    const button = make('button', {type: 'button', class: kind}, text);
    button.addEventListener('click', action);
    return button;
  };

  #answer = async (phase) => {
    // The browser only shows its question within this tap.
    if (phase === 'explaining') return this.travel.consent();
    const isAllowed = await this.travel.retry();
    if (!isAllowed && isOpen(this.dialog) && this.travel.phase === phase) this.still.hidden = false;
  };

  #put = (tell) => {
    this.#shown = null;
    tell();
    closeSheet(this.dialog);
  };
}

/** Announced when the rider has allowed the location in the settings. */
export const allowedSentence = words.allowed;
