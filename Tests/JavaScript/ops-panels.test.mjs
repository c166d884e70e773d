// A panel is rendered only if its content changed, unless it was cleared.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place} from './page.mjs';

globalThis.CSS ??= {escape: (text) => text};
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

test('a field that is rendered again keeps the focus and the selection', () => {
  const panel = new Place();
  const field = () => Object.assign(new Place(), {
    dataset: {place: 'text'}, setSelectionRange(...all) { [this.selectionStart, this.selectionEnd] = all; },
  });
  panel.querySelector = () => panel.children[0];
  replace(panel, {row: 1}, () => [field()]);
  panel.children[0].focus();
  panel.children[0].setSelectionRange(0, 3);
  replace(panel, {row: 2}, () => [field()]);
  assert.equal(document.activeElement, panel.children[0]);
  assert.deepEqual([panel.children[0].selectionStart, panel.children[0].selectionEnd], [0, 3]);
});
