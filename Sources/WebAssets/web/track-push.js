// Offers a message on this device for when the rider is about two minutes away, even if the page is closed (Web Push). The
// gateway sends it; worker.js shows it.

import {gateway} from './page-gateway.js';

/** Seconds before the arrival from which on it is too late to offer a message. */
const TOO_LATE = 180;

/** base64url to bytes, as `subscribe` takes a key. */
const bytesOf = (key) => Uint8Array.from(atob(key.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));

export class NearMessage {
  #isOn = false;
  #isBusy = false;
  #kind = 'delivery';

  /**
   * @param button may be missing on an operator's own page.
   * @param key of the gateway, from the page; undefined if it sends no messages.
   * @param header returns the header `Authorization`.
   * @param say announces a text.
   * @param system `window`
   */
  constructor(button, {words, job, key, header, say, system = window}) {
    Object.assign(this, {button, words, job, key, header, say, system});
    const {navigator, Notification, PushManager, isSecureContext} = system;
    this.isPossible = Boolean(button && key && isSecureContext && Notification && PushManager && navigator.serviceWorker);
    if (!this.isPossible) return;
    button.addEventListener('click', () => this.switch());
    // worker.js stores the texts that it will show, so a page that is opened again finds them.
    system.caches?.match(`${gateway}/near/${job}`).then((kept) => { this.#isOn ||= Boolean(kept); }, () => {});
  }

  /** Shows the offer while somebody is still to come. @param view of the job @param secondsToGo null if that is unknown */
  show(view, secondsToGo) {
    if (!this.isPossible) return;
    this.#kind = view.kind ?? this.#kind;
    const isLate = secondsToGo !== null && secondsToGo < TOO_LATE;
    const isRefused = this.system.Notification.permission === 'denied';
    this.button.hidden = !view.known || Boolean(view.ended || view.refused) || (isLate && !this.#isOn) || isRefused;
    const text = this.#isOn ? this.words.tellOff : this.words.tellOn;
    if (this.button.textContent !== text) this.button.textContent = text;
    this.button.setAttribute('aria-pressed', String(this.#isOn));
  }

  async switch() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const wish = !this.#isOn;
    try {
      if (wish && await this.system.Notification.requestPermission() !== 'granted') return this.say(this.words.tellDenied);
      const worker = await this.system.navigator.serviceWorker.ready;
      const subscription = await worker.pushManager.getSubscription()
        ?? await worker.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: bytesOf(this.key)});
      const {endpoint, keys} = subscription.toJSON();
      const answer = await this.system.fetch(`${gateway}/api/v1/jobs/${encodeURIComponent(this.job)}/push`, {
        method: 'PUT', headers: {Authorization: this.header(), 'Content-Type': 'application/json'},
        body: JSON.stringify({subscription: {endpoint, keys}, near: wish}),
      });
      if (!answer.ok) throw new Error(String(answer.status));
      // The worker shows the message in the reader's language and opens this address, without a request to the gateway.
      const [title, body] = [this.words.tellTitle, this.words.tellBody[this.#kind]];
      worker.active?.postMessage({type: 'near', job: this.job, title, body, url: wish ? this.system.location.href : null});
      this.#isOn = wish;
      this.say(wish ? this.words.tellIsOn : this.words.tellIsOff);
    } catch {
      this.say(this.words.tellFailed);
    } finally {
      this.#isBusy = false;
      this.button.textContent = this.#isOn ? this.words.tellOff : this.words.tellOn;
      this.button.setAttribute('aria-pressed', String(this.#isOn));
    }
  }
}
