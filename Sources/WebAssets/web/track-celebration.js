// A moment of delight when the order is at the door: paper confetti for two seconds. It is only decoration, so people who
// prefer reduced motion do not get it.

import {make, wantsStillness} from './page.js';

const PIECES = 28;
// ms for which it falls.
const LASTS = 2_600;

/** @param place the element above which the confetti falls */
export function celebrate(place) {
  if (wantsStillness()) return;
  const paper = make('div', {class: 'confetti', 'aria-hidden': 'true'});
  for (let piece = 0; piece < PIECES; piece += 1) {
    const part = make('i');
    const style = {
      '--left': `${Math.round(100 * (piece + Math.random()) / PIECES)}%`, '--wait': `${Math.round(Math.random() * 500)}ms`,
      '--drift': `${Math.round(Math.random() * 120 - 60)}px`, '--turn': `${Math.round(Math.random() * 720 - 360)}deg`,
    };
    for (const [name, value] of Object.entries(style)) part.style.setProperty(name, value);
    part.dataset.colour = String(piece % 4);
    paper.append(part);
  }
  place.append(paper);
  setTimeout(() => paper.remove(), LASTS);
}
