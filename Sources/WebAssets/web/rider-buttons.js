// Buttons for steps that must not be triggered by accident: one asks and acts on the second tap, the other acts when it is
// held.

import {put} from './page.js';

/** ms in which a second tap confirms the first. */
export const CONFIRM_WITHIN = 10_000;
/** ms for which a button has no effect after it changed under the thumb, so that a double tap does not trigger two steps. */
export const TAP_PAUSE = 800;
/** ms for which a button is held before it acts. The bar in rider.css fills in the same time. */
export const HOLD = 700;
/** ms of vibration when a held button acts. */
export const HELD_VIBRATION = 40;

const isDisabled = (button) => button.getAttribute('aria-disabled') === 'true';

/** A button whose first tap asks and whose second tap acts. Losing the focus or waiting too long cancels. */
export class ConfirmButton {
  #text = '';
  #timer = null;
  #pause = null;

  /**
   * @param {string} question the text after the first tap
   * @param {(question: string) => void} asked announces it
   */
  constructor(button, question, act, asked = () => {}) {
    Object.assign(this, {button, question, act, asked});
    button.addEventListener('click', () => this.#tapped());
    button.addEventListener('blur', () => this.#reset());
  }

  /** @param {string} text the text before the first tap; '' hides the button */
  show(text) {
    this.#text = text;
    if (!text) this.#reset();
    else if (this.#timer === null) put(this.button, text);
  }

  #tapped = () => {
    if (isDisabled(this.button)) return;
    if (this.#timer !== null) {
      this.#reset();
      this.act();
      return;
    }
    // Some phones do not focus a tapped button, but only a focused one can lose the focus.
    this.button.focus();
    this.#timer = setTimeout(this.#reset, CONFIRM_WITHIN);
    put(this.button, this.question);
    this.asked(this.question);
    this.button.setAttribute('aria-disabled', 'true');
    this.#pause = setTimeout(this.#wake, TAP_PAUSE);
  };

  #wake = () => {
    if (this.#pause === null) return;
    clearTimeout(this.#pause);
    this.#pause = null;
    this.button.setAttribute('aria-disabled', 'false');
  };

  #reset = () => {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#wake();
    put(this.button, this.#text);
  };
}

/**
 * Whether assistive technology causes this press and therefore cannot hold it: VoiceOver's presses have no size, TalkBack's
 * look like those of a mouse without pressure, which only Android can tell from a real mouse.
 */
const isAssisted = ({width, height, pressure, pointerType}) => (width === 0 && height === 0)
  || (pointerType === 'mouse' && pressure === 0 && /Android/.test(navigator.userAgent));

/**
 * A button that acts while it is held. Releasing or leaving it before the end, and scrolling, cancel. A keyboard, a switch and
 * a screen reader activate it at once: they do not tap by accident, and the step can be undone.
 */
export class HoldButton {
  #text = '';
  #timer = null;
  #isAssisted = false;

  /**
   * @param {string} holding the text while it is held
   * @param {() => void} act
   * @param {(isTooShort: boolean) => void} pressed called with true after a short tap, and with false when another press begins
   */
  constructor(button, holding, act, pressed = () => {}) {
    Object.assign(this, {button, holding, act, pressed});
    button.addEventListener('pointerdown', this.#down);
    button.addEventListener('pointerup', () => {
      if (this.cancel()) this.pressed(true);
    });
    for (const end of ['pointerleave', 'pointercancel', 'blur']) button.addEventListener(end, this.cancel);
    // A phone would open a menu after a long press, which cancels it.
    button.addEventListener('contextmenu', (event) => { if (this.#timer !== null) event.preventDefault(); });
    // A key that is still down from the previous step must not trigger this one.
    button.addEventListener('keydown', (event) => { if (event.repeat) event.preventDefault(); });
    button.addEventListener('click', ({detail}) => {
      if ((detail === 0 || this.#isAssisted) && !isDisabled(button)) this.#finish();
    });
  }

  /** @param {string} text the text while it is not held */
  show(text) {
    this.#text = text;
    if (this.#timer === null) put(this.button, text);
  }

  /** Ends a press without acting. @returns {boolean} whether there was one */
  cancel = () => {
    if (this.#timer === null) return false;
    clearTimeout(this.#timer);
    this.#timer = null;
    removeEventListener('scroll', this.cancel);
    delete this.button.dataset.held;
    put(this.button, this.#text);
    return true;
  };

  #down = (event) => {
    this.#isAssisted = isAssisted(event);
    if (this.#isAssisted || !event.isPrimary || event.button !== 0 || isDisabled(this.button)) return;
    this.cancel();
    this.pressed(false);
    // A finger's events are captured by the element that it touched first, which would not notice that the finger leaves.
    this.button.releasePointerCapture?.(event.pointerId);
    addEventListener('scroll', this.cancel, {passive: true});
    this.button.dataset.held = '';
    put(this.button, this.holding);
    this.#timer = setTimeout(() => {
      // Meanwhile something may cover the button, or the step is no longer the next one.
      if (this.cancel() && !document.hidden && !isDisabled(this.button)) this.#finish();
    }, HOLD);
  };

  #finish = () => {
    this.cancel();
    this.pressed(false);
    // Browsers complain about a vibration before the first touch has ended.
    if (navigator.userActivation?.hasBeenActive !== false) navigator.vibrate?.(HELD_VIBRATION);
    this.act();
  };
}
