// The rider's cards: which of them are there, and what is told of a task that is new.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Jobs, Question} from '../../Sources/Gateway/Pages/rider-jobs.js';
import {settled} from './clock.mjs';

const words = {newTask: (job) => `New task: ${job}`, jobReassigned: 'reassigned', statuses: {}, notReady: () => '', done: () => ''};
const doing = (...names) => names.map((job) => ({job, state: 'accepted'}));
const ten = Array.from({length: 10}, (_, at) => `order-${at}`);

/** A rider's cards, and the test in the place of the gateway. */
function cards() {
  const said = [];
  const heard = new Map();
  const enroute = {
    follow(job, listener) {
      const follow = {view: {job, known: true, kind: 'delivery', status: 'accepted'}, stop() { heard.delete(job); }};
      heard.set(job, (parts) => {
        follow.view = {...follow.view, ...parts};
        listener(follow.view, 'status');
      });
      return follow;
    },
  };
  const travel = {stateOf: () => 'off', ended() {}, resume() {}, travelling: new Map()};
  const jobs = new Jobs(enroute, travel, {prepare() {}}, words, {
    changed() {}, say: (_, text) => said.push(text), doubt: async () => {},
  });
  return {jobs, said, becomes: (job, status) => heard.get(job)({status}), names: () => jobs.all.map(({job}) => job)};
}

test('where there is no room the oldest card of what is over gives way to a new task', () => {
  const {jobs, becomes, names} = cards();
  jobs.tasks(doing(...ten), true);
  becomes('order-4', 'delivered');
  becomes('order-6', 'delivered');
  const left = ten.filter((job) => job !== 'order-4' && job !== 'order-6');
  jobs.tasks(doing(...left, 'new'), false);
  assert.deepEqual(names(), [...ten.filter((job) => job !== 'order-4'), 'new']);
});

test('ten tasks that are another rider\'s now make room at once', () => {
  const {jobs, names} = cards();
  jobs.tasks(doing(...ten), true);
  const others = ten.map((job) => `${job}-b`);
  jobs.tasks(doing(...others), false);
  assert.deepEqual(names(), others);
});

test('a task without room for its card takes nobody\'s place, and is told once it has one', () => {
  const {jobs, said, names, becomes} = cards();
  jobs.tasks(doing(...ten), true);
  for (let poll = 0; poll < 3; poll += 1) jobs.tasks(doing(...ten, 'new'), false);
  assert.deepEqual([names(), said], [ten, []]);
  becomes('order-0', 'delivered');
  said.length = 0;
  for (let poll = 0; poll < 3; poll += 1) jobs.tasks(doing(...ten.slice(1), 'new'), false);
  assert.deepEqual([names(), said], [[...ten.slice(1), 'new'], ['New task: new']]);
});

test('a task whose card was put away is no news when it is heard of again', () => {
  const {jobs, said} = cards();
  jobs.tasks([], true);
  for (let poll = 0; poll < 3; poll += 1) {
    jobs.tasks(doing('new'), false);
    jobs.dismiss('new');
  }
  assert.deepEqual(said, ['New task: new']);
});

/** A gateway's answers, given one by one. */
function answers() {
  const waiting = [];
  return {waiting, ask: () => new Promise((resolve) => { waiting.push(resolve); })};
}

test('what was asked for before a change does not take the place of what is so since', async () => {
  const {waiting, ask} = answers();
  const taken = [];
  const question = new Question(ask, (answer) => taken.push(answer));
  const poll = question.now();
  question.changed();
  taken.push('after the change');
  waiting.shift()('before the change');
  await settled();
  assert.deepEqual([taken, waiting.length], [['after the change'], 1]);
  waiting.shift()('as it is now');
  await poll;
  assert.deepEqual(taken, ['after the change', 'as it is now']);
});

test('who asks after a change is answered what is so after it, also where a question is on its way', async () => {
  const {waiting, ask} = answers();
  const taken = [];
  const question = new Question(ask, (answer) => taken.push(answer));
  question.now();
  question.changed();
  const doubt = question.now();
  waiting.shift()('old');
  await settled();
  waiting.shift()('new');
  await doubt;
  assert.deepEqual([taken, waiting.length], [['new'], 0]);
});

test('questions while nothing changes are one', async () => {
  const {waiting, ask} = answers();
  const taken = [];
  const question = new Question(ask, (answer) => taken.push(answer));
  const both = [question.now(), question.now()];
  waiting.shift()('so');
  await Promise.all(both);
  assert.deepEqual([taken, waiting.length], [['so'], 0]);
});
