// The sound and the vibration for a new task.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {browser, device} from './page.mjs';

const {TaskAlert, VIBRATION} = await import('../../Sources/WebAssets/web/rider-alert.js');

/** A sound that records its tones, and starts suspended as in browsers. */
class Sound {
  static tones = [];
  state = 'suspended';
  currentTime = 5;
  async resume() { this.state = 'running'; }
  createOscillator() {
    const frequency = {};
    return {
      frequency, connect: (next) => next, stop() {},
      start: (at) => Sound.tones.push([frequency.value, at]),
    };
  }
  createGain() { return {gain: {setValueAtTime() {}, exponentialRampToValueAtTime() {}}, connect() {}}; }
}

function phone() {
  const felt = [];
  Sound.tones = [];
  device.vibrate = (pattern) => felt.push(pattern);
  return felt;
}

test('a new task vibrates, and after the first touch it sounds', () => {
  const felt = phone();
  const alert = new TaskAlert({touches: browser, Sound});
  alert.ring();
  assert.deepEqual([felt, Sound.tones], [[VIBRATION], []]);
  browser.happens('pointerdown');
  alert.ring();
  assert.deepEqual([felt.length, Sound.tones], [2, [[660, 5], [880, 5.18]]]);
});

test('a browser without sound, or one that refuses it, still vibrates', () => {
  class Refusing { constructor() { throw new Error('too many'); } }
  for (const missing of [null, Refusing]) {
    const felt = phone();
    const alert = new TaskAlert({touches: browser, Sound: missing});
    browser.happens('pointerdown');
    alert.ring();
    assert.deepEqual(felt, [VIBRATION]);
  }
});
