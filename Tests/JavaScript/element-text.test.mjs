// What `<enroute-job>` says, for every state of a job and a connection, in both languages. That the element connects, and shows
// it to people, is tested in Chromium (Tests/Browser/test_element.py).

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import {LINK, LOST_AFTER, STALE_AFTER, elementTexts} from '../../Sources/JavaScript/element-text.js';
import {EnrouteJob, defineEnrouteJob} from '../../Sources/JavaScript/element.js';
import {reduce, unknownView} from '../../Sources/JavaScript/enroute-view.js';
import {snapshot} from './connected.mjs';

const textsOf = (language) => JSON.parse(
  readFileSync(new URL(`../../Sources/EnrouteWire/Texts/${language}.json`, import.meta.url), 'utf8'));
const [en, de] = [textsOf('en'), textsOf('de')];
const NOW = 1_795_000_000_000;
const position = {id: '0000000000000001', at: NOW, received: NOW, job: 'v', lat: 41, lon: 12};
const eta = {state: 'ok', arrivesAt: NOW + 720_000, at: NOW};

const viewOf = (more) => reduce(
  unknownView('v'), {type: 'subscribed', job: 'v', snapshot: snapshot(more)}, 0, {wall: NOW}).view;
const live = (more = {}) => viewOf({tracking: 'live', text: 'live', position, eta, ...more});
const shown = (view, {language = 'en', texts = language === 'de' ? de : en, ...more} = {}) => {
  const moment = {
    connection: {state: 'open', degraded: false}, lostFor: 0, now: 0, wall: NOW, locale: language, isLink: false, ...more,
  };
  const all = elementTexts(view, moment, texts);
  assert.deepEqual(Object.keys(all), ['status', 'tracking', 'arrival', 'updated', 'note']);
  for (const text of Object.values(all)) assert.equal(typeof text, 'string');
  return Object.values(all).filter((text) => text !== '').map((text) => text.replace(/\s/g, ' '));
};

test('a job on its way shows its status, tracking state and arrival time', () => {
  assert.deepEqual(shown(live()), ['Your technician is on the way', 'Live', 'Arriving in 12 min']);
  assert.deepEqual(shown(live(), {language: 'de'}), ['Ihr Techniker ist unterwegs', 'Live', 'Ankunft in 12 Min.']);
  assert.deepEqual(shown(live({eta: {...eta, stopsBefore: 1}})).at(-1), 'Arriving in 12 min, after another stop');
  assert.deepEqual(shown(live({eta: null})), ['Your technician is on the way', 'Live']);
});

test('the gateway clock counts, not the local one', () => {
  const ahead = {...live(), clockOffset: 60_000};
  assert.equal(shown(ahead).at(-1), 'Arriving in 11 min');
});

test('a stale position has an age, and no arrival time', () => {
  const late = {now: STALE_AFTER + 30_000, wall: NOW + STALE_AFTER + 30_000};
  for (const view of [live(), live({tracking: 'stale', text: 'stale'})]) {
    assert.deepEqual(shown(view, late), [
      'Your technician is on the way', 'Last known location', 'ETA recalculating…', 'Last updated 1 minute ago',
    ]);
  }
  assert.equal(shown(live(), {...late, heardAt: late.wall - 20_000})[1], 'Live', 'the gateway decides while it is heard');
  const why = {...live({tracking: 'stale', text: 'stale'}), unavailable: 'unavailable_no_fix'};
  assert.equal(shown(why)[1], en.tracking.unavailable_no_fix.service);
});

test('every tracking state of a job on its way has a text, and no position shows no arrival', () => {
  const states = {waiting: 'No live location yet', paused: 'Location sharing paused', arrived: 'Arrived'};
  for (const [state, text] of Object.entries(states)) {
    assert.deepEqual(shown(viewOf({tracking: state, text: state, eta})), ['Your technician is on the way', text]);
  }
  const denied = viewOf({tracking: 'waiting', text: 'waiting', unavailable: 'unavailable_permission_denied'});
  assert.equal(shown(denied)[1], en.tracking.unavailable_permission_denied.service);
});

test('before and after the trip only the status is shown', () => {
  for (const status of Object.keys(en.statuses).filter((name) => !['on_the_way', 'in_transit'].includes(name))) {
    assert.equal(shown(viewOf({status, position, eta})).length, 1, status);
  }
  assert.deepEqual(shown(viewOf({status: 'completed'})), ['Completed']);
});

test('without translations the names of the protocol are readable', () => {
  assert.deepEqual(shown(live(), {texts: null}), ['On the way', 'Live', 'Arriving in 12 min']);
  assert.deepEqual(shown(viewOf({status: 'newer_status'})), ['Newer status']);
  assert.deepEqual(shown(unknownView('v'), {texts: null}), ['One moment…']);
});

test('a lost connection is shown after two seconds, with the age of the position', () => {
  const lost = {connection: {state: 'waiting', degraded: false}, lostFor: LOST_AFTER - 1, now: 5000, wall: NOW + 5000};
  assert.equal(shown(live(), lost).length, 3);
  assert.deepEqual(shown(live(), {...lost, lostFor: LOST_AFTER}).slice(3), [
    'Last updated 5 seconds ago', 'No connection. Trying to reconnect…',
  ]);
  for (const doubt of [{degraded: true}, {silent: true}]) {
    const connection = {state: 'open', degraded: false, ...doubt};
    assert.equal(shown(live(), {connection}).at(-1), 'Updates are delayed right now.');
  }
});

test('a job is not shown to somebody who may not see it', () => {
  const refused = (code) => ({connection: {state: 'refused', degraded: false, close: {code, reason: ''}}});
  const expired = 'This tracking link has expired or is incomplete.';
  const cases = [
    [live(), refused(4005), 'Please sign in again.', expired],
    [live(), refused(4500), 'Please sign in again.', expired],
    [live(), refused(4502), 'This is no longer shared with you.', expired],
    [{...live(), ended: 'revoked'}, refused(4502), 'This is no longer shared with you.',
      'This is no longer shared with you.'],
    [live(), refused(4505), 'We can’t show this right now.', 'We can’t show this right now.'],
    [{...live(), refused: {code: 'not_found'}}, {}, 'We can’t find this order or visit.', expired],
    [{...live(), refused: {code: 'limit_exceeded'}}, {}, /^Too many people/, /^Too many people/],
    [{...live(), ended: 'revoked'}, {}, 'This is no longer shared with you.', 'This is no longer shared with you.'],
    [{...live(), ended: 'reassigned'}, {}, 'This is no longer shared with you.', 'This is no longer shared with you.'],
    [unknownView('v'), {connection: {state: 'waiting', close: {code: 4009}}}, /^Too many people/, /^Too many people/],
  ];
  for (const [view, moment, signedIn, withLink] of cases) {
    for (const [isLink, expected] of [[false, signedIn], [true, withLink]]) {
      for (const language of ['en', 'de']) {
        const all = shown(view, {...moment, isLink, language});
        assert.equal(all.length, 1, JSON.stringify(all));
        if (language === 'en') assert.match(all[0], expected instanceof RegExp ? expected : new RegExp(`^${expected}$`));
        else assert.notEqual(all[0], shown(view, {...moment, isLink})[0], 'not translated');
      }
    }
  }
});

test('the end of a job stays visible after the session of its link was closed', () => {
  const connection = {state: 'refused', degraded: false, close: {code: 4500, reason: 'link invalid or expired'}};
  const moment = {connection, lostFor: LOST_AFTER, isLink: true};
  const over = (ended, status) => ({...live(), ended, status, position: null});
  const before = shown(over('completed', 'delivered'), {isLink: true});
  assert.equal(before.length, 1);
  assert.deepEqual(shown(over('completed', 'delivered'), moment), before);
  assert.deepEqual(shown(over('revoked', 'on_the_way'), moment), ['This is no longer shared with you.']);
});

test('a server can import the element, and defines nothing', () => {
  assert.equal(globalThis.customElements, undefined);
  assert.equal(defineEnrouteJob(), EnrouteJob);
  assert.deepEqual(EnrouteJob.observedAttributes, ['gateway', 'job', 'token', 'link', 'lang']);
});

test('the URL of a tracking link may contain a language', () => {
  for (const query of ['', '?lang=de', '?']) {
    const parts = LINK.exec(`https://track.example/enroute/track/visit-1${query}#s3cret`)?.slice(1);
    assert.deepEqual(parts, ['https://track.example/enroute', 'visit-1', 's3cret'], query);
  }
});
