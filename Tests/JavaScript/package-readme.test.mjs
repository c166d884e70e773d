// The README of the npm package: every code block is compiled, and run, in an app that installed the package. The block with
// the web component runs in Chromium (Tests/Browser/test_element.py).

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {playedSockets, settled} from './clock.mjs';
import {subscribed} from './connected.mjs';
import {App, PACKAGE, lacks, npm, run} from './installed.mjs';

const skip = lacks('npm', 'tsc', 'react', 'react-test-renderer');
const blocks = [...readFileSync(join(PACKAGE, 'README.md'), 'utf8').matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
  .map(([, language, code]) => ({language, code}));
/** The blocks in their order: the file that each one is in the app. */
const files = ['follow.ts', 'visit.tsx', 'reporter.ts', 'geolocation.ts', 'trip.ts', 'tested.ts'];
let app;

/** The libraries of React Native and the app's own functions, as far as the blocks use them. */
const AROUND = `
declare function signIn(): Promise<string>;
declare function show(...all: unknown[]): void;
declare module '@react-native-async-storage/async-storage' {
  const storage: {getItem(key: string): Promise<string | null>; setItem(key: string, value: string): Promise<void>};
  export default storage;
}
declare module 'expo-task-manager' {
  export function defineTask<T = unknown>(
    name: string, task: (body: {data: T; error: {code: string | number; message: string} | null}) => Promise<any>): void;
}
declare module 'react-native-background-geolocation' {
  interface Location {
    timestamp: string; coords: {latitude: number; longitude: number; accuracy: number; speed?: number; heading?: number};
    battery: {level: number; is_charging: boolean}; sample?: boolean;
  }
  const library: {
    onLocation(heard: (location: Location) => void): void;
    registerHeadlessTask(task: (event: {name: string; params: any}) => Promise<any>): void;
  };
  export default library;
}`;
const PLAYED = {
  '@react-native-async-storage/async-storage': `export const stored = new Map();
    export default {
      getItem: async (key) => stored.get(key) ?? null, setItem: async (key, text) => { stored.set(key, text); },
    };`,
  'expo-task-manager': `export const tasks = new Map();
    export const defineTask = (name, task) => { tasks.set(name, task); };`,
  'react-native-background-geolocation': `export const heard = {};
    export default {onLocation: (on) => { heard.location = on; }, registerHeadlessTask: (task) => { heard.task = task; }};`,
};

const sockets = playedSockets();
const [shown, requests] = [[], []];

const started = [];

before(async () => {
  if (skip) return;
  Object.assign(globalThis, {
    IS_REACT_ACT_ENVIRONMENT: true, WebSocket: sockets, signIn: async () => 't', show: (...all) => shown.push(all),
    fetch: async (url, {method, body}) => {
      requests.push({method, path: url.replace('https://track.example', ''), ...(body && {body: JSON.parse(body)})});
      return new Response(JSON.stringify({accepted: ['visit-1'], stale: [], refused: []}));
    },
  });
  app = new App({react: true});
  app.write('around.d.ts', AROUND);
  for (const [name, source] of Object.entries(PLAYED)) {
    app.write(`node_modules/${name}/package.json`, '{"type": "module", "main": "index.js"}');
    app.write(`node_modules/${name}/index.js`, source);
  }
  const code = blocks.filter(({language}) => ['ts', 'tsx'].includes(language)).map((block) => block.code);
  assert.equal(code.length, files.length);
  // Bundlers add the extension to the app's own modules, Node does not.
  for (const [index, name] of files.entries()) app.write(name, code[index].replace("'./reporter'", "'./reporter.js'"));
  app.write('tsconfig.json', JSON.stringify({
    compilerOptions: {
      module: 'node16', moduleResolution: 'node16', target: 'es2022', lib: ['es2022', 'dom'], strict: true, jsx: 'react-jsx',
      types: [], outDir: 'out', skipLibCheck: true,
    },
    files: [...files, 'around.d.ts'],
  }));
  run('tsc', ['-p', app.folder]);
  // The blocks start clients that nobody stops.
  const {Enroute} = await app.load('enroute.mjs', "export * from '@enroute/client';");
  const {start} = Enroute.prototype;
  Enroute.prototype.start = function begin() {
    started.push(this);
    start.call(this);
  };
});
after(() => {
  for (const enroute of started) enroute.stop();
  app?.close();
});

const load = (name) => app.load(`${name}.run.mjs`, `export * from './out/${name}.js';`);

test('no block is left out', () => {
  assert.deepEqual(blocks.map(({language}) => language), ['sh', 'ts', 'tsx', 'html', 'ts', 'ts', 'ts', 'ts']);
});

test('the commands of "Install" make the package and install it', {skip}, () => {
  const [{code}] = blocks;
  const folder = join(app.folder, 'other');
  app.write('other/package.json', '{"private": true}');
  const commands = code.trim().split('\n').map((line) => line.replace('/path/to/enroute/Sources/JavaScript/', PACKAGE)
    .replace('/path/to/enroute/Sources/JavaScript', PACKAGE).split(' '));
  assert.equal(commands.length, 2);
  for (const [program, ...all] of commands) {
    assert.equal(program, 'npm');
    npm(app.folder, folder, ...all);
  }
  const program = "import('@enroute/client').then(({Enroute}) => console.log(Enroute.name))";
  const printed = run('node', ['-e', program], {cwd: folder});
  assert.equal(printed.trim(), 'Enroute');
});

test('"Follow a job" shows the job', {skip}, async () => {
  await load('follow');
  await settled();
  const peer = sockets.last;
  peer.welcomes(Date.now());
  peer.says(subscribed('visit-1', {eta: {state: 'ok', arrivesAt: Date.now() + 720_000, at: 0}}));
  const [status, position, arrival] = shown.at(-1);
  assert.deepEqual([status, position, arrival.replace(/\s/g, ' ')], ['on_the_way', null, 'Arriving in 12 min']);
});

test('"React" renders the visit', {skip}, async () => {
  const {React, renderer} = await app.load('react.run.mjs', `
    export {default as React} from 'react';
    export {default as renderer} from 'react-test-renderer';`);
  const {Visit} = await load('visit');
  await settled();
  const peer = sockets.last;
  let root;
  await renderer.act(async () => { root = renderer.create(React.createElement(Visit, {job: 'visit-1'})); });
  assert.equal(root.root.findByType('p').children[0], 'One moment…');
  await renderer.act(async () => {
    peer.welcomes(Date.now());
    peer.says(subscribed('visit-1'));
  });
  assert.equal(root.root.findByType('h1').children[0], 'on_the_way');
  assert.equal(root.root.findByType('section').props['aria-busy'], false);
  await renderer.act(async () => { root.unmount(); });
});

test('"React Native" reports what both libraries say, for the jobs of the trip', {skip}, async () => {
  const {tasks} = await app.load('tasks.mjs', "export * from 'expo-task-manager';");
  const {heard} = await app.load('heard.mjs', "export * from 'react-native-background-geolocation';");
  const {stored} = await app.load('stored.mjs', "export * from '@react-native-async-storage/async-storage';");
  const {reporter} = await load('reporter');
  await load('geolocation');
  const {enroute, setOut, arrived} = await load('trip');
  await settled();
  const peer = sockets.last;
  peer.welcomes(Date.now());
  peer.heard();
  const under = setOut(['visit-1']);
  assert.deepEqual(peer.heard(), [{type: 'travel', job: 'visit-1', active: true, device: 'my-phone'}]);
  peer.says({type: 'ok', replyTo: 'travel', job: 'visit-1', deadline: 9});
  await under;
  enroute.publish('visit-1', {at: Date.now(), lat: 41.9, lon: 12.5});
  assert.deepEqual(peer.heard().map(({type}) => type), ['location'], 'while the app is open');
  const coords = {latitude: 41.9, longitude: 12.5, accuracy: 5, speed: 3, heading: 90};
  await tasks.get('enroute-locations')({data: {locations: [{coords, timestamp: Date.now()}]}, error: null});
  assert.equal(requests.at(-1).path, '/api/v1/jobs/visit-1/locations');
  assert.equal(requests.at(-1).body.fixes[0].lat, 41.9);
  assert.equal(requests.at(-1).body.device, 'my-phone', 'the device that switched travel mode on reports');
  assert.deepEqual(JSON.parse(stored.get('enroute')).jobs, ['visit-1']);
  const location = {timestamp: new Date().toISOString(), coords, battery: {level: 1, is_charging: true}};
  heard.location({...location, timestamp: new Date(Date.now() + 1).toISOString()});
  await heard.task({name: 'location', params: {...location, timestamp: new Date(Date.now() + 2).toISOString()}});
  assert.equal(reporter.waiting, 2, 'both wait for the pace');
  await arrived();
  assert.deepEqual([reporter.waiting, JSON.parse(stored.get('enroute')).jobs], [0, []]);
});

test('"Test your app" makes a view', {skip}, async () => {
  const {view} = await load('tested');
  assert.equal(view.status, 'on_the_way');
});
