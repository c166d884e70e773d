// The actions of a dispatcher on one job: drafts of notes, and who may get the job.

import {Place} from './page.mjs';
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {JobActions, sentenceOf} from '../../Sources/WebAssets/web/ops-actions.js';
import {words} from '../../Sources/WebAssets/web/ops-words.js';

const row = (job, members = {}) => ({job, kind: 'delivery', status: 'preparing', rider: 'ben', ...members});

/** The actions of one job, whose elements are made again as often as they are shown. */
function desk({answers = {}, place = () => null, ...members} = {}) {
  const [asked, assigned, panel] = [[], [], new Place()];
  const actions = new JobActions({
    words: words.en, place, changed() {}, say() {}, show() {}, assigned: (...all) => assigned.push(all),
    request: async (method, path, body) => {
      asked.push([method, path, ...(body ? [JSON.stringify(body)] : [])].join(' '));
      return answers[path.split('?')[0]] ?? null;
    }, ...members,
  });
  const open = (shown) => {
    actions.open(shown.job);
    actions.note = '';
    return shown;
  };
  const show = (shown) => panel.replaceChildren(...actions.elements(shown, 'rome'));
  const press = (shown, name) => {
    show(shown);
    panel.querySelectorAll('button').find((each) => each.getAttribute('data-action') === name).happens('click');
    show(shown);
  };
  const settle = async () => { for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => { setImmediate(resolve); }); };
  return {actions, asked, assigned, panel, open, show, press, settle, field: () => panel.querySelector('textarea')};
}

test('the drafts of the newest twenty notes are kept, and a saved one is not', async (run) => {
  run.mock.timers.enable({apis: ['setTimeout']});
  const {actions, panel, open, show, press, settle, field} = desk();
  const rows = Array.from({length: 21}, (_, at) => row(`order-${at}`));
  for (const each of rows) {
    press(open(each), 'note');
    field().value = `draft of ${each.job}`;
    field().happens('input');
    assert.equal(actions.close(), true);
    assert.equal(actions.close(), false);
  }
  for (const [at, draft] of [[0, ''], [1, 'draft of order-1'], [20, 'draft of order-20']]) {
    press(open(rows[at]), 'note');
    assert.equal(field().value, draft);
  }
  panel.querySelector('form').happens('submit', {preventDefault() {}});
  await settle();
  show(rows[20]);
  assert.equal(field(), null);
  press(open(rows[20]), 'note');
  assert.equal(field().value, '');
});

test('the rider in the response is shown, and no rider after an unassignment', async (run) => {
  run.mock.timers.enable({apis: ['setTimeout']});
  const {asked, assigned, open, press, settle} = desk({answers: {
    'zones/rome/riders/available': {riders: [{rider: 'dora'}]}, 'jobs/order-1/assignment': {job: 'order-1', rider: 'dora'},
  }});
  const job = open(row('order-1'));
  press(job, 'assign');
  await settle();
  press(job, 'to dora');
  await settle();
  const other = open(row('order-2'));
  press(other, 'unassign');
  press(other, 'confirm');
  await settle();
  assert.deepEqual(assigned, [['order-1', 'dora'], ['order-2', null]]);
  assert.deepEqual(asked.slice(1), [
    'PUT jobs/order-1/assignment {"rider":"dora","insteadOf":"ben"}', 'DELETE jobs/order-2/assignment',
  ]);
});

test('an expired session is the reason of a refused action', () => {
  const own = {...words.en, signInExpired: 'Your session has expired.'};
  assert.equal(sentenceOf({status: 401, code: ''}, own), 'Your session has expired.');
});

test('questions and results name the job by its order number', async (run) => {
  run.mock.timers.enable({apis: ['setTimeout']});
  const {panel, open, press, show, settle} = desk();
  const job = open(row('order-1', {display: {orderNumber: 'A-7'}}));
  press(job, 'cancel');
  assert.match(panel.textContent, /Cancel A-7\?/);
  press(job, 'confirm');
  await settle();
  show(job);
  assert.match(panel.textContent, /A-7 is cancelled\./);
  press(job, 'unassign');
  press(job, 'confirm');
  await settle();
  show(job);
  assert.match(panel.textContent, /A-7 has no rider now\./);
});

test('the form shows riders by distance from the next stop, or without one all available riders', async () => {
  const near = {riders: [{rider: 'dora', distance: 402}]};
  for (const [place, query, title] of [
    [{kind: 'vendor', lat: 1, lon: 2}, '?near=1.00000,2.00000&radius=15000&limit=5', 'Nearest to the vendor'],
    [{kind: 'destination', lat: 3, lon: 4}, '?near=3.00000,4.00000&radius=15000&limit=5', 'Nearest to the destination'],
    [null, '', 'Available riders'],
  ]) {
    const {asked, panel, open, press, show, settle} = desk({place: () => place, answers: {'zones/rome/riders/available': near}});
    const job = open(row('order-1'));
    press(job, 'assign');
    await settle();
    show(job);
    assert.deepEqual(asked, [`GET zones/rome/riders/available${query}`]);
    assert.match(panel.textContent, new RegExp(`${title}.*dora · 0\\.2 mi`));
  }
});
