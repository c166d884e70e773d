// enroute.js as a program for the conformance kit (../README.md). Node 18 and 20 have no WebSocket: then it is Debian's `ws`.

import {createInterface} from 'node:readline';
import {existsSync} from 'node:fs';

const library = ['JavaScript', 'WebAssets/web'].map((folder) => new URL(`../../../Sources/${folder}/enroute.js`, import.meta.url));
const {Enroute} = await import(library.find((file) => existsSync(file)));
const WebSocket = globalThis.WebSocket ?? (await import('/usr/share/nodejs/ws/wrapper.mjs')).default;
const report = (saw, members) => process.stdout.write(`${JSON.stringify({saw, ...members})}\n`);
const asked = new Map();
const follows = new Map();
let requests = 0;
let enroute = null;
let wall = Date.now;

/** The application's credential: the kit has it. */
const credential = () => new Promise((resolve, reject) => {
  requests += 1;
  asked.set(requests, {resolve, reject});
  report('credential', {request: requests});
});

/** A clock that shows `now` at first and runs `speed` times as fast. */
function clock({speed, now}) {
  const start = performance.now();
  const elapsed = () => (performance.now() - start) * speed;
  return {
    now: elapsed, wall: () => now + elapsed(),
    timers: {setTimeout: (action, delay) => setTimeout(action, delay / speed), clearTimeout},
  };
}

const shown = ({job, status, tracking, position, eta, unavailable, ended, steps}) => ({
  job, status, tracking, position, eta, unavailable, ended, steps: steps.map((step) => [step.status, step.state]),
});

const answer = (request, promise) => promise.then(
  () => report('answer', {request, ok: true}), ({code}) => report('answer', {request, ok: false, code}));

const commands = {
  start({url, speed, now}) {
    const time = clock({speed, now});
    wall = time.wall;
    enroute = new Enroute({url, credential, WebSocket, ...time});
    enroute.on('connection', ({state, close, degraded}) => {
      report('connection', {state: state === 'open' && degraded ? 'degraded' : state, code: close?.code});
    });
    const event = ({job, epoch, id, status}) => { if (follows.has(job)) report('status', {job, epoch, id, status}); };
    enroute.on('status', event);
    enroute.on('subscribed', ({job, snapshot}) => { for (const missed of snapshot.missed ?? []) event({job, ...missed}); });
    enroute.start();
  },
  credential({request, token, link, fails}) {
    const {resolve, reject} = asked.get(request);
    asked.delete(request);
    if (fails) reject(new Error(fails));
    else resolve(token ? {token} : {link});
  },
  follow({job}) {
    follows.set(job, enroute.follow(job, (view) => {
      if (view.refused) report('error', {job, code: view.refused.code});
      else report('view', shown(view));
    }));
  },
  unfollow({job}) {
    follows.get(job)?.stop();
    follows.delete(job);
  },
  travel: ({request, job, active}) => answer(request, enroute.travel(job, active)),
  availability: ({request, status, device}) => answer(request, enroute.availability(status, {device})),
  async unavailable({request, reason, job}) { report('answer', {request, ok: await enroute.reportUnavailable(reason, job)}); },
  report: ({jobs, fix}) => enroute.publish(jobs, {at: wall(), ...fix}),
  stop() {
    enroute?.stop();
    process.stdout.write('', () => process.exit(0));
  },
};

report('ready', {can: ['follow', 'link', 'renew', 'ride'], speed: 1000});
createInterface({input: process.stdin}).on('line', (line) => {
  const {do: name, ...command} = JSON.parse(line);
  commands[name](command);
}).on('close', () => commands.stop());
