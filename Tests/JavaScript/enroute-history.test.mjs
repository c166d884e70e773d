// Random histories of a connection. Whatever a network, a gateway, a page and a clock do in whatever order, there is at most
// one socket, each job is subscribed to once per connection, every request is answered or rejected, and nothing remains at
// the end.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Enroute} from '../../Sources/WebAssets/web/enroute.js';
import {Clock, playedSockets, seeded, settled} from './clock.mjs';

const SEEDS = Number(process.env.ENROUTE_SEEDS ?? 60);
const FIRST_SEED = Number(process.env.ENROUTE_FIRST_SEED ?? 1);
const ACTIONS = 60;
const CODES = [1006, 4000, 4001, 4002, 4004, 4005, 4006, 4008, 4009, 4500, 4502, 4506];
const JOBS = ['a', 'b', 'c'];

class History {
  clock = new Clock();
  sockets = playedSockets();
  follows = new Map();
  questions = 0;
  answered = 0;

  constructor(random) {
    this.random = random;
    this.clock.random = random;
    this.enroute = new Enroute({
      url: 'wss://gw.example/v1', WebSocket: this.sockets, ...this.clock, random,
      credential: async () => {
        if (random() < 0.1) throw new Error('away');
        return {token: `t${Math.floor(random() * 3)}`};
      },
    });
  }

  any(list) { return list[Math.floor(this.random() * list.length)]; }

  get peer() { return this.sockets.last; }

  /** Performs one random event. */
  async step() {
    const {enroute, peer} = this;
    const isConnecting = peer?.readyState === 0;
    const isOpen = peer?.readyState === 1;
    const job = this.any(JOBS);
    const happening = this.any([
      () => this.clock.pass(this.random() * 50_000), () => this.clock.pass(this.random() * 2_000),
      () => { if (isConnecting) peer.welcomes(this.clock.wall()); },
      () => { if (isConnecting) peer.welcomes(this.clock.wall()); },
      () => { if (isConnecting) peer.opens(); },
      () => { if (peer && peer.readyState < 3) peer.closes(this.any(CODES)); },
      () => { if (isOpen) this.gatewaySays(peer, job); }, () => { if (isOpen) this.gatewaySays(peer, job); },
      () => enroute.start(), () => { if (this.random() < 0.1) enroute.stop(); }, () => enroute.wake(),
      () => { if (!this.follows.has(job)) this.follows.set(job, enroute.follow(job)); },
      () => { this.follows.get(job)?.stop(); this.follows.delete(job); },
      () => enroute.publish(job, {at: this.clock.wall(), lat: 1, lon: 2}),
      () => {
        this.questions += 1;
        enroute.travel(job, true).then(() => { this.answered += 1; }, () => { this.answered += 1; });
      },
    ]);
    await happening();
    await settled();
  }

  gatewaySays(peer, job) {
    const at = this.clock.wall();
    peer.says(this.any([
      {type: 'subscribed', job, snapshot: {status: 'x', epoch: 'e', id: `${at}-0`, tracking: 'live', position: null}},
      {type: 'status', job, epoch: 'e', prev: '', id: `${at}-0`, status: 'y', at},
      {type: 'ended', job, reason: 'completed'}, {type: 'ok', replyTo: 'travel', job, deadline: at},
      {type: 'pong', serverTime: at},
      {type: 'error', replyTo: 'subscribe', job, code: 'unavailable', message: '', retry: true, retryInMs: 500},
      {type: 'error', replyTo: 'travel', job, code: 'forbidden', message: '', retry: false},
      {type: 'goaway', retryInMs: this.random() * 5_000}, {type: 'degraded'}, {type: 'restored'},
      {type: 'rate', intervalSeconds: 4},
    ]));
  }

  check(context) {
    const alive = this.sockets.all.filter(({readyState}) => readyState < 2);
    assert.ok(alive.length <= 1, `${alive.length} sockets: ${context}`);
    const {state} = this.enroute.connection;
    if (['stopped', 'refused', 'waiting'].includes(state)) assert.equal(alive.length, 0, `${state}: ${context}`);
    for (const socket of this.sockets.all) {
      if (socket.said.length > 0) assert.equal(socket.said[0].type, 'auth', context);
      assert.ok(socket.said.filter(({type}) => type === 'auth').length <= 1, context);
    }
  }
}

test('in random histories there is at most one socket, and nothing remains at the end', async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    const history = new History(seeded(seed));
    for (let count = 0; count < ACTIONS; count++) {
      await history.step();
      history.check(`seed ${seed}, action ${count}`);
    }
    const {enroute, clock} = history;
    // Then the network recovers: the client reconnects and subscribes to each followed job once.
    history.random = () => 0.5;
    enroute.stop();
    for (const job of JOBS) history.follows.get(job)?.stop();
    const follows = JOBS.map((job) => enroute.follow(job));
    enroute.start();
    await clock.pass(0);
    for (let attempt = 0; attempt < 20 && history.peer?.readyState !== 0; attempt++) await clock.pass(30_000);
    history.peer.welcomes(clock.wall());
    const said = history.peer.said.filter(({type}) => type === 'subscribe').map(({job}) => job).sort();
    assert.deepEqual([enroute.connection.state, said], ['open', JOBS], `seed ${seed}`);
    assert.ok(follows.every(({view}) => !view.known && !view.refused), `seed ${seed}`);
    enroute.stop();
    await settled();
    assert.equal(history.answered, history.questions, `seed ${seed}: questions without an answer`);
    assert.equal(clock.waiting, 0, `seed ${seed}: timers are left`);
  }
});
