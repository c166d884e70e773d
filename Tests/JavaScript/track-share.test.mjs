// Sharing the customer's page.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import './page.mjs';

const {ShareButton} = await import('../../Sources/WebAssets/web/track-share.js');

const words = {share: 'Share', copied: 'Link copied', notCopied: 'Not copied'};

function made(system) {
  const button = {hidden: true, textContent: '', addEventListener(_, act) { this.press = act; }};
  const [said, failure] = [[], {hidden: true, textContent: ''}];
  const timers = [];
  const share = new ShareButton(button, {
    words, system, failure, say: (text) => said.push(text), url: () => 'https://a.example/track/1#link', later: (act) => timers.push(act),
  });
  share.show(true, 'Your order');
  return {button, said, timers, share, failure};
}

test('the system shares the link, and closing its sheet does nothing', async () => {
  const shared = [];
  const {button, said} = made({share: async (what) => { shared.push(what); }, clipboard: {}});
  await button.press();
  assert.deepEqual(shared, [{title: 'Your order', url: 'https://a.example/track/1#link'}]);
  const closed = made({share: async () => { throw Object.assign(new Error('x'), {name: 'AbortError'}); }, clipboard: {}});
  await closed.button.press();
  assert.deepEqual([said, closed.said], [[], []]);
});

test('without the system\'s sheet, or if it fails, the link is copied and the button briefly shows that', async () => {
  for (const share of [undefined, async () => { throw new Error('not allowed'); }]) {
    const copied = [];
    const {button, said, timers, share: shown} = made({share, clipboard: {writeText: async (text) => { copied.push(text); }}});
    await button.press();
    shown.show(true, 'Your order');
    assert.deepEqual([copied, button.textContent, said], [['https://a.example/track/1#link'], 'Link copied', ['Link copied']]);
    timers[0]();
    assert.equal(button.textContent, 'Share');
  }
});

test('a failed copy is shown where people see it, and without a way to share, none is offered', async () => {
  const {button, said, failure, share: refused} = made({clipboard: {writeText: async () => { throw new Error('denied'); }}});
  await button.press();
  assert.deepEqual([said, failure.textContent, failure.hidden], [['Not copied'], 'Not copied', false]);
  refused.show(false);
  assert.equal(failure.hidden, true);
  assert.equal(made({}).button.hidden, true);
  const {share, button: other} = made({clipboard: {}});
  share.show(false, 'Your order');
  assert.equal(other.hidden, true);
});
