// A panel is rendered only if its content changed, unless it was cleared.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place} from './page.mjs';

const {clear, replace} = await import('../../Sources/WebAssets/web/ops-panels.js');

test('a panel with unchanged content is not touched', () => {
  const panel = new Place();
  replace(panel, {count: 1}, () => ['first']);
  replace(panel, {count: 1}, () => ['second']);
  assert.deepEqual(panel.children, ['first']);
});

test('a cleared panel is rendered again, even with the same content', () => {
  const panel = new Place();
  replace(panel, {count: 0}, () => ['nobody']);
  clear(panel);
  assert.deepEqual(panel.children, []);
  replace(panel, {count: 0}, () => ['nobody']);
  assert.deepEqual(panel.children, ['nobody']);
});
