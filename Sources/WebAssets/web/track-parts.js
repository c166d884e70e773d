// Parts of the customer's page that only show what others decide: the steps, the facts, and why there is no order to show.

import {make, put} from './page.js';
import {stepIcons} from './track-icons.js';
import {PASSING} from './track-presentation.js';

/** Links to the operator's support, if there is one (ENROUTE_PAGES_SUPPORT_URL). */
export function showSupport(link, url, text) {
  if (!link || !url || !/^(https|mailto|tel):/.test(url)) return;
  if (!link.href) link.href = url;
  put(link, text);
}

let drawn = '';
/** @param element returns an element by its ID */
export function showSteps(element, steps) {
  element('progress').hidden = steps.length === 0;
  // Render only changes, so that a reader does not lose their place.
  if (JSON.stringify(steps) === drawn) return;
  drawn = JSON.stringify(steps);
  element('steps').replaceChildren(...steps.map(({status, state, label, note, isCurrent}) => {
    const mark = make('span', {class: 'icon'});
    mark.innerHTML = stepIcons[state] ?? stepIcons.upcoming;
    return make('li', {'data-step': status, 'data-state': state, 'aria-current': isCurrent && 'step'},
      mark, make('span', {class: 'name'}, label), make('span', {class: 'state'}, note));
  }));
}

/** @param element returns an element by its ID */
export function showFacts(element, facts) {
  put(element('job-name'), facts.name);
  for (const name of ['job', 'vendor', 'items', 'window', 'note', 'arrival', 'since']) {
    if (!element(name)) continue;
    put(element(name), facts[name]);
    element(name).previousElementSibling.hidden = !facts[name];
  }
}

/** @param why a key of `words.refusals`, or null @param support where help is, or undefined @param say announces a text */
export function showRefusal(place, why, {words, support, say}) {
  place.hidden = why === null;
  if (place.hidden || place.dataset.why === why) return;
  place.dataset.why = why;
  const [what, next] = words.refusals[why];
  const icon = make('span');
  icon.innerHTML = stepIcons.failed;
  place.replaceChildren(icon, make('h1', {tabindex: '-1'}, what), make('p', {class: 'quiet'}, next));
  if (PASSING.includes(why)) {
    const again = make('button', {type: 'button', class: 'primary'}, words.again);
    again.addEventListener('click', () => location.reload());
    place.append(again);
  }
  const link = make('a', {class: 'button', rel: 'noreferrer noopener', hidden: true});
  showSupport(link, support, words.support);
  place.append(link);
  document.title = what;
  say(what);
}
