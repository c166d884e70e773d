// What app developers read: the example in the README runs, the types match the library, and the files stay small. The npm
// package is tested in package-contents.test.mjs.

import assert from 'node:assert/strict';
import {readFileSync, readdirSync} from 'node:fs';
import {test} from 'node:test';
import * as library from '../../Sources/WebAssets/web/enroute.js';
import {Clock, playedSockets} from './clock.mjs';
import {unknownPool, unknownView} from '../../Sources/WebAssets/web/enroute-view.js';
import {PATIENCE, Stage, isBuilt, until} from './gateway.mjs';
import {Socket} from './socket.mjs';

const text = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const types = text('Sources/JavaScript/enroute.d.ts');
const skip = isBuilt ? false : 'there is no gateway: swift build, or name one in ENROUTE_EXECUTABLE';

test('the README example follows a rider', {skip, timeout: 2 * PATIENCE}, async () => {
  const [, example] = /## Follow a job[^]*?```js\n([^]*?)```/.exec(text('README.md'));
  assert.ok(example.includes('https://track.example/v1'));
  const stage = await Stage.open();
  const started = [];
  class Enroute extends library.Enroute {
    constructor(options) { super({...options, WebSocket: Socket}); started.push(this); }
  }
  const lines = [];
  try {
    const tokenOf = (role, name) => stage.token(role, name);
    const signedIn = (role, name) => new Enroute({
      url: stage.url, credential: async () => ({token: await tokenOf(role, name)}),
    });
    const service = signedIn('service', 'orders');
    await service.rest('POST', '/jobs', {body: {job: 'visit-1', kind: 'service', customer: 'anna', rider: 'rider-7'}});
    await service.rest('POST', '/jobs/visit-1/status', {body: {status: 'on_the_way'}});
    const code = example.replace(/^import .*$/m, '').replace('https://track.example/v1', stage.url);
    const run = Object.getPrototypeOf(async () => {}).constructor;
    await run('Enroute', 'tokenOf', 'console', code)(Enroute, tokenOf, {log: (...all) => lines.push(all)});
    const rider = signedIn('rider', 'rider-7');
    rider.on('welcome', async () => {
      await rider.travel('visit-1', true);
      rider.publish(['visit-1'], {at: Date.now(), lat: 41.9, lon: 12.49, acc: 5});
    });
    rider.start();
    await until('the customer sees the rider', () => lines.some(([, , lat, lon]) => lat === 41.9 && lon === 12.49));
    assert.equal(lines[0][0], 'on_the_way');
  } finally {
    for (const enroute of started) enroute.stop();
    await stage.close();
  }
});

const membersOf = (kind, name) => {
  const [, body] = new RegExp(`export ${kind} ${name}\\b[^{]*\\{([^]*?)\\n\\}`).exec(types);
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)[(<?:]/gm)].map(([, member]) => member)
    .filter((member) => member !== 'constructor').sort();
};

test('the types name every member of Enroute and no other', () => {
  const members = Object.getOwnPropertyNames(library.Enroute.prototype).filter((name) => name !== 'constructor');
  assert.deepEqual(membersOf('class', 'Enroute'), members.sort());
});

test('the types name every member of views and pools except internal ones', () => {
  const own = ['newestID', 'doubted'];
  const held = (value) => Object.keys(value).filter((name) => !own.includes(name)).sort();
  assert.deepEqual(membersOf('interface', 'View'), held(unknownView('j')));
  assert.deepEqual(membersOf('interface', 'Pool'), held(unknownPool('z')));
});

test('the types name the connection states and everything that is exported', async () => {
  const {now, wall, random, timers} = new Clock();
  const enroute = new library.Enroute({
    url: 'wss://x/v1', credential: () => null, WebSocket: playedSockets(), now, wall, random, timers,
  });
  const allowed = membersOf('interface', 'Connection');
  const check = () => assert.ok(Object.keys(enroute.connection).every((name) => allowed.includes(name)));
  check();
  enroute.on('connection', check);
  enroute.start();
  await until('it is refused', () => enroute.connection.state === 'refused');
  for (const name of Object.keys(library)) assert.ok(types.includes(`export class ${name} `), name);
});

test('the library is at most 16.7 kB compressed, without comments as the gateway sends it', async () => {
  const {gzipSync} = await import('node:zlib');
  const bytes = ['', '-connection', '-timing', '-rest', '-view', '-words']
    .map((part) => text(`Sources/JavaScript/enroute${part}.js`))
    .map((source) => source.replace(/^ *\/\/.*$/gm, '').replace(/^ *\/\*[^]*?\*\/ *$/gm, ''))
    .reduce((sum, source) => sum + gzipSync(source).length, 0);
  assert.ok(bytes <= 16_700, `${bytes}`);
});

test('every file of the library opens with its purpose and has at most 400 lines of 128 columns', () => {
  const library = readdirSync(new URL('../../Sources/JavaScript/', import.meta.url))
    .filter((name) => /\.(js|ts)$/.test(name)).map((name) => `Sources/JavaScript/${name}`);
  const tests = readdirSync(new URL('.', import.meta.url))
    .filter((name) => !/^(ops|page-|page\.|panel|rider|track|worker)/.test(name))
    .map((name) => `Tests/JavaScript/${name}`);
  for (const path of [...library, ...tests]) {
    const lines = text(path).split('\n');
    assert.match(lines[0], /^\/\/ .{30}/, path);
    assert.ok(lines.length <= 400, `${path}: ${lines.length} lines`);
    for (const [index, line] of lines.entries()) assert.ok(line.length <= 128, `${path}:${index + 1}`);
  }
});
