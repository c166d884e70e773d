// Who is coming: the name, photo, vehicle and contact of the rider. The service writes them, so they are inserted as text, and
// a photo is loaded only from an origin that the operator allows: the page's content security policy blocks all others.

import {make} from './page.js';

const ALLOWED = 'meta[name="enroute-photo-origins"]';

/** Whether the page may load an image. @param origins as `https://host https://host` */
export function isAllowed(photo, origins) {
  try {
    return origins.split(' ').includes(new URL(photo).origin);
  } catch {
    return false;
  }
}

export class RiderPanel {
  #shown = 'null';

  constructor(panel, {origins = document.querySelector(ALLOWED)?.content ?? ''} = {}) {
    Object.assign(this, {panel, origins});
  }

  /** @param who of `presentation`, or null */
  show(who) {
    // Render only changes, so that a button keeps its focus and a photo is not loaded again.
    const text = JSON.stringify(who);
    if (text === this.#shown) return;
    this.#shown = text;
    this.panel.hidden = who === null;
    this.panel.replaceChildren(...(who === null ? [] : this.#children(who)));
  }

  #children = ({name, role, photo, vehicle, contact}) => {
    const lines = make('div', {class: 'lines'}, make('h2', {}, name),
      ...[role, vehicle].filter(Boolean).map((line) => make('p', {class: 'quiet'}, line)));
    return [
      this.#photo(photo), lines,
      contact && make('a', {class: 'button', href: contact.href, rel: 'noreferrer noopener'}, contact.text),
    ].filter(Boolean);
  };

  #photo(photo) {
    if (!photo || !isAllowed(photo, this.origins)) return null;
    const image = make('img', {src: photo, alt: '', width: 56, height: 56, referrerpolicy: 'no-referrer'});
    image.addEventListener('error', () => image.remove());
    return image;
  }
}
