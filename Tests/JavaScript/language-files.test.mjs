// Languages that an operator adds with a file: the template is what the page says, and the file's texts take the place of the
// built-in ones, with values where the file has them.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import './page.mjs';
import {template} from './language-template.mjs';

const {translated} = await import('../../Sources/WebAssets/web/page.js');
const {words} = await import('../../Sources/WebAssets/web/track-words.js');
const {addWords, arrivalText, englishWords, updatedText} = await import('../../Sources/JavaScript/enroute-words.js');

test('the embedded template has every text of the customer\u2019s page', () => {
  const file = new URL('../../Sources/WebAssets/web/language-template.json', import.meta.url);
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), template,
    'node Tests/JavaScript/language-template.mjs > Sources/WebAssets/web/language-template.json');
});

test('an unchanged template gives the page\u2019s own texts', () => {
  const english = translated(words.en, template.customer);
  const same = (own, built, path = '') => {
    if (typeof built === 'function') {
      const values = ['A', 'B', 'C'].slice(0, built.length);
      assert.equal(own(...values), built(...values), path);
    } else if (typeof built === 'object') {
      for (const key of Object.keys(built)) same(own[key], built[key], `${path}.${key}`);
    } else {
      assert.equal(own, built, path);
    }
  };
  same(english, words.en);
});

test('a translation may change the order of values, and missing texts stay as they are', () => {
  const french = translated(words.en, {
    outcome: {delivery: {both: 'En {time}, par {name}.'}}, states: {complete: 'Fait'},
    refusals: {full: ['Plein.', 'Attendez.']},
  });
  assert.equal(french.outcome.delivery.both('Rosa', '20 minutes'), 'En 20 minutes, par Rosa.');
  assert.equal(french.outcome.delivery.name('Rosa'), words.en.outcome.delivery.name('Rosa'));
  assert.deepEqual([french.states.complete, french.states.active], ['Fait', words.en.states.active]);
  assert.deepEqual(french.refusals.full, ['Plein.', 'Attendez.']);
  assert.equal(translated(words.en, undefined), words.en);
});

test('times and distances are in the language that was added', () => {
  const eta = {state: 'ok', arrivesAt: 300_000};
  assert.match(arrivalText(eta, 0, 'fr'), /^Arriving in 5/);
  addWords('fr-FR', {within: 'Arrivée dans {time}'});
  assert.match(arrivalText(eta, 0, 'fr'), /^Arrivée dans 5/);
  assert.match(updatedText(60_000, 'fr'), /^Last updated il y a 1 minute/);
  assert.match(arrivalText(eta, 0, 'en'), /^Arriving in 5/);
  assert.equal(englishWords.within, 'Arriving in {time}');
});
