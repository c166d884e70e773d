// The texts of the pages: both languages have the same ones, and every text is used.

import assert from 'node:assert/strict';
import {readFileSync, readdirSync} from 'node:fs';
import {test} from 'node:test';

import {Place} from './page.mjs';

const folder = new URL('../../Sources/WebAssets/web/', import.meta.url);
const pages = {};
for (const name of ['track', 'rider', 'ops', 'page']) {
  pages[name] = (await import(new URL(`${name}-words.js`, folder))).words;
}
const {permissionWords} = await import(new URL('rider-permission-words.js', folder));
const {auditPanel} = await import(new URL('ops-panels.js', folder));

const source = readdirSync(folder).filter((name) => /\.(js|html)$/.test(name) && !name.endsWith('-words.js'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');

/** Keys that the code puts together or receives from the gateway. */
const LOOKED_UP = ['delivery', 'service', 'approaching', 'arrived', 'followed', 'left', 'read', 'explained', 'wasHidden', 'battery'];

const shape = (value) => (typeof value === 'object' && !Array.isArray(value)
  ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shape(part)])) : typeof value);

test('every text exists in English and in German', () => {
  for (const words of [...Object.values(pages), permissionWords]) assert.deepEqual(shape(words.de), shape(words.en));
});

test('no text contains an identifier of the code', () => {
  const texts = (value) => (typeof value === 'object' ? Object.values(value).flatMap(texts)
    : [typeof value === 'function' ? value('x', 'x') : value]);
  for (const words of [...Object.values(pages), permissionWords]) {
    // A rename that reached into the words once made "You\u2019re" unreadable.
    for (const text of texts([words.en, words.de])) assert.doesNotMatch(text, /\b[a-z]+[A-Z]|[a-z]_[a-z]/, text);
  }
});

test('D32: every text is used', () => {
  for (const [page, words] of Object.entries(pages)) {
    for (const key of Object.keys(words.en)) {
      const name = key.replace(/Since$/, '');
      const isUsed = new RegExp(`(words|shared)\\.${name}\\b|data-(word|label)="${name}"|'${name}'`).test(source);
      assert.ok(isUsed || LOOKED_UP.includes(key), `${page}: ${key}`);
    }
  }
});

test('D32: the German activity list is in German', () => {
  const panel = new Place();
  const [words, link, now] = [pages.ops.de, (job) => job, Date.now()];
  auditPanel(panel, {
    changes: [
      {id: `${now}-0`, rider: 'rider-1', change: 'assigned', job: 'order-7', actor: 'dispatch'},
      {id: `${now}-1`, rider: 'rider-1', change: 'released', job: 'order-7', reason: 'completed', actor: 'rider-1'},
    ],
    accesses: [
      {id: `${now}-0`, type: 'followed', job: 'order-7', person: 'anna', role: 'customer', via: 'link'},
      {id: `${now}-1`, type: 'read', job: 'order-7', person: 'olga', role: 'ops', via: 'rest'},
    ],
  }, {words, link, name: (job) => job});
  const lines = panel.querySelectorAll('li').map(({textContent}) => textContent.replace(/^[\d:]+\s?[AP]?M?\s/, ''));
  assert.deepEqual(lines, [
    'rider-1 bekam order-7 von dispatch', 'rider-1 gab ab: order-7 (erledigt)', 'anna öffnete order-7 über einen Link',
    'olga (ops) sah den Standort von order-7',
  ]);
});

test('every change of a rider has a name in both languages', () => {
  const swift = readFileSync(new URL('../../Sources/EnrouteWire/Riders/RiderChange.swift', import.meta.url), 'utf8');
  const body = /enum Kind: String[^{]*\{([^}]*)\}/.exec(swift)[1].replace(/\/\/.*$/gm, '');
  const kinds = [...body.matchAll(/case ([^\n]+)/g)].flatMap(([, list]) => list.split(',')).map((kind) => {
    const [name, raw] = kind.trim().split(' = ');
    return raw ? raw.replaceAll('"', '') : name;
  });
  assert.ok(kinds.includes('unreachable_with_task') && kinds.includes('assigned'));
  for (const language of ['en', 'de']) {
    for (const kind of kinds) assert.ok(pages.ops[language].changeNames[kind], `${language}: ${kind}`);
  }
});

test('every verdict has a name in both languages', () => {
  const swift = readFileSync(new URL('../../Sources/Tracking/FixVerdict.swift', import.meta.url), 'utf8');
  const body = /enum FixRefusal: String[^{]*\{([^}]*)\}/.exec(swift)[1];
  const refusals = [...body.matchAll(/case (\w+)(?: = "(\w+)")?/g)].map(([, name, raw]) => raw ?? name);
  assert.ok(refusals.includes('out_of_range') && refusals.includes('mocked'));
  for (const language of ['en', 'de']) {
    assert.deepEqual(Object.keys(pages.ops[language].verdictNames).sort(), ['accepted', 'held', ...refusals].sort());
  }
});

/** Texts of the link that only exists if the operator set one. */
const WITH_SUPPORT = ['support', 'wrong'];
// Shown only if the gateway reports that it is possible (track-actions.js).
const WITH_CANCEL = ['cancel', 'cancelAsk', 'cancelYes', 'tooLate'];

test('D9: only the buttons and their questions offer a cancellation, and only the support link offers support', () => {
  const texts = (value) => (typeof value === 'object' ? Object.values(value).flatMap(texts)
    : [typeof value === 'function' ? value('x', 'x') : value]);
  for (const language of ['en', 'de']) {
    const file = new URL(`../../Sources/EnrouteWire/Texts/${language}.json`, import.meta.url);
    const own = Object.entries(pages.track[language])
      .filter(([key]) => ![...WITH_SUPPORT, ...WITH_CANCEL].includes(key)).map(([, text]) => text);
    const all = [...texts(JSON.parse(readFileSync(file, 'utf8'))), ...texts(own)];
    assert.ok(all.length > 100);
    for (const text of all) assert.doesNotMatch(text, /support|can(not)? cancel|or cancel|stornieren/i, text);
  }
});

test('texts use typographic apostrophes and ellipses, except two that the user stories quote', () => {
  const QUOTED = ["We're having trouble finding a rider", 'ETA recalculating...'];
  const texts = (value) => (typeof value === 'object' ? Object.values(value).flatMap(texts)
    : [typeof value === 'function' ? value('x', 'x', 'x') : value]);
  const gatewayTexts = (language) => JSON.parse(
    readFileSync(new URL(`../../Sources/EnrouteWire/Texts/${language}.json`, import.meta.url), 'utf8'));
  const everyText = (language) => [
    ...texts(gatewayTexts(language)), ...[...Object.values(pages), permissionWords].flatMap((words) => texts(words[language])),
  ].filter((text) => !QUOTED.includes(text));
  for (const text of [...everyText('en'), ...everyText('de')]) assert.doesNotMatch(text, /'|\.\.\./, text);
  // In English an ellipsis follows its word; in German a space separates them.
  for (const text of everyText('en')) assert.doesNotMatch(text, /\s…/, text);
  for (const text of everyText('de')) assert.doesNotMatch(text, /\S…/, text);
});
