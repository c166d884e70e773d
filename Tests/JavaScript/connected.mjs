// An `Enroute` client that is connected to a socket of the test, and sample messages of a gateway.

import {afterEach} from 'node:test';
import {Enroute} from '../../Sources/WebAssets/web/enroute.js';
import {Clock, playedSockets, settled} from './clock.mjs';

const begun = [];
afterEach(() => { for (const enroute of begun.splice(0)) enroute.stop(); });

/** Stopped after the test. */
export function begin(options) {
  const enroute = new Enroute(options);
  begun.push(enroute);
  return enroute;
}

/** Signs in. Messages sent after that are in the peer's `heard`. */
export async function open(more = {}) {
  const clock = new Clock();
  const sockets = playedSockets();
  const {now, wall, random, timers} = clock;
  const enroute = begin({
    url: 'wss://gw.example/v1', credential: () => ({token: 't'}), WebSocket: sockets, now, wall, random, timers,
    ...more,
  });
  enroute.start();
  await settled();
  const peer = sockets.last;
  peer.welcomes(clock.wall());
  peer.heard();
  const errors = [];
  enroute.on('error', (error) => errors.push(error));
  const comeBack = async () => {
    sockets.last.closes(1006);
    await clock.pass(30_000);
    sockets.last.welcomes(clock.wall());
    return sockets.last;
  };
  return {enroute, clock, sockets, peer, errors, comeBack};
}

export const snapshot = (more = {}) => ({
  kind: 'service', status: 'on_the_way', statusAt: 1, steps: [], epoch: 'e', id: '5-0', tracking: 'waiting',
  text: 'waiting', position: null, missed: [], ...more,
});
export const subscribed = (job, more) => ({type: 'subscribed', job, snapshot: snapshot(more)});
export const refusal = (replyTo, code, more = {}) => ({
  type: 'error', replyTo, code, message: `no: ${code}`, retry: false, ...more,
});
export const fixAt = (clock, ago = 0) => ({at: clock.wall() - ago, lat: 41, lon: 12});
export const typesOf = (messages) => messages.map(({type}) => type).join(' ');
