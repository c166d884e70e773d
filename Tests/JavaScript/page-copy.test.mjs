// Phrases that were retired because customers and riders misread them (section 7 of the review of the pages), and what replaced
// them. A text of a page or of the gateway that brings one back fails here.

import assert from 'node:assert/strict';
import {readFileSync, readdirSync} from 'node:fs';
import {test} from 'node:test';

const read = (path) => readFileSync(new URL(`../../Sources/${path}`, import.meta.url), 'utf8');
const sources = [
  ...readdirSync(new URL('../../Sources/WebAssets/web/', import.meta.url))
    .filter((name) => /^(track|rider|page)/.test(name) && /\.(js|html)$/.test(name)).map((name) => `WebAssets/web/${name}`),
  'EnrouteWire/Texts/en.json', 'EnrouteWire/Texts/de.json', 'JavaScript/enroute-words.js', 'REST/Pages/ErrorPage.swift',
];
/** What people read: the source without comments, with typographic and straight apostrophes alike. */
const texts = Object.fromEntries(sources.map((name) => [
  name, read(name).replace(/^\s*(\/\/|\/?\*).*$/gm, '').replaceAll('’', "'").replaceAll('\\u2019', "'"),
]));

const RETIRED = [
  'Ready for pickup', 'once it is on its way', 'picks it up when it is ready', 'The vendor usually answers',
  'Live location will be available once the rider', 'paused by hand', 'does not mean arrival', 'is searching for its position',
  'There is no connection to the phone', 'is not up to date', 'away when last seen', 'Somebody else comes to you',
  'is expected to arrive', 'You do not need to do anything', 'If something is wrong, contact support',
  'If you did not expect this, contact support', 'Will not happen', 'To come', 'Needs time', 'You are told when',
  'the longest time allowed', 'You see what was known at', 'can be seen again once', 'is not valid any more',
  'There is nothing to follow here', 'is open in too many places', 'for people who are signed in', 'Go on',
  'stands at the end of a link', 'You get new tasks', 'I am at the store', 'I have picked it up', 'work begins',
  'Give this task back', 'Give back for good', 'Reported every', 'too inexact', 'Location was taken back',
  'Your browser got no answer', 'You have switched this often', 'not open these settings',
  'longer than promised', 'Not you?', 'Tell me when', "Don't tell me", 'Brought by', 'Done by', 'is out of signal',
  'as many tasks as you can take', 'Hold the button', 'stops by itself', 'where you were last', 'The shop',
  'Verfolger', 'Live-Verfolgung', 'Warum dunkel', 'Urteile über Messungen', 'Abholbereit', 'Zugestellt',
  'bedeutet keine Ankunft', 'von Hand', 'Gebracht von', 'zu viele Leute', 'Bescheid geben', 'Kopieren ging', 'Der Laden',
];

const FOR_RIDERS = ['Ready for pickup', 'Abholbereit'];

test('no text of the customer\'s or the rider\'s page brings a retired phrase back', () => {
  assert.ok(Object.keys(texts).length > 20);
  for (const [name, text] of Object.entries(texts)) {
    // A rider does pick an order up.
    const retired = name.includes('rider-') ? RETIRED.filter((phrase) => !FOR_RIDERS.includes(phrase)) : RETIRED;
    assert.deepEqual(retired.filter((phrase) => new RegExp(`${phrase}(?![a-z])`).test(text)), [], name);
  }
});

test('customers read the new phrases', () => {
  const all = Object.values(texts).join('\n');
  for (const phrase of [
    'Your order is ready – waiting for a rider', 'You can follow your rider as soon as they set off.',
    "A rider will collect it when it's ready.", 'They usually confirm within a few minutes.',
    "Your rider has paused location sharing. They're still on the way.", 'This tracking link has expired or is incomplete.',
    "We can't find this order or visit.", 'Too many people are viewing this link.', 'Sign in to see your order or visit',
    'Fertig – wartet auf den Fahrer', 'Geliefert',
  ]) assert.ok(all.includes(phrase), phrase);
});

test('no English text calls a rider "it", and no German one is informal', () => {
  for (const [name, text] of Object.entries(texts)) {
    assert.doesNotMatch(text, /\b(rider|technician) (is|has) on its way|\bonce it sets off/i, name);
    assert.doesNotMatch(text, /['"`>][^'"`<]*\b(du|dein|deine|dich|dir)\b [a-zäöü]/, name);
  }
});
