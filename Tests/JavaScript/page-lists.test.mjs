// Right-to-left texts among others.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {isolated, listed} from '../../Sources/WebAssets/web/page-lists.js';

test('a left-to-right text stays unchanged', () => {
  for (const text of ['', '2 × Margherita', 'Größe: 3\nAb 5 €', '寿司', 'Борщ!']) assert.equal(isolated(text), text);
});

test('each line of a right-to-left text has its own direction', () => {
  for (const text of ['فلافل!', 'פלאפל', 'ﻻ', 'ܠܚܡ']) assert.equal(isolated(text), `\u2068${text}\u2069`);
  assert.equal(isolated('2 × فلافل!\n\nRing twice'), '\u20682 × فلافل!\u2069\n\n\u2068Ring twice\u2069');
});

test('a list omits missing items', () => {
  assert.equal(listed(['a', null, undefined, '', 'פ', 'b']), 'a, \u2068פ\u2069, b');
  assert.equal(listed(['a', 'b'], ' · '), 'a · b');
});
