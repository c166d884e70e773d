// Offers a message on this device for when the rider is about two minutes away, even if the page is closed (Web Push). The
// gateway sends it; worker.js shows it.

import {put} from './page.js';
import {gateway} from './page-gateway.js';
import {send} from './track-request.js';

/** Seconds before the arrival at which it is too late to offer a message. */
const TOO_LATE = 180;
/** ms after which the browser's push service has failed. Without a service worker, `ready` never settles. */
const GIVE_UP = 10_000;

/** base64url to bytes, as `subscribe` takes a key. */
const bytesOf = (key) => Uint8Array.from(atob(key.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));

export class NearMessage {
  #isOn = false;
  #isBusy = false;
  // worker.js has texts from before the page was opened, perhaps in another language.
  #isOld = false;
  #kind = 'delivery';

  /**
   * @param button may be missing on an operator's own page.
   * @param result shows the result of a press; may be missing too.
   * @param key of the gateway, from the page; undefined if it sends no messages.
   * @param header returns the header `Authorization`.
   * @param say announces a text.
   * @param system `window`
   */
  constructor(button, {words, job, key, header, say, result, system = window, request = send}) {
    Object.assign(this, {button, result, words, job, key, header, say, system, request});
    const {navigator, Notification, PushManager, isSecureContext} = system;
    this.isPossible = Boolean(button && key && isSecureContext && Notification && PushManager && navigator.serviceWorker);
    if (!this.isPossible) return;
    button.addEventListener('click', () => this.switch());
    // worker.js stores the texts that it will show, so a page that is opened again finds them. The permission may have ended.
    system.caches?.match(`${gateway}/near/${job}`).then(async (kept) => {
      const worker = kept && await navigator.serviceWorker.ready;
      if (await worker?.pushManager.getSubscription()) this.#isOn = this.#isOld = true;
    }).catch(() => {});
  }

  /** Shows the offer while somebody is still expected. @param view of the job @param secondsToGo null if that is unknown */
  show(view, secondsToGo) {
    if (!this.isPossible) return;
    this.#kind = view.kind ?? this.#kind;
    const isLate = secondsToGo !== null && secondsToGo < TOO_LATE;
    const {permission} = this.system.Notification;
    const isOver = !view.known || Boolean(view.ended || view.refused);
    const isLost = this.#isOn && permission !== 'granted';
    if (isOver || isLost) this.#answer('');
    if (isLost) this.#isOn = false;
    this.button.hidden = isOver || (isLate && !this.#isOn) || permission === 'denied';
    if (this.#isOld && view.known) {
      this.#isOld = false;
      this.system.navigator.serviceWorker.ready.then((worker) => this.#expect(worker));
    }
    this.#draw();
  }

  async switch() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#answer('');
    this.#draw();
    this.#answer(this.words[await this.#change(!this.#isOn).catch(() => 'tellFailed')]);
    this.#isBusy = false;
    this.#draw();
  }

  /** @returns the key of the text about the result */
  #change = async (wish) => {
    const permission = wish ? await this.system.Notification.requestPermission() : 'granted';
    if (permission !== 'granted') return permission === 'denied' ? 'tellDenied' : 'tellDismissed';
    const late = new Promise((_, reject) => { setTimeout(reject, GIVE_UP); });
    const [worker, subscription] = await Promise.race([this.#subscription(), late]);
    const {endpoint, keys} = subscription.toJSON();
    const body = {subscription: {endpoint, keys}, near: wish};
    const status = await this.request('PUT', `jobs/${encodeURIComponent(this.job)}/push`, body, this.header());
    if (status < 200 || status > 299) return status === 401 ? 'signInExpired' : 'tellFailed';
    this.#isOn = wish;
    this.#expect(worker);
    return wish ? 'tellIsOn' : 'tellIsOff';
  };

  #subscription = async () => {
    const worker = await this.system.navigator.serviceWorker.ready;
    return [worker, await worker.pushManager.getSubscription()
      ?? await worker.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: bytesOf(this.key)})];
  };

  /** The worker shows the message in the reader's language and opens this address, without a request to the gateway. */
  #expect = (worker) => {
    const [title, body] = [this.words.tellTitle, this.words.tellBody[this.#kind]];
    const url = this.#isOn ? this.system.location.href : null;
    worker.active?.postMessage({type: 'near', job: this.job, title, body, url});
  };

  #answer = (text) => {
    if (this.result) put(this.result, text);
    if (text) this.say(text);
  };

  #draw = () => {
    const text = this.#isOn ? this.words.tellOff : this.words.tellOn;
    if (this.button.textContent !== text) this.button.textContent = text;
    this.button.setAttribute('aria-pressed', String(this.#isOn));
    this.button.setAttribute('aria-busy', String(this.#isBusy));
  };
}
