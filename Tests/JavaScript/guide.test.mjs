// The JavaScript client guide: every code block runs against a real gateway and does what the text promises.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import * as library from '../../Sources/WebAssets/web/enroute.js';
import * as view from '../../Sources/WebAssets/web/enroute-view.js';
import * as words from '../../Sources/WebAssets/web/enroute-words.js';
import {PATIENCE, Stage, isBuilt, until} from './gateway.mjs';
import {Socket} from './socket.mjs';

const guide = readFileSync(new URL('../../Sources/WebAssets/enroute-js.md', import.meta.url), 'utf8');
const skip = isBuilt ? false : 'no gateway is built: run swift build, or name one in ENROUTE_EXECUTABLE';
const blocks = [...guide.matchAll(/^```js\n([^]*?)^```$/gm)].map(([, code]) => code);
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

test('every code block of the guide runs and does what the guide promises', {skip, timeout: 2 * PATIENCE}, async (run) => {
  const stage = await Stage.open();
  const clients = [];
  class Enroute extends library.Enroute {
    constructor(options) { super({...options, WebSocket: Socket}); clients.push(this); }
  }
  const [printed, rendered, banners, intervals] = [[], [], [], []];
  let reading, failure;
  let fetched = 0;
  const names = {
    ...library, ...view, ...words, Enroute, WebSocket: Socket,
    url: stage.url, tokenOf: (role, name) => stage.token(role, name),
    render: (...all) => rendered.push(all), showBanner: (text) => banners.push(text),
    console: {log: (...all) => printed.push(all.join(' ')), warn: (...all) => printed.push(`warning ${all.join(' ')}`)},
    navigator: {geolocation: {watchPosition: (found, failed) => { [reading, failure] = [found, failed]; }}},
    setInterval: (action, delay) => intervals.push({action, delay}),
    fetchSession: async () => {
      fetched += 1;
      return {token: await stage.token('customer', 'anna'), expiresAt: Date.now() + 900_000};
    },
  };
  /** Runs the next block. What it declares is visible to the later ones, as in one file. */
  const next = async (text) => {
    const index = blocks.findIndex((code) => code.includes(text));
    assert.ok(index >= 0, `no block contains ${text}`);
    const [code] = blocks.splice(index, 1);
    const body = code.replace(/^import .*$/gm, '').replaceAll('https://localhost:8443/v1', stage.url);
    const declared = [...body.matchAll(/^(?:const|let) (?:\{([^}]*)\}|(\w+))/gm)]
      .flatMap(([, list, name]) => (name ? [name] : list.split(',').map((each) => each.split(':').pop().trim())));
    const known = Object.keys(names).filter((name) => !declared.includes(name));
    const block = new AsyncFunction(...known, `${body}\nreturn {${declared.join(', ')}};`);
    Object.assign(names, await block(...known.map((name) => names[name])));
  };
  const prints = (line) => until(`it prints ${line}`, () => printed.some((each) => each.replace(/\s/g, ' ') === line));
  try {
    const token = await stage.token('service', 'orders');
    const orders = new Enroute({url: stage.url, credential: () => ({token})});
    await orders.rest('POST', '/jobs', {
      body: {job: 'visit-1', kind: 'service', customer: 'anna', rider: 'rider-7', destination: {lat: 41.95, lon: 12.49}},
    });
    await orders.rest('POST', '/jobs/visit-1/status', {body: {status: 'on_the_way'}});

    await next("enroute.follow('visit-1', (view)");
    await until('the customer follows', () => rendered.some(([status]) => status === 'on_the_way'));
    await next("enroute.on('connection'");
    await next('watchPosition');
    await until('the rider is signed in', () => names.rider.connection.state === 'open');
    const fix = {coords: {latitude: 41.9, longitude: 12.49, accuracy: 5, speed: null, heading: null}};
    await until('the customer sees the rider', () => {
      reading({...fix, timestamp: Date.now()});
      return rendered.some(([, tracking, lat]) => tracking === 'live' && lat === 41.9);
    });
    assert.equal(await failure({code: 1}), true);
    await next('arrivalText');
    await prints('Your technician is on the way');
    await prints('2.5 mi');
    await orders.rest('PUT', '/riders/rider-7', {body: {zone: 'rome', approved: true, capacity: 2}});
    await next("rider.availability('online')");
    assert.equal(intervals.length, 1);
    assert.equal(await intervals[0].action(), true);
    await next('instanceof EnrouteError');
    await prints('forbidden 403 false');
    await next('fetchSession();\n  return');
    await until('the customer is signed in', () => names.signedIn.connection.state === 'open');
    assert.equal(fetched, 1);
    await next('signedIn.refresh');
    assert.equal(fetched, 2);
    await next('new Enroute({url, WebSocket');
    await prints('on_the_way');
    await next('reduce(unknownView');
    await prints('snapshot on_the_way');
    stage.signal('SIGKILL');
    await until('the banner reports the lost connection', () => banners.some((text) => text.startsWith('No connection.')));
    await stage.gatewayEnds();
    await stage.startGateway();
    await until('the banner disappears', () => banners.at(-1) === '');
    assert.deepEqual(blocks, [], 'blocks that no step ran');
    assert.deepEqual(printed.filter((line) => line.startsWith('warning')), []);
  } finally {
    for (const client of clients) client.stop();
    await stage.close();
  }
});
