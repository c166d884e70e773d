// What the customer may do: what is offered in which status, what is sent, and what the page says when it fails.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place, page} from './page.mjs';

const {CustomerActions, offered} = await import('../../Sources/WebAssets/web/track-actions.js');
const {words: all} = await import('../../Sources/WebAssets/web/track-words.js');

const words = all.en;
const EARLY = {known: true, ended: null, status: 'pending_vendor_acceptance', kind: 'delivery'};
const CAN = {note: '', cancelFrom: ['pending_vendor_acceptance', 'allocation_failed']};

/** The panel, what it sent, and the answers that it gets. */
function panel({can = CAN, view = EARLY, answers = []} = {}) {
  const [place, sent, said] = [new Place(), [], []];
  place.querySelector = function find(what) {
    const isThis = (child) => (what.startsWith('#') ? child.getAttribute('id') === what.slice(1) : child.tag === what);
    const inside = (parent) => parent.children.filter((child) => child instanceof Place)
      .flatMap((child) => [...(isThis(child) ? [child] : []), ...inside(child)]);
    return inside(place)[0] ?? null;
  };
  const actions = new CustomerActions(place, {
    words, job: 'order-1', header: () => 'Link s', say: (text) => said.push(text), makeKey: () => 'key-1',
    request: async (...request) => { sent.push(request); return answers.shift() ?? 200; },
  });
  actions.show(can, view);
  const find = (id) => place.querySelector(`#${id}`);
  const tap = async (id) => { find(id).happens('click'); await new Promise(setImmediate); };
  return {actions, place, sent, said, find, tap};
}

test('only what the gateway allows in this status is offered', () => {
  for (const [can, view, note, cancel] of [
    [CAN, EARLY, true, true], [CAN, {...EARLY, status: 'preparing'}, true, false],
    [CAN, {...EARLY, status: 'allocation_failed'}, true, true], [CAN, {...EARLY, status: 'delivered'}, false, false],
    [CAN, {...EARLY, status: 'cancelled'}, false, false], [CAN, {...EARLY, ended: 'revoked'}, false, false],
    [CAN, {...EARLY, known: false}, false, false], [{note: 'x'}, EARLY, true, false], [null, EARLY, false, false],
    [{cancelFrom: ['assigned']}, EARLY, false, false], [{}, EARLY, false, false],
  ]) assert.deepEqual(offered(can, view), {note, cancel}, JSON.stringify([can, view]));
});

test('nothing offered hides the panel', () => {
  const {place, actions} = panel();
  assert.equal(place.hidden, false);
  actions.show(CAN, {...EARLY, status: 'delivered'});
  assert.deepEqual([place.hidden, place.children.length], [true, 0]);
});

test('a note is saved, shown and announced, and can be changed', async () => {
  const {find, tap, sent, said, place} = panel();
  await tap('note-open');
  assert.equal(page.activeElement.tag, 'textarea');
  find('note-text').value = '  Gate code 42\n';
  await tap('note-save');
  assert.deepEqual(sent, [['PUT', 'jobs/order-1/note', {note: 'Gate code 42'}, 'Link s', null]]);
  assert.deepEqual(said, [words.noteSaved]);
  assert.equal(find('own-note').textContent, 'Gate code 42');
  await tap('note-open');
  assert.equal(place.querySelector('textarea').value, 'Gate code 42');
  await tap('note-save');
  assert.equal(sent.length, 1, 'an unchanged note is not sent');
});

test('what was typed stays when saving fails and when the order changes meanwhile', async () => {
  const {actions, find, tap, place} = panel({answers: [0, 409]});
  await tap('note-open');
  find('note-text').value = 'Ring twice';
  actions.show(CAN, {...EARLY, status: 'preparing'});
  assert.equal(find('note-text').value, 'Ring twice');
  await tap('note-save');
  assert.equal(find('note-text').value, 'Ring twice');
  assert.ok(place.textContent.includes(words.actionFailed));
  await tap('note-save');
  assert.ok(place.textContent.includes(words.tooLate.note));
});

test('cancelling asks first, and keeping the order sends nothing', async () => {
  const {tap, sent, said, find} = panel();
  await tap('cancel-open');
  assert.deepEqual(said, [words.cancelAsk.delivery]);
  assert.equal(page.activeElement, find('cancel-keep'));
  await tap('cancel-keep');
  assert.equal(find('cancel-confirm'), null);
  assert.deepEqual(sent, []);
});

test('a cancellation without an answer is repeated under the same key', async () => {
  const {tap, sent, place} = panel({answers: [0, 200]});
  await tap('cancel-open');
  await tap('cancel-confirm');
  assert.ok(place.textContent.includes(words.actionFailed));
  await tap('cancel-confirm');
  const request = ['POST', 'jobs/order-1/status', {status: 'cancelled'}, 'Link s', 'key-1'];
  assert.deepEqual(sent, [request, request]);
});

test('a status that came first makes a cancellation too late', async () => {
  const {actions, tap, place} = panel({answers: [409]});
  await tap('cancel-open');
  await tap('cancel-confirm');
  assert.ok(place.textContent.includes(words.tooLate.cancel));
  actions.show(CAN, {...EARLY, status: 'preparing'});
  assert.ok(!place.textContent.includes(words.tooLate.cancel));
});
