// The contrast of the pages' colors, read from the style sheets as served.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

const read = (name) =>
  readFileSync(new URL(`../../Sources/WebAssets/web/${name}.css`, import.meta.url), 'utf8');
const sheets = read('page') + read('track');

/** The variables of one theme. The dark theme's are in media queries and extend the light theme's. */
function theme(isDark) {
  const blocks = (pattern) => [...sheets.matchAll(pattern)].map((match) => match[1]);
  const dark = blocks(/@media \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}/g);
  const light = blocks(/^:root \{([^}]*)\}/gm);
  const found = {};
  for (const block of isDark ? [...light, ...dark] : light) {
    for (const [, name, value] of block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)) found[name] = value;
  }
  return found;
}

/** Relative luminance (WCAG 2.1). */
function luminance(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

const TEXT = {
  ink: ['ground', 'card', 'accent-soft', 'good-soft', 'bad-soft', 'warn-soft'], quiet: ['ground', 'card', 'land'],
  accent: ['card', 'ground', 'accent-soft'], 'on-accent': ['accent'], good: ['card', 'good-soft'],
  bad: ['card', 'bad-soft'], warn: ['card', 'warn-soft'],
};
/** Icons, the route, edges of controls, the focus ring. */
const SHAPES = {
  edge: ['card', 'ground'], accent: ['land', 'card', 'ground'], stale: ['land', 'card'], route: ['land'],
  home: ['land'], 'on-home': ['home'], card: ['stale'], good: ['card'], warn: ['card'], bad: ['card'],
};

for (const [name, isDark] of [['light', false], ['dark', true]]) {
  const colours = theme(isDark);
  for (const [what, least, pairs] of [['text', 4.5, TEXT], ['shapes', 3, SHAPES]]) {
    test(`in the ${name} theme ${what} have a contrast of ${least}:1 or more`, () => {
      for (const [front, grounds] of Object.entries(pairs)) {
        for (const ground of grounds) {
          const ratio = contrast(colours[front], colours[ground]);
          assert.ok(ratio >= least, `${front} ${colours[front]} on ${ground} ${colours[ground]}: ${ratio.toFixed(2)}`);
        }
      }
    });
  }
}
