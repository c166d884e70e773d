// The customer's actions: what is offered in which status, what is sent, and what the page shows when it fails.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place, page} from './page.mjs';

const {CustomerActions, offered} = await import('../../Sources/WebAssets/web/track-actions.js');
const {words: all} = await import('../../Sources/WebAssets/web/track-words.js');

const words = all.en;
const EARLY = {known: true, ended: null, status: 'pending_vendor_acceptance', kind: 'delivery'};
const CAN = {note: '', cancelFrom: ['pending_vendor_acceptance', 'allocation_failed']};

Object.defineProperty(Place.prototype, 'id', {get() { return this.getAttribute('id') ?? ''; }});

/** The panel, what it sent, and the responses that it gets. */
function panel({can = CAN, view = EARLY, answers = [], nows = [], isSameTab = false} = {}) {
  if (!isSameTab) sessionStorage.clear();
  const [place, headline, sent, said] = [new Place(), new Place(), [], []];
  place.contains = (other) => Boolean(other?.id) && place.querySelector(`#${other.id}`) === other;
  place.querySelector = function find(what) {
    const isThis = (child) => (what.startsWith('#') ? child.getAttribute('id') === what.slice(1) : child.tag === what);
    const inside = (parent) => parent.children.filter((child) => child instanceof Place)
      .flatMap((child) => [...(isThis(child) ? [child] : []), ...inside(child)]);
    return inside(place)[0] ?? null;
  };
  const actions = new CustomerActions(place, {
    words, job: 'order-1', header: () => 'Link s', say: (text) => said.push(text), makeKey: () => 'key-1',
    request: async (...request) => { sent.push(request); return answers.shift() ?? 200; },
    after: headline,
    read: async () => {
      const now = nows.shift() ?? null;
      if (now) actions.show(now, view);
      return now;
    },
  });
  actions.show(can, view);
  const find = (id) => place.querySelector(`#${id}`);
  const tap = async (id) => { find(id).happens('click'); await new Promise(setImmediate); };
  const type = (text) => {
    find('note-text').value = text;
    find('note-text').happens('input');
  };
  return {actions, place, headline, sent, said, find, tap, type};
}

test('only actions that the gateway allows in this status are offered', () => {
  for (const [can, view, note, cancel] of [
    [CAN, EARLY, true, true], [CAN, {...EARLY, status: 'preparing'}, true, false],
    [CAN, {...EARLY, status: 'allocation_failed'}, true, true], [CAN, {...EARLY, status: 'delivered'}, false, false],
    [CAN, {...EARLY, status: 'cancelled'}, false, false], [CAN, {...EARLY, ended: 'revoked'}, false, false],
    [CAN, {...EARLY, known: false}, false, false], [{note: 'x'}, EARLY, true, false], [null, EARLY, false, false],
    [{cancelFrom: ['assigned']}, EARLY, false, false], [{}, EARLY, false, false],
  ]) assert.deepEqual(offered(can, view), {note, cancel}, JSON.stringify([can, view]));
});

test('an expired session is the reason why an action failed, not the connection', async () => {
  const {actions, tap, type, place} = panel({answers: [401]});
  actions.words = {...words, signInExpired: 'Sign in again.'};
  await tap('note-open');
  type('Gate 5');
  await tap('note-save');
  assert.equal(place.children.at(-1).textContent, 'Sign in again.');
});

test('nothing offered hides the panel', () => {
  const {place, actions} = panel();
  assert.equal(place.hidden, false);
  actions.show(CAN, {...EARLY, status: 'delivered'});
  assert.deepEqual([place.hidden, place.children.length], [true, 0]);
});

test('a note is saved, shown and announced, and can be changed', async () => {
  const {find, tap, type, sent, said, place} = panel();
  await tap('note-open');
  assert.equal(page.activeElement.tag, 'textarea');
  type('  Gate code 42\n');
  await tap('note-save');
  assert.deepEqual(sent, [['PUT', 'jobs/order-1/note', {note: 'Gate code 42'}, 'Link s', undefined]]);
  assert.deepEqual(said, [words.noteSaved]);
  assert.equal(find('own-note').textContent, 'Gate code 42');
  await tap('note-open');
  assert.equal(place.querySelector('textarea').value, 'Gate code 42');
  await tap('note-save');
  assert.equal(sent.length, 1, 'an unchanged note is not sent');
});

test('the typed text stays when saving fails and when the order changes meanwhile', async () => {
  const {actions, find, tap, type, place} = panel({answers: [0, 409]});
  await tap('note-open');
  type('Ring twice');
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

test('a cancellation without a response is repeated under the same key', async () => {
  const {tap, sent, place} = panel({answers: [0, 200]});
  await tap('cancel-open');
  await tap('cancel-confirm');
  assert.ok(place.textContent.includes(words.actionFailed));
  await tap('cancel-confirm');
  const request = ['POST', 'jobs/order-1/status', {status: 'cancelled'}, 'Link s', {'Idempotency-Key': 'key-1'}];
  assert.deepEqual(sent, [request, request]);
});

test('a status that arrives first makes a cancellation too late', async () => {
  const {actions, tap, place} = panel({answers: [409]});
  await tap('cancel-open');
  await tap('cancel-confirm');
  assert.ok(place.textContent.includes(words.tooLate.cancel));
  actions.show(CAN, {...EARLY, status: 'preparing'});
  assert.ok(!place.textContent.includes(words.tooLate.cancel));
});

const TAGGED = {...CAN, tag: '"e.1-0.1-d"'};

test('the form shows the current note, not that from when the page was opened', async () => {
  const {find, tap} = panel({can: TAGGED, nows: [{...TAGGED, note: 'Gate code 1234', tag: '"e.1-0.2-d"'}]});
  await tap('note-open');
  assert.equal(find('note-text').value, 'Gate code 1234');
});

test('a note that was saved elsewhere meanwhile is shown before it is replaced, and the typed text stays', async () => {
  const now = {...TAGGED, note: 'Gate code 1234', tag: '"e.1-0.2-d"'};
  const {find, tap, type, sent, said, place} = panel({can: TAGGED, answers: [412], nows: [TAGGED, now]});
  await tap('note-open');
  type('Ring twice');
  await tap('note-save');
  assert.deepEqual(sent, [['PUT', 'jobs/order-1/note', {note: 'Ring twice'}, 'Link s', {'If-Match': TAGGED.tag}]]);
  assert.ok(place.textContent.includes(`${words.noteChanged}\nGate code 1234`));
  assert.equal(find('note-text').value, 'Ring twice');
  assert.deepEqual(said, []);
  await tap('note-save');
  assert.deepEqual(sent[1], ['PUT', 'jobs/order-1/note', {note: 'Ring twice'}, 'Link s', {'If-Match': now.tag}]);
  assert.deepEqual([said, find('own-note').textContent], [[words.noteSaved], 'Ring twice']);
});

test('a note that another device saved while this one was typed is shown as soon as the page knows it', async () => {
  const {actions, find, tap, type, place} = panel({can: TAGGED, nows: [TAGGED]});
  await tap('note-open');
  type('Ring twice');
  actions.show({...TAGGED, note: 'Gate code 1234'}, EARLY);
  assert.ok(place.textContent.includes('Gate code 1234'));
  assert.equal(find('note-text').value, 'Ring twice');
});

test('a job that changed, but not its note, lets the note be saved with the newer tag', async () => {
  const now = {...TAGGED, tag: '"e.2-0.1-d"'};
  const {tap, type, sent, said} = panel({can: TAGGED, answers: [412], nows: [TAGGED, now]});
  await tap('note-open');
  type('Ring twice');
  await tap('note-save');
  assert.deepEqual(sent.map(([, , , , {'If-Match': tag}]) => tag), [TAGGED.tag, now.tag]);
  assert.deepEqual(said, [words.noteSaved]);
});

test('a job that changes all the time is not tried forever, and without a state the failure is shown', async () => {
  for (const [nows, tries] of [[[TAGGED, TAGGED, TAGGED, TAGGED], 3], [[TAGGED], 1]]) {
    const {tap, type, sent, place} = panel({can: TAGGED, answers: [412, 412, 412, 412], nows: [...nows]});
    await tap('note-open');
    type('Ring twice');
    await tap('note-save');
    assert.equal(sent.length, tries);
    assert.ok(place.textContent.includes(words.actionFailed));
  }
});

test('a note whose response was lost counts as saved', async () => {
  const now = {...TAGGED, note: 'Ring twice', tag: '"e.1-0.2-d"'};
  const {tap, type, sent, said} = panel({can: TAGGED, answers: [0, 412], nows: [TAGGED, now]});
  await tap('note-open');
  type('Ring twice');
  await tap('note-save');
  await tap('note-save');
  assert.deepEqual([sent.length, said], [2, [words.noteSaved]]);
});

test('the typed text survives a reload in another language, until it is saved or dropped', async () => {
  const before = panel({can: {...CAN, note: 'Old'}});
  await before.tap('note-open');
  before.type('Newer');
  const after = panel({can: {...CAN, note: 'Old'}, isSameTab: true});
  assert.equal(after.find('note-text').value, 'Newer');
  assert.ok(!after.place.textContent.includes(words.noteChanged));
  const changed = panel({can: {...CAN, note: 'Changed elsewhere'}, isSameTab: true});
  assert.ok(changed.place.textContent.includes(`${words.noteChanged}\nChanged elsewhere`));
  await changed.tap('note-back');
  const dropped = panel({can: {...CAN, note: 'Old'}, isSameTab: true});
  assert.equal(dropped.find('note-text'), null);
});

test('when the panel disappears, the headline gets its keyboard focus', async () => {
  const {actions, headline, tap} = panel();
  await tap('note-open');
  actions.show(CAN, {...EARLY, status: 'delivered'});
  assert.equal(page.activeElement, headline);
  page.activeElement = null;
  actions.show(CAN, EARLY);
  actions.show(CAN, {...EARLY, status: 'delivered'});
  assert.equal(page.activeElement, null, 'somebody who is elsewhere stays there');
});
