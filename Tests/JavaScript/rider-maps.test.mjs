// Which address opens a map on which phone.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {addressFor, refusalWord, usable} from '../../Sources/WebAssets/web/rider-maps.js';

const google = {app: 'google', label: 'Google Maps', ios: 'comgooglemaps://?daddr=1,2', android: 'google.navigation:q=1,2',
  web: 'https://www.google.com/maps/dir/?api=1&destination=1%2C2'};
const geo = {app: 'geo', label: 'Maps', android: 'geo:1,2'};

test('an iPhone gets an address that opens the app, or the browser without it', () => {
  assert.equal(addressFor(google, 'ios'), google.web);
  assert.equal(addressFor({app: 'apple', ios: 'maps://?daddr=1,2'}, 'ios'), 'maps://?daddr=1,2');
});

test('Android gets the app\u2019s own address, a desktop the web address', () => {
  assert.equal(addressFor(google, 'android'), google.android);
  assert.equal(addressFor(google, 'web'), google.web);
  assert.equal(addressFor({app: 'waze', web: 'https://waze.com/ul'}, 'android'), 'https://waze.com/ul');
});

test('an app that a platform does not have is not offered', () => {
  assert.deepEqual(usable([google, geo], 'android').map(({app}) => app), ['google', 'geo']);
  assert.deepEqual(usable([google, geo], 'ios').map(({app}) => app), ['google']);
  assert.deepEqual(usable([geo], 'web'), []);
});

test('only addresses of apps are opened', () => {
  for (const web of ['javascript:alert(1)', ' JavaScript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'blob:x']) {
    assert.deepEqual(usable([{app: 'x', label: 'x', web}], 'web'), [], web);
  }
});

test('each error has its text', () => {
  assert.equal(refusalWord({code: 'network'}, 'vendor'), 'navigateNetwork');
  assert.equal(refusalWord({code: 'destination_unresolvable'}, 'vendor'), 'badVendorAddress');
  assert.equal(refusalWord({code: 'destination_unresolvable'}, 'destination'), 'badAddress');
  assert.equal(refusalWord({code: 'internal'}, 'vendor'), 'navigateFailed');
  assert.equal(refusalWord({code: 'token_expired', status: 401}, 'vendor'), 'signInExpired');
});
