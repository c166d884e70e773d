// What a client reports during faults, as scripts that the Swift client plays too (Sources/Client): a frozen, killed, drained
// and overloaded gateway, a revocation, an expired token. Both must report the same at the same ms. After a change run
// `ENROUTE_WRITE=1 node --test Tests/JavaScript/connection-scripts.test.mjs`, which writes the expected lines anew.

import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {test} from 'node:test';
import {begin, subscribed} from './connected.mjs';
import {Clock, playedSockets, settled} from './clock.mjs';

const file = new URL('../../Sources/Client/Tests/EnrouteTests/connection-scripts.json', import.meta.url);
const scripts = JSON.parse(readFileSync(file, 'utf8'));

/** Plays a script. Lines of the same ms are sorted, because their order is not part of the rules. */
async function played({steps}) {
  const clock = new Clock();
  const start = clock.now();
  const lines = [];
  const note = (text) => {
    const line = `${String(clock.now() - start).padStart(6)} ${text}`;
    if (!lines.includes(line)) lines.push(line);
  };
  class Noting extends playedSockets() {
    constructor(...all) { super(...all); note('opens a socket'); }

    send(text) {
      const {type} = JSON.parse(text);
      if (type !== 'auth') note(`sends ${type}`);
      super.send(text);
    }
  }
  let token = 't';
  const {now, wall, random, timers} = clock;
  const enroute = begin({
    url: 'wss://gw.example/v1', credential: () => ({token}), WebSocket: Noting, now, wall, random, timers});
  enroute.on('connection', ({state, degraded, silent, retryAt, close}) => {
    if (state === 'open') note(['open', degraded && 'degraded', silent && 'silent'].filter(Boolean).join(' '));
    else if (state === 'waiting') note(`waiting ${Math.round(retryAt - clock.wall())} after ${close.code}`);
    else note(state === 'refused' ? `refused ${close.code}` : state);
  });
  enroute.start();
  await settled();
  const act = {
    welcome: () => Noting.last.welcomes(clock.wall()),
    pass: (ms) => clock.pass(ms),
    closes: (code) => Noting.last.closes(code),
    says: (message) => Noting.last.says(message),
    token: (newer) => { token = newer; },
    follow: (tracking) => {
      enroute.follow('visit-1');
      Noting.last.says(subscribed('visit-1', {tracking, text: tracking}));
    },
    wake: () => enroute.wake(),
  };
  for (const [name, value] of steps) {
    await act[name](value);
    await settled();
  }
  return [...lines].sort();
}

for (const script of scripts) {
  test(`script: ${script.name}`, async () => {
    const lines = await played(script);
    if (process.env.ENROUTE_WRITE) {
      script.lines = lines;
      const text = scripts.map(({name, steps, lines: all}) => ` {"name": ${JSON.stringify(name)},\n  "steps": ${
        JSON.stringify(steps)},\n  "lines": [\n${(all ?? []).map((line) => `   ${JSON.stringify(line)}`).join(',\n')}]}`);
      writeFileSync(file, `[\n${text.join(',\n')}\n]\n`);
    }
    assert.ok(lines.length > 1);
    assert.deepEqual(lines, script.lines);
  });
}
