// A panel is rendered only if its content changed, unless it was cleared. The riders' panel counts more riders than it lists.
// Jobs have their order numbers.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place} from './page.mjs';

globalThis.CSS ??= {escape: (text) => text};
globalThis.Node ??= Place;
const {auditPanel, clear, replace, ridersPanel, verdictsPanel} = await import('../../Sources/WebAssets/web/ops-panels.js');
const {words} = await import('../../Sources/WebAssets/web/ops-words.js');

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

/** The panel of a zone of which the gateway lists so many free riders. */
function ridersOf(answer, {listed = 1, language = 'en'} = {}) {
  const panel = new Place();
  const riders = Array.from({length: listed}, (_, at) => (
    {rider: `r-${at}`, reachable: true, approved: true, available: true, draining: false, capacity: 1, tasks: []}));
  ridersPanel(panel, {zone: 'rome', riders, ...answer}, {words: words[language], now: 0});
  return panel;
}
const head = (panel) => panel.children[0].textContent;

test('the numbers of free and busy riders count the zone, not only the listed riders', () => {
  const panel = ridersOf({count: 4_285, free: 1_300, busy: 12}, {listed: 1_000});
  assert.equal(head(panel), 'Riders online1,300 free · 12 busy · 2,973 not available');
  assert.equal(panel.querySelectorAll('tr').length, 1 + 100);
  assert.equal(panel.children.at(-1).textContent, 'and 4,185 more');
});

test('riders who are not available are counted only if there are some, and an empty zone has no numbers', () => {
  assert.equal(head(ridersOf({count: 2, free: 1, busy: 1})), 'Riders online1 free · 1 busy');
  // The numbers were read one after the other.
  assert.equal(head(ridersOf({count: 1, free: 1, busy: 1})), 'Riders online1 free · 1 busy');
  assert.equal(head(ridersOf({count: 0, free: 0, busy: 0}, {listed: 0})), 'Riders online');
  assert.equal(head(ridersOf({count: 3})), 'Riders online', 'a gateway of the previous version does not count them');
  assert.match(head(ridersOf({count: 3, free: 0, busy: 1}, {language: 'de'})), /0 frei · 1 beschäftigt · 2 nicht verfügbar$/);
});

test('riders that only change their number render the panel again', () => {
  const panel = new Place();
  const show = (free) => ridersPanel(panel, {riders: [], count: 9, free, busy: 0}, {words: words.en, now: 0});
  show(4);
  assert.match(head(panel), /4 free/);
  show(5);
  assert.match(head(panel), /5 free/);
});

/** The text of a panel about order-1, which has an order number, and order-2, which has ended. */
function told(panel, answer, name = (job) => ({'order-1': 'A-7'})[job] ?? job, place = new Place()) {
  panel(place, answer, {words: words.en, now: 0, link: (job) => `?job=${job}`, name});
  return place;
}

test('the panels name jobs by their order numbers', () => {
  const jobs = ['order-1', 'order-2'];
  const rider = {rider: 'ben', reachable: true, approved: true, available: false, draining: false, capacity: 2, tasks: jobs};
  assert.match(told(ridersPanel, {riders: [rider], count: 1, free: 0, busy: 1}).textContent, /A-7, order-2/);
  const refused = told(verdictsPanel, {counts: [], jobs: jobs.map((job) => ({job, refused: 3, counts: []}))});
  const links = refused.querySelectorAll('a').map(
    (link) => [link.textContent, link.getAttribute('href'), link.getAttribute('title')]);
  assert.deepEqual(links, [['A-7', '?job=order-1', 'order-1'], ['order-2', '?job=order-2', 'order-2']]);
  const audit = told(auditPanel, {
    changes: [{id: '1-0', rider: 'ben', change: 'assigned', job: 'order-1'}, {id: '2-0', rider: 'ben', change: 'online'}],
    accesses: [{id: '3-0', type: 'followed', job: 'order-1', person: 'anna', role: 'customer', via: 'token'}],
  });
  const lines = audit.querySelectorAll('li').map(({children: [, , text]}) => text);
  assert.deepEqual(lines, ['ben was assigned A-7', 'ben went online', 'anna started following A-7']);
});

test('a panel is rendered again once an order number is known', () => {
  const place = new Place();
  const answer = {changes: [{id: '1-0', rider: 'ben', change: 'assigned', job: 'order-1'}], accesses: []};
  told(auditPanel, answer, (job) => job, place);
  assert.match(place.textContent, /was assigned order-1/);
  told(auditPanel, answer, undefined, place);
  assert.match(place.textContent, /was assigned A-7/);
});
