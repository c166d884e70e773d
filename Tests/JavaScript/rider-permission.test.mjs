// The permission table of US-122, tested on every path.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {PANELS, TABLE, browserOf, failEvent, platformOf, step, wishEvent}
  from '../../Sources/WebAssets/web/rider-permission.js';

const events = [...new Set(Object.values(TABLE).flatMap(Object.keys))];
const phases = Object.keys(TABLE);
const able = {isSecure: true, isSupported: true};

/** Every path through the table with a number of events. */
function* walks(length, phase = 'off', road = []) {
  if (road.length === length) return;
  for (const event of Object.keys(TABLE[phase])) {
    const {phase: next, actions} = step(phase, event);
    const longer = [...road, {from: phase, event, to: next, actions}];
    yield longer;
    yield* walks(length, next, longer);
  }
}

test('US-122 BR-001: nobody is located before they consented or the browser had granted it', () => {
  let count = 0;
  for (const road of walks(5)) {
    count += 1;
    const located = road.findIndex(({actions}) => actions.includes('ask') || actions.includes('begin'));
    if (located < 0) continue;
    const {event} = road[located];
    assert.ok(['consent', 'wish.granted', 'changed.granted'].includes(event), JSON.stringify(road));
  }
  assert.ok(count > 10_000, `${count} ways were tried`);
});

test('US-122 BR-001: the browser\u2019s question follows only a consent', () => {
  for (const phase of phases) {
    for (const event of events) {
      if (step(phase, event).actions.includes('ask')) assert.equal(event, 'consent', phase);
    }
  }
});

test('US-122 AC-001: the first activation explains, asks, and starts after the permission', () => {
  assert.equal(wishEvent({...able, permission: 'prompt'}), 'wish.prompt');
  assert.deepEqual(step('off', 'wish.prompt'), {phase: 'explaining', actions: []});
  assert.deepEqual(step('explaining', 'consent'), {phase: 'asking', actions: ['ask']});
  assert.deepEqual(step('asking', 'changed.granted'), {phase: 'sharing', actions: ['begin']});
  assert.deepEqual(step('asking', 'fix'), {phase: 'sharing', actions: ['begin']});
});

test('US-122 AC-001: later activations do not ask', () => {
  assert.equal(wishEvent({...able, permission: 'granted'}), 'wish.granted');
  assert.deepEqual(step('off', 'wish.granted'), {phase: 'sharing', actions: ['begin']});
});

test('US-122 AC-002: a refusal leaves travel mode off and shows how to allow the location', () => {
  for (const event of ['fail.denied', 'changed.denied']) {
    const {phase, actions} = step('asking', event);
    assert.equal(phase, 'refused');
    assert.ok(!actions.includes('begin'));
    assert.ok(PANELS.includes(phase));
  }
});

test('US-122 AC-003: after a refusal only the rider\u2019s own action asks again', () => {
  assert.equal(wishEvent({...able, permission: 'denied'}), 'wish.denied');
  assert.equal(wishEvent({...able, permission: 'unknown', before: 'refused'}), 'wish.denied');
  assert.equal(wishEvent({...able, permission: 'prompt', before: 'refused'}), 'wish.dismissed');
  for (let taps = 0, phase = 'refused'; taps < 10; taps += 1) {
    const outcome = step(phase, 'wish.denied');
    assert.deepEqual(outcome, {phase: 'refused', actions: []});
    phase = step(outcome.phase, 'cancel').phase;
  }
});

test('US-122 AC-004: a permission revoked in the settings counts as refused', () => {
  assert.deepEqual(step('off', 'wish.denied'), step('refused', 'wish.denied'));
});

test('a permission revoked while travelling stops locating and shows the reason', () => {
  for (const event of ['changed.denied', 'changed.prompt', 'fail.denied']) {
    assert.deepEqual(step('sharing', event), {phase: 'revoked', actions: ['unwatch', 'report.permission_denied']});
  }
  assert.ok(step('revoked', 'changed.granted').actions.includes('begin'));
});

test('location switched off on the device is distinguished from a refusal', () => {
  assert.equal(failEvent(1, 'granted'), 'fail.services');
  assert.equal(failEvent(1, 'denied'), 'fail.denied');
  assert.equal(failEvent(1, 'unknown'), 'fail.denied');
  assert.equal(failEvent(1, 'prompt'), 'fail.dismissed');
  assert.equal(step('sharing', 'fail.services').phase, 'services');
  assert.equal(step('asking', 'fail.unavailable').phase, 'services');
});

test('a missing GPS signal keeps travel mode on and reports why no location arrives', () => {
  for (const code of [2, 3]) {
    assert.deepEqual(step('sharing', failEvent(code, 'granted')), {phase: 'sharing', actions: ['report.no_fix']});
  }
});

test('a dismissed question is asked again only when the rider wants it', () => {
  assert.equal(step('asking', 'fail.dismissed').phase, 'dismissed');
  assert.equal(wishEvent({...able, permission: 'prompt', before: 'dismissed'}), 'wish.dismissed');
  assert.deepEqual(step('off', 'wish.dismissed'), {phase: 'dismissed', actions: []});
  assert.ok(step('dismissed', 'consent').actions.includes('ask'));
});

test('without HTTPS or geolocation the page only shows that', () => {
  for (const permission of ['prompt', 'granted', 'denied', 'unknown']) {
    assert.equal(wishEvent({isSecure: false, isSupported: true, permission}), 'wish.insecure');
    assert.equal(wishEvent({isSecure: true, isSupported: false, permission}), 'wish.unsupported');
  }
  for (const phase of ['off', 'explaining', 'refused', 'services', 'revoked']) {
    assert.deepEqual(step(phase, 'wish.insecure'), {phase: 'insecure', actions: []});
    assert.deepEqual(step(phase, 'wish.unsupported'), {phase: 'unsupported', actions: []});
  }
});

test('two taps ask one question', () => {
  for (const wish of events.filter((event) => event.startsWith('wish.'))) {
    assert.deepEqual(step('asking', wish), {phase: 'asking', actions: []});
  }
});

test('each phase can be reached and left, and unrelated events change nothing', () => {
  const reached = new Set(['off', ...[...walks(4)].map((road) => road.at(-1).to)]);
  assert.deepEqual([...reached].sort(), [...phases].sort());
  for (const phase of phases) {
    assert.deepEqual(step(phase, 'nothing known'), {phase, actions: []});
    for (const event of Object.keys(TABLE[phase])) assert.ok(TABLE[step(phase, event).phase], `${phase} ${event}`);
  }
});

test('the described settings match the current browser', () => {
  const iPhone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
  const android = 'Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko)';
  const mac = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)';
  assert.equal(browserOf(`${iPhone} Version/17.5 Mobile/15E148 Safari/604.1`), 'safariIos');
  assert.equal(browserOf(`${iPhone} CriOS/126.0 Mobile/15E148 Safari/604.1`), 'otherIos');
  assert.equal(browserOf(`${android} Chrome/126.0.0.0 Mobile Safari/537.36`), 'chromeAndroid');
  assert.equal(browserOf(`${android} SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36`), 'samsung');
  assert.equal(browserOf('Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0'), 'firefoxAndroid');
  assert.equal(browserOf('Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0'), 'firefox');
  assert.equal(browserOf(`${mac} Version/17.5 Safari/605.1.15`), 'safari');
  assert.equal(browserOf(`${mac} Version/17.5 Safari/605.1.15`, 5), 'safariIos');
  assert.equal(browserOf('Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0 Safari/537.36'), 'chrome');
  assert.equal(browserOf('curl'), 'other');
  assert.equal(platformOf(`${iPhone} CriOS/126.0`), 'ios');
  assert.equal(platformOf(android), 'android');
  assert.equal(platformOf('Mozilla/5.0 (X11; Linux x86_64)'), 'web');
});
