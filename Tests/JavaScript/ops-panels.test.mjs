// A card that says the same is left as it is, unless it was emptied meanwhile.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place} from './page.mjs';

const {clear, replace} = await import('../../Sources/WebAssets/web/ops-panels.js');

test('a panel that is given what is there already is not touched', () => {
  const panel = new Place();
  replace(panel, {count: 1}, () => ['first']);
  replace(panel, {count: 1}, () => ['second']);
  assert.deepEqual(panel.children, ['first']);
});

test('a panel that was emptied is written again, also with what stood there before', () => {
  const panel = new Place();
  replace(panel, {count: 0}, () => ['nobody']);
  clear(panel);
  assert.deepEqual(panel.children, []);
  replace(panel, {count: 0}, () => ['nobody']);
  assert.deepEqual(panel.children, ['nobody']);
});
