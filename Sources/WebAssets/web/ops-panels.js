// The cards beside the jobs: zones, riders, gateways, position quality and activity. Each renders a response of the gateway. A
// response without changes does not touch the card, so that nobody is interrupted while reading.

import {locale, make} from './page.js';
import {timeText} from './page-times.js';
import {isFree} from './ops-attention.js';

const RIDERS_SHOWN = 100;
const CHANGES_SHOWN = 40;

const number = new Intl.NumberFormat(locale);
const short = new Intl.NumberFormat(locale, {maximumFractionDigits: 1});
const percent = new Intl.NumberFormat(locale, {style: 'percent', maximumFractionDigits: 1});

const narrow = new Intl.RelativeTimeFormat(locale, {style: 'narrow'});

/** Returns how long ago in the shortest form, for a column. @param age ms */
export function shortAgo(age) {
  const [unit, length] = [['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000]].find(([, length]) => age >= length)
    ?? ['second', 1_000];
  return narrow.format(-Math.floor(age / length), unit);
}

const said = new WeakMap();

/**
 * Replaces the content of `panel` with `children()` if `content` changed. The focus stays on the link or button of the same
 * place.
 */
export function replace(panel, content, children) {
  const text = JSON.stringify(content);
  if (said.get(panel) === text) return;
  said.set(panel, text);
  const before = document.activeElement;
  const place = panel.contains(before) ? before.dataset.place : null;
  const {selectionStart, selectionEnd} = before ?? {};
  panel.replaceChildren(...children());
  const after = place && panel.querySelector(`[data-place="${CSS.escape(place)}"]`);
  after?.focus({preventScroll: true});
  if (Number.isInteger(selectionStart)) after?.setSelectionRange?.(selectionStart, selectionEnd);
}

/** Empties a panel, so that the next content is rendered even if it is the same. */
export function clear(panel) {
  said.delete(panel);
  panel.replaceChildren();
}

const heading = (id, text, note = '') => make('div', {class: 'head'},
  make('h2', {id: `${id}-title`}, text), note && make('p', {class: 'quiet'}, note));

/** A small table without virtual rows. */
function table(titleID, columns, rows) {
  const head = columns.map(([key, title]) => make('th', {scope: 'col', class: `c-${key}`}, title));
  return make('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-labelledby': titleID},
    make('table', {'aria-labelledby': titleID},
      make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...rows)));
}

const cells = (first, ...others) => [
  make('th', {scope: 'row'}, first), ...others.map((other) => (other instanceof Node ? other : make('td', {}, other)))];

/** The zone that was scrolled into view: once, and not while the page is hidden. */
let revealed = null;

/** Links to the zones with the number of jobs; `link(zone)` returns an address. */
export function zonesPanel(panel, zones, {words, current, link}) {
  replace(panel, [zones, current, link(current ?? '')], () => [
    zones.length === 0 ? make('p', {class: 'quiet'}, words.noZones) : make('ul', {}, ...zones.map(({zone, jobs}) => {
      const anchor = make('a', {
        href: link(zone), 'aria-current': zone === current ? 'page' : null,
      }, zone === '-' ? words.noZone : zone, ' ', make('span', {class: 'tally'}, number.format(jobs)));
      anchor.dataset.zone = anchor.dataset.place = zone;
      return make('li', {}, anchor);
    }))]);
  const entry = panel.querySelector('[aria-current]');
  if (current === revealed || !entry?.clientWidth) return;
  reveal(panel, entry);
  revealed = current;
}

/** Scrolls a row, and nothing around it, until an entry is in view. */
function reveal(row, entry) {
  const [frame, box] = [row, entry].map((each) => each.getBoundingClientRect());
  row.scrollBy(Math.min(0, box.left - frame.left) + Math.max(0, Math.ceil(box.right - frame.right)), 0);
}

function riderState(rider) {
  if (!rider.reachable) return 'unreachable';
  if (rider.draining) return 'draining';
  if (!rider.approved) return 'barred';
  return isFree(rider) ? 'available' : 'busy';
}

/** `busy · 2 tasks` */
const stateText = ({state, tasks}, words) => [
  words.states[state], state === 'busy' && tasks.length > 0 && words.tasksOf(number.format(tasks.length)),
].filter(Boolean).join(' · ');

/** To the minute, because a panel that changes every second cannot be read. */
export const minutesAgo = (age) => (age < 60_000 ? '< 1 min' : shortAgo(age));

/** `2 free · 1 busy · 4 not available`: of all riders, of whom the response lists only the first. */
function poolText({count, free, busy}, words) {
  const others = count - free - busy;
  return [words.pool(number.format(free), number.format(busy)), others > 0 && words.notAvailable(number.format(others))]
    .filter(Boolean).join(' · ');
}

/** @param name returns the name of a job for people */
export function ridersPanel(panel, answer, {words, now, name}) {
  const riders = answer.riders.map((rider) => ({
    rider: rider.rider, state: riderState(rider), tasks: rider.tasks.map((job) => name(job)),
    heard: rider.heartbeat ? minutesAgo(now - rider.heartbeat) : '',
  })).sort((one, other) => (one.state < other.state ? 1 : one.state > other.state ? -1 : 0));
  const shown = riders.slice(0, RIDERS_SHOWN);
  // A gateway of the previous version does not count them.
  const pool = answer.count > 0 && answer.free >= 0 ? poolText(answer, words) : '';
  replace(panel, [shown, pool, answer.count], () => [
    heading('riders', words.riders, pool),
    shown.length === 0 ? make('p', {class: 'quiet'}, words.noRiders) : table('riders-title',
      [['rider', words.rider], ['state', words.state], ['tasks', words.tasks], ['heard', words.heard]],
      shown.map((rider) => {
        const row = make('tr', {}, ...cells(rider.rider, make('td', {'data-kind': rider.state}, stateText(rider, words)),
          rider.tasks.join(', '), rider.heard));
        row.dataset.rider = rider.rider;
        return row;
      })),
    ...(answer.count > shown.length
      ? [make('p', {class: 'quiet'}, words.more(number.format(answer.count - shown.length)))] : []),
  ]);
}

const latency = (times, words) => (times.lastMs === undefined
  ? words.noAnswer : `${short.format(times.medianMs)} / ${short.format(times.p95Ms)} ms`);

export function gatewaysPanel(panel, answer, {words}) {
  replace(panel, answer.gateways.map(({at, ...rest}) => (rest.health ? rest : {...rest, at})).concat(answer.complete), () => [
    heading('gateways', words.gateways),
    ...(answer.complete ? [] : [make('p', {class: 'problem'}, words.alone)]),
    make('ul', {class: 'gateways'}, ...answer.gateways.map(({id, at, health}) => {
      const state = health?.state ?? 'silent';
      const title = make('p', {class: 'head'}, make('b', {}, health?.name ?? id),
        make('span', {'data-kind': state}, `${words.healths[state]}${health ? '' : `, ${timeText(at, Date.now(), locale)}`}`));
      const item = make('li', {}, title);
      item.dataset.gateway = id;
      if (!health) return item;
      const facts = [
        [words.sessions, words.follows(number.format(health.sessions), number.format(health.followers))],
        [`${words.redis}, ${words.live}`, latency(health.live, words)],
        [`${words.redis}, ${words.ledger}`, latency(health.ledger, words)],
        [words.lag, `${number.format(health.loopLagMs)} ms`],
        [words.memory, `${number.format(Math.round(health.memoryBytes / 1_048_576))} MB`],
      ];
      item.append(make('dl', {class: 'facts'}, ...facts.flatMap(([name, value]) => [
        make('dt', {}, name), make('dd', {}, value)])));
      return item;
    })),
  ]);
}

/** A verdict in words, and as engineers look it up. */
export const verdictText = (verdict, words) => (verdict in words.verdictNames
  ? [`${words.verdictNames[verdict]} `, make('span', {class: 'quiet code'}, verdict)] : [verdict]);

/** `link(job)` returns an address, `name(job)` its name for people. */
export function verdictsPanel(panel, answer, {words, link, name}) {
  const all = answer.counts.reduce((sum, {count}) => sum + count, 0);
  const jobs = answer.jobs.slice(0, 10).map((each) => ({...each, label: name(each.job)}));
  replace(panel, [answer.counts, jobs, link('')], () => [
    heading('verdicts', words.verdicts),
    ...(all === 0 ? [make('p', {class: 'quiet'}, words.noVerdicts)] : [table('verdicts-title',
      [['verdict', words.verdict], ['readings', words.readings], ['share', words.share]],
      answer.counts.map(({verdict, count}) => make('tr', {},
        ...cells(make('span', {}, ...verdictText(verdict, words)), number.format(count), percent.format(count / all)))))]),
    ...(jobs.length === 0 ? [] : [
      make('h3', {}, words.refusedMost),
      make('ul', {class: 'plainlist'}, ...jobs.map(({job, label, refused, counts}) => {
        const anchor = make('a', {href: link(job), title: job}, label);
        anchor.dataset.job = anchor.dataset.place = job;
        const worst = counts.find(({verdict}) => verdict !== 'accepted' && verdict !== 'held');
        return make('li', {}, anchor, ` ${words.refusals(number.format(refused))}`, worst ? ` (${words.verdictNames[worst.verdict] ?? worst.verdict})` : '');
      }))]),
  ]);
}

/** The time at the start of a stream id, in ms since the epoch. */
const timeOf = (id) => timeText(Number(id.split('-')[0]), Date.now(), locale);

/** @param name returns the name of a job for people */
export function auditPanel(panel, answer, {words, name}) {
  const told = (entries, parts) => entries.slice(0, CHANGES_SHOWN).map(
    (entry) => [entry.id, parts(entry).filter(Boolean).join(' ')]);
  const changes = told(answer.changes, ({rider, change, job, reason, actor}) => [
    rider, words.changeNames[change] ?? change, name(job), reason && `(${words.changeReasons[reason] ?? reason})`,
    actor && actor !== rider && `${words.actor} ${actor}`,
  ]);
  const accesses = told(answer.accesses, ({person, role, type, job, via}) => [
    person, role && role !== 'customer' && `(${role})`, words[type] ?? type, name(job), words.via[via],
  ]);
  const list = (title, entries) => (entries.length === 0 ? [] : [
    make('h3', {}, title),
    make('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': title},
      make('ol', {class: 'plainlist'}, ...entries.map(([id, text]) => make('li', {},
        make('time', {class: 'quiet'}, timeOf(id)), ' ', text)))),
  ]);
  replace(panel, [changes, accesses], () => [
    heading('audit', words.audit),
    ...(changes.length + accesses.length === 0 ? [make('p', {class: 'quiet'}, words.noAudit)] : []),
    ...list(words.changes, changes), ...list(words.accesses, accesses),
  ]);
}
