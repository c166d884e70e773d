// What the card of a task says about its state.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import './page.mjs';

const {statusText} = await import('../../Sources/WebAssets/web/rider-list.js');
const {words} = await import('../../Sources/WebAssets/web/rider-words.js');

test('D30: a card shows one state, and two only while the rider waits for the vendor', () => {
  const said = (status, task) => statusText({kind: 'delivery', status}, task, words.en);
  assert.deepEqual([said('in_transit', 'in_transit'), said('in_transit', 'accepted'), said('in_transit', null)],
    ['In transit', 'Accepted', 'In transit']);
  assert.equal(said('preparing', 'accepted'), 'Accepted · Being prepared');
  assert.equal(said('delivered', 'in_transit'), 'Delivered');
});
