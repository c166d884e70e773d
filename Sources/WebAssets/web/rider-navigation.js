// "Navigate to …" (RDR-014): hands a job's stored place over to a map app of the rider's choice. The addresses are the
// gateway's (`GET jobs/{job}/navigation`) and hold coordinates and nothing else; the rider's choice of an app is the
// one thing this page keeps beyond the tab. A web page can not know which apps are there: it opens one and sees whether
// the page is left.

import {make, put} from './page.js';
import {refusalWord, usable} from './rider-maps.js';
import {platformOf} from './rider-permission.js';
import {closeSheet, openSheet} from './rider-sheet.js';

const APP_KEPT_AS = 'enroute.navigation';
/** ms in which an app takes over from the page; after them there is none. */
export const APP_OPENS_WITHIN = 2_500;

export class Navigation {
  #known = new Map();
  #platform = platformOf(navigator.userAgent, navigator.maxTouchPoints);

  /**
   * @param {HTMLDialogElement} dialog where the rider chooses
   * @param {(path: string) => Promise<{body: object}>} ask
   * @param {{handedOff: () => void, locates: () => Promise<boolean>, servicesOff: (anyway: () => void) => void,
   *   named: (job: string, to: string, name: string|null) => void}} on
   */
  constructor(dialog, words, ask, on) {
    Object.assign(this, {dialog, words, ask, on});
    dialog.addEventListener('click', (event) => { if (event.target === dialog) closeSheet(dialog); });
  }

  /** The app that was chosen before; null without. */
  get chosen() {
    try {
      return localStorage.getItem(APP_KEPT_AS);
    } catch {
      return null;
    }
  }

  /**
   * Fetches the way ahead of the tap, so that the tap opens the map at once. Silent: the tap says what is wrong, and
   * asks again. What failed is not asked for here once more until there is another version.
   * @param {number} version of what is known of the job
   */
  async prepare(job, to, version) {
    if (this.#known.get(`${job} ${to}`)?.version === version) return;
    const known = this.#fetch(job, to, version);
    const name = await known.answer.then(
      (way) => way.name ?? null, ({code}) => (code === 'network' ? undefined : null));
    if (name !== undefined && this.#known.get(`${job} ${to}`) === known) this.on.named(job, to, name);
  }

  /**
   * @param {{again?: boolean, anyway?: boolean, onAnyway?: () => void}} how `again`: the rider wants another app;
   *   `anyway`: also where the phone does not locate; `onAnyway`: what does that
   * @returns {Promise<string|null>} why there are no directions, or null when a map was opened or is being chosen
   */
  async navigate(job, to, {again = false, anyway = false, onAnyway} = {}) {
    let way;
    try {
      const known = this.#known.get(`${job} ${to}`);
      way = await (known && !known.hasFailed ? known : this.#fetch(job, to, known?.version ?? null)).answer;
    } catch (error) {
      return this.words[refusalWord(error, to)];
    }
    if (!anyway && !await this.on.locates()) {
      this.on.servicesOff(onAnyway);
      return null;
    }
    const apps = usable(way.candidates ?? [], this.#platform);
    if (apps.length === 0) return this.words.noMapApp;
    if (again) return this.#choose(apps);
    // One tap is enough: the gateway names the platform's usual app first.
    return this.#open(apps.find(({app}) => app === this.chosen) ?? apps[0]);
  }

  #fetch = (job, to, version) => {
    const answer = this.ask(`/jobs/${encodeURIComponent(job)}/navigation?to=${to}`).then(({body}) => body);
    const known = {version, answer, hasFailed: false};
    answer.catch(() => { known.hasFailed = true; });
    this.#known.set(`${job} ${to}`, known);
    return known;
  };

  #choose = (apps) => {
    return new Promise((resolve) => {
      const list = make('ul');
      for (const each of apps) {
        const button = make('button', {type: 'button', class: 'app', 'data-app': each.app}, each.label);
        button.addEventListener('click', () => {
          try { localStorage.setItem(APP_KEPT_AS, each.app); } catch { /* asked again next time */ }
          resolve(this.#open(each));
          closeSheet(this.dialog);
        });
        list.append(make('li', {}, button));
      }
      const cancel = make('button', {type: 'button', class: 'plain app'}, this.words.cancel);
      cancel.addEventListener('click', () => closeSheet(this.dialog));
      this.dialog.addEventListener('close', () => resolve(null), {once: true});
      const hint = make('p', {class: 'quiet'});
      put(hint, this.words.chooseMapWhy);
      this.dialog.replaceChildren(make('h2', {id: 'maps-title'}, this.words.chooseMap), hint, list, cancel);
      openSheet(this.dialog);
    });
  };

  #open = ({address}) => {
    this.on.handedOff();
    const link = make('a', {href: address, rel: 'noopener noreferrer', referrerpolicy: 'no-referrer'});
    if (address.startsWith('https:')) {
      // A browser opens what no app claims: there is always something to see.
      link.target = '_blank';
      link.click();
      return Promise.resolve(null);
    }
    const left = this.#isLeft();
    link.click();
    return left.then((isLeft) => (isLeft ? null : this.words.noMapApp));
  };

  /** Whether an app took over. */
  #isLeft = () => {
    return new Promise((resolve) => {
      const settle = (isLeft) => {
        clearTimeout(timer);
        document.removeEventListener('visibilitychange', hidden);
        removeEventListener('blur', blurred);
        resolve(isLeft);
      };
      const hidden = () => { if (document.hidden) settle(true); };
      const blurred = () => settle(true);
      const timer = setTimeout(() => settle(document.hidden), APP_OPENS_WITHIN);
      document.addEventListener('visibilitychange', hidden);
      addEventListener('blur', blurred);
    });
  };
}
