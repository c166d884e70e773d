// Sharing the page: with the system's sheet where there is one, otherwise by copying the link.

import {put} from './page.js';

// ms for which the button says that the link was copied.
const SAID_FOR = 2_500;

export class ShareButton {
  #isCopied = false;

  /**
   * @param button may be missing on an operator's own page.
   * @param failure says that copying failed; may be missing too.
   * @param say announces a text.
   * @param url what to share.
   * @param system `navigator`
   */
  constructor(button, {words, failure, say, url = () => location.href, system = navigator,
    later = (act, ms) => setTimeout(act, ms)}) {
    Object.assign(this, {button, words, failure, say, url, system, later});
    button?.addEventListener('click', () => this.share());
  }

  /** @param isOffered whether this person may share the page */
  show(isOffered, title) {
    if (!this.button) return;
    this.title = title;
    this.button.hidden = !isOffered || !(this.system.share || this.system.clipboard);
    if (this.button.hidden) this.#fail('');
    const text = this.#isCopied ? this.words.copied : this.words.share;
    if (this.button.textContent !== text) this.button.textContent = text;
  }

  async share() {
    const what = {title: this.title, url: this.url()};
    this.#fail('');
    try {
      if (this.system.share) return void await this.system.share(what);
    } catch (error) {
      // The person closed the sheet.
      if (error?.name === 'AbortError') return;
    }
    try {
      await this.system.clipboard.writeText(what.url);
    } catch {
      return this.#fail(this.words.notCopied);
    }
    this.#isCopied = true;
    this.button.textContent = this.words.copied;
    this.say(this.words.copied);
    this.later(() => {
      this.#isCopied = false;
      this.button.textContent = this.words.share;
    }, SAID_FOR);
  }

  #fail = (text) => {
    if (this.failure) put(this.failure, text);
    if (text) this.say(text);
  };
}
