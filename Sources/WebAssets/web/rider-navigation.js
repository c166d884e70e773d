// "Navigate to …" (RDR-014): opens the vendor or the destination in a map app. The addresses come from the gateway (`GET
// jobs/{job}/navigation`) and contain only coordinates. The chosen app is the only thing that this page stores beyond the
// tab. A web page cannot know which apps are installed: it opens one and checks whether the page loses the focus.

import {deviceStorage} from './page-storage.js';
import {make, put} from './page.js';
import {refusalWord, usable} from './rider-maps.js';
import {platformOf} from './rider-permission.js';
import {closeSheet, openSheet} from './rider-sheet.js';

const APP_KEPT_AS = 'enroute.navigation';
/** ms within which an app opens; after that none is installed. */
export const APP_OPENS_WITHIN = 2_500;

/** The destination in a response; its degrees are texts. */
function placeOf({lat, lon}) {
  const place = {lat: Number(lat), lon: Number(lon)};
  return lat !== undefined && Number.isFinite(place.lat) && Number.isFinite(place.lon) ? place : null;
}

export class Navigation {
  #known = new Map();
  #platform = platformOf(navigator.userAgent, navigator.maxTouchPoints);

  /**
   * @param {HTMLDialogElement} dialog where the rider chooses
   * @param {(path: string) => Promise<{body: object}>} ask
   * @param {{handedOff: () => void, locates: () => Promise<boolean>, servicesOff: (anyway: () => void) => void,
   *   named: (job: string, to: string, name: string|null, place: object|null) => void}} on
   */
  constructor(dialog, words, ask, on) {
    Object.assign(this, {dialog, words, ask, on});
    dialog.addEventListener('click', (event) => { if (event.target === dialog) closeSheet(dialog); });
  }

  /** The app that the rider chose before, or null. */
  get chosen() {
    try {
      return deviceStorage().getItem(APP_KEPT_AS);
    } catch {
      return null;
    }
  }

  /**
   * Loads the route before the tap, so that the tap opens the map immediately. Errors are shown only after the tap, which
   * tries again. A failed request is not repeated here until the job has another version.
   * @param {number} version of what is known of the job
   */
  async prepare(job, to, version) {
    if (this.#known.get(`${job} ${to}`)?.version === version) return;
    const known = this.#fetch(job, to, version);
    const found = await known.answer.then(
      (way) => ({name: way.name ?? null, place: placeOf(way)}), ({code}) => (code === 'network' ? null : {name: null, place: null}));
    if (found && this.#known.get(`${job} ${to}`) === known) this.on.named(job, to, found.name, found.place);
  }

  /**
   * @param {{again?: boolean, anyway?: boolean, onAnyway?: () => void}} how `again`: let the rider choose another app;
   *     `anyway`: continue although the phone cannot be located; `onAnyway`: called when the rider wants that
   * @returns {Promise<string|null>} why there are no directions, or null if a map was opened or is being chosen
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
    // A single tap opens the app: the gateway lists the platform's usual app first.
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
          try { deviceStorage().setItem(APP_KEPT_AS, each.app); } catch { /* without storage the rider chooses again next time */ }
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
      // If no app handles the address, the browser opens it.
      link.target = '_blank';
      link.click();
      return Promise.resolve(null);
    }
    const left = this.#isLeft();
    link.click();
    return left.then((isLeft) => (isLeft ? null : this.words.noMapApp));
  };

  /** Whether an app opened. */
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
