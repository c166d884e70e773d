// The operations page shows one zone. The address stores the zone and all filters, so links and the back button work.
// ops-polling.js and ops-feed.js request, ops-list.js filters and sorts, ops-map.js, ops-table.js and ops-panels.js render.
// This file connects them: every change is rendered once, in the next animation frame.

import {Announcer, ConnectionBanner, inLanguage, language, languageSwitch, locale, make, put} from './page.js';
import {gateway} from './page-gateway.js';
import {SignIn} from './page-sign-in.js';
import {clockText} from './enroute-words.js';
import {Poller, clock, isMissed, rendering, updateList} from './ops-polling.js';
import {JobActions} from './ops-actions.js';
import {BulkBar, MOST_SELECTED, Selection, picksOf} from './ops-bulk.js';
import {labelOf, silentRiders} from './ops-attention.js';
import {columnsOf} from './ops-columns.js';
import {PlacesFeed} from './ops-feed.js';
import {FilterForm} from './ops-filter.js';
import {JobPanel} from './ops-job.js';
import {JobList, readQuery, writeQuery} from './ops-list.js';
import {FleetMap} from './ops-map.js';
import {auditPanel, clear, gatewaysPanel, ridersPanel, shortAgo, verdictsPanel, zonesPanel} from './ops-panels.js';
import {PlaceBook} from './ops-places.js';
import {QueueCard} from './ops-queue.js';
import {VirtualTable} from './ops-table.js';
import {ViewsBar} from './ops-views.js';
import {WebhooksPanel} from './ops-webhooks.js';
import {words as allWords} from './ops-words.js';

// Polling intervals in ms.
const INTERVALS = {
  jobs: 2_000, job: 3_000, riders: 4_000, verdicts: 5_000, audit: 5_000, gateways: 5_000, zones: 8_000, webhooks: 10_000,
};
/** ms between two renderings, so that ages count. */
const CLOCK = 10_000;
/** ms between two announcements. */
const QUIET = 4_000;

const element = (id) => document.getElementById(id);
const words = inLanguage(allWords);
const number = new Intl.NumberFormat(locale);

let query = readQuery(location.search);
let list = new JobList();
let zones = null;
let texts = null;
/** The last responses other than jobs: riders, gateways, verdicts, audit. */
let known = {};
let places = new PlaceBook();
/** The list or a filter changed since the last rendering. */
let isDirty = false;
/** The places, or what decides how they look, changed since the map was drawn. */
let isMoved = false;
/** ms since the epoch. */
let answeredAt = null;
const show = rendering(() => render());

const signIn = new SignIn({panel: element('signin'), heading: 'h2', explain: (text) => banner.explain(text)});
const announcer = new Announcer(element('announcer'), {quiet: QUIET});
const banner = new ConnectionBanner(element('offline'), {
  hasState: () => list.isKnown, lastMessageAt: () => answeredAt,
  say: (text) => announcer.say('connection', text, {isUrgent: true}),
});
const say = (topic) => (text) => announcer.say(topic, text);
const poller = new Poller({signIn, onState: connectionChanged});
/** The row shows an assignment at once, and the next response confirms it. */
const assigned = (job, rider) => {
  list.assign(job, rider);
  isDirty = true;
  show();
};
const actions = new JobActions({
  words, request: (...all) => poller.request(...all), place: (row) => places.nextStop(row),
  assigned, changed: () => { refreshJobs(); refreshJob(); }, say: say('action'), show: () => show(),
});
const jobPanel = new JobPanel(element('job'), {words, close: () => closeJob(), actions, ahead: (way) => map.ahead(way)});
const queueCard = new QueueCard(element('queue'), {words, link: (job) => hrefOf({job}), say: say('queue')});
const views = new ViewsBar(element('views'), {
  words, query: () => query, say: say('views'),
  open: (search) => {
    const {zone, job, tab} = query;
    go({...readQuery(search), zone, job, tab});
  },
});
const filter = new FilterForm({
  form: element('filter'), trackings: element('trackings'), clear: element('filter-clear'), words,
  query: () => query, go: (change, how) => go(change, how),
});
const webhooksPanel = new WebhooksPanel(element('webhooks'), {words, poller, show: () => show(), say: say('webhook')});
const map = new FleetMap(element('fleet'), {
  words, choose: (job) => { go({job}); jobPanel.focus(); }, about: (marker) => aboutMarker(marker),
});
const feed = new PlacesFeed({
  signIn,
  take: (message) => {
    places.take(message);
    isMoved = true;
    if (!document.hidden) show();
  },
});
let isMapOld = false;

const selection = new Selection();
const bulk = new BulkBar(element('bulk'), {
  words, selection, row: (job) => list.row(job), zone: () => query.zone, request: (...all) => poller.request(...all), assigned,
  changed: () => { refreshJobs(); pickChanged(true); }, say: say('bulk'),
});
/** The jobs in the order of the table. */
let shown = [];
function pickChanged(hasRoom) {
  if (!hasRoom) announcer.say('bulk', words.tooManySelected(number.format(MOST_SELECTED)));
  table.refresh();
  show();
}

/** Rounded to 10 s, because fifty rows that change every second cannot be read. */
const ago = (at) => shortAgo(Math.floor(Math.max(0, clock() - at) / CLOCK) * CLOCK);
const statusText = (status) => texts?.statuses?.[status]?.short ?? status;
const hrefOf = (change) => location.pathname + (writeQuery({...query, ...change}, location.search) || '');

const table = new VirtualTable({
  frame: element('jobs-frame'), table: element('jobs'),
  name: (row) => row.job, link: (row) => hrefOf({job: row.job}),
  choose: (row) => { go({job: row.job}); jobPanel.focus(); },
  order: (key) => go({sort: key, down: query.sort === key && !query.down}, {isSmall: true}),
  picks: picksOf({words, selection, shown: () => shown, changed: (hasRoom) => pickChanged(hasRoom)}),
  columns: columnsOf({words, statusText, ago}),
});

/** The text of a marker's tip. */
const aboutMarker = ({kind, state, job, rider}) => [
  kind === 'rider' ? rider : nameOf(job), words.markers[`${kind} ${state}`], kind === 'rider' ? nameOf(job) : rider,
].filter(Boolean).join(' · ');
const nameOf = (job) => job && labelOf(list.row(job) ?? {job});
const isSignedOut = () => !element('signin').hidden;
/** Nothing is live for somebody who is signed out. */
const aged = (row) => (row?.tracking === 'live' && isSignedOut() ? {...row, tracking: 'stale'} : row);

// ---- navigation ----

/** Changes the query and the address. `isSmall` replaces the current history entry. */
function go(change, {isSmall = false} = {}) {
  const zone = query.zone;
  query = {...query, ...change};
  const address = location.pathname + writeQuery(query, location.search);
  if (address !== location.pathname + location.search) {
    history[isSmall ? 'replaceState' : 'pushState'](null, '', address);
  }
  arrive(zone !== query.zone);
}

function arrive(isOtherZone) {
  if (isOtherZone) {
    list = new JobList();
    known = {gateways: known.gateways};
    places = new PlaceBook();
    queueCard.clear();
    bulk.clear();
    map.clear();
    feed.watch(query.zone);
    for (const id of ['riders', 'verdicts', 'audit']) clear(element(id));
    element('age').textContent = '';
    table.top();
    refreshZone();
  }
  if (jobPanel.job !== query.job) {
    jobPanel.open(query.job);
    refreshJob();
  }
  table.chosen(query.job);
  map.chosen(query.job);
  filter.write(query);
  isDirty = true;
  show();
}

addEventListener('popstate', () => {
  const zone = query.zone;
  query = readQuery(location.search);
  query.zone ??= zones?.[0]?.zone ?? null;
  arrive(zone !== query.zone);
});

addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !jobPanel.job || event.defaultPrevented || event.isComposing) return;
  if (!actions.close()) closeJob();
});

function closeJob() {
  const job = query.job;
  go({job: null});
  table.focus(job);
}

// ---- polling ----

const refreshZones = poller.every(INTERVALS.zones, async (isCurrent) => {
  const answer = await poller.get('zones');
  if (!isCurrent()) return;
  zones = answer.zones;
  if (!query.zone && zones.length > 0) {
    const fullest = zones.reduce((one, other) => (other.jobs > one.jobs ? other : one));
    go({zone: fullest.zone}, {isSmall: true});
  }
  show();
}, {isAlways: true});

const refreshJobs = poller.every(INTERVALS.jobs, async (isCurrent) => {
  if (!query.zone) return;
  const asked = list;
  const changed = () => {
    isDirty = true;
    show();
  };
  const isOurs = () => isCurrent() && asked === list;
  if (await updateList(poller, query.zone, asked, isOurs, changed)) changed();
  // This time is that of the job list. Other requests may succeed while that one fails.
  if (isOurs()) put(element('age'), words.updated(clockText(clock(), locale)));
}, {isAlways: true});

/** Polls a card of the zone. */
const card = (name) => poller.every(INTERVALS[name], async (isCurrent) => {
  const zone = query.zone;
  if (!zone) return;
  const answer = await poller.get(`zones/${encodeURIComponent(zone)}/${name}`);
  if (!isCurrent() || zone !== query.zone) return;
  known[name] = answer;
  if (name === 'riders') {
    list.silent = silentRiders(answer.riders);
    isDirty = isMoved = true;
  }
  show();
}, {isAlways: name === 'riders'});
const refreshCards = ['riders', 'verdicts', 'audit'].map(card);

poller.every(INTERVALS.gateways, async (isCurrent) => {
  const answer = await poller.get('gateways');
  if (!isCurrent()) return;
  known.gateways = answer;
  show();
});

poller.every(INTERVALS.webhooks, async (isCurrent) => {
  await webhooksPanel.ask(isCurrent);
  if (isCurrent()) show();
});

const refreshJob = poller.every(INTERVALS.job, async (isCurrent) => {
  await jobPanel.ask(poller, isCurrent);
  show();
});

function refreshZone() {
  refreshJobs();
  for (const refresh of refreshCards) refresh();
}

async function connectionChanged({isOpen, status}) {
  const own = known.gateways?.gateways.find(({id}) => id === known.gateways.answeredBy);
  if (isMapOld !== feed.isOld) {
    [isMapOld, isMoved] = [feed.isOld, true];
    show();
  }
  if (isMissed(status)) banner.update({state: 'waiting'});
  if (isOpen) {
    answeredAt = clock();
    banner.update({state: 'open', degraded: own?.health?.state === 'degraded', notice: isMapOld ? words.mapOld : ''});
  }
  if (![401, 403].includes(status)) return;
  poller.stop();
  feed.stop();
  if (status === 403) return refuse();
  isMapOld = isDirty = true;
  show();
  banner.update({state: 'stopped'});
  signIn.forget(words.signInExpired, {isExpired: true});
  begin();
}

/** Shows that the signed-in person is not operations staff. */
function refuse() {
  const button = make('button', {type: 'button'}, words.signOut);
  button.addEventListener('click', () => {
    signIn.forget();
    location.reload();
  });
  element('refusal').replaceChildren(make('p', {}, words.refused), button);
  element('refusal').hidden = false;
  element('dashboard').hidden = true;
}

// ---- rendering ----

function render() {
  element('dashboard').hidden = !element('refusal').hidden;
  renderTabs();
  if (zones) {
    zonesPanel(element('zones'), zones, {words, current: query.zone, link: (zone) => hrefOf({zone, job: null})});
  }
  if (isDirty) renderRows();
  const panels = {riders: ridersPanel, verdicts: verdictsPanel, audit: auditPanel, gateways: gatewaysPanel};
  for (const [name, panel] of Object.entries(panels)) {
    if (known[name]) panel(element(name), known[name], {words, now: clock(), link: (job) => hrefOf({job}), name: nameOf});
  }
  webhooksPanel.render(clock());
  jobPanel.texts = texts;
  jobPanel.show(query.job && aged(list.row(query.job)), clock(), query.zone);
  queueCard.render(clock(), query.job);
  bulk.render();
  views.render();
  if (isMoved) renderMap();
}

/** The view for dispatchers and the figures for engineers. */
function renderTabs() {
  element('tabs').hidden = element('dashboard').hidden;
  for (const link of element('tabs').children) {
    link.href = hrefOf({tab: link.dataset.tab});
    if (link.dataset.tab === query.tab) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  [element('desk').hidden, element('system').hidden] = [query.tab !== '', query.tab !== 'system'];
}

function renderMap() {
  isMoved = false;
  const riders = new Map((known.riders?.riders ?? []).map((rider) => [rider.rider, rider]));
  map.show(places.markers({row: (job) => list.row(job), riders, silent: list.silent, now: clock(), isOld: isMapOld}),
    places.isKnown && list.version !== null);
}

let announced = '';

function renderRows() {
  isDirty = false;
  const rows = list.rows(query);
  shown = rows.map(({job}) => job);
  if (list.isKnown) selection.prune((job) => Boolean(list.row(job)));
  table.show(rows.map(aged));
  filter.count(list.counts(query), query);
  table.sorted(query.sort, query.down);
  const empty = !list.isKnown ? words.reading : list.size === 0 ? words.none : words.nothing;
  put(element('no-jobs'), rows.length === 0 ? empty : '');
  isMoved = true;
  const queue = list.queue();
  // A zone's first list may be incomplete.
  if (list.version !== null) queueCard.take(queue, (job) => list.row(job));
  // The tab's title shows it too, because staff have other tabs open.
  const urgent = queue.length;
  document.title = isSignedOut() && banner.notice || (urgent > 0 ? `(${number.format(urgent)}) ${words.title}` : words.title);
  put(element('count'), list.isKnown ? words.count(number.format(rows.length), number.format(list.size)) : '');
  // Announce the result of a filter, but not changes that arrive on their own.
  const asked = JSON.stringify([query.zone, query.q, query.need, query.status, query.tracking, query.unavailable]);
  if (list.isKnown && asked !== announced) {
    announced = asked;
    announcer.say('count', words.spoken(number.format(rows.length), number.format(list.size)));
  }
}

/** Links to a zone, a job or a tab navigate within the page. With a modifier key they open as usual. */
document.addEventListener('click', (event) => {
  const link = event.target.closest('a[data-zone], a[data-job], a[data-tab]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  if (link.dataset.zone) go({zone: link.dataset.zone, job: null});
  else if (link.dataset.job) {
    go({job: link.dataset.job});
    jobPanel.focus();
  } else go({tab: link.dataset.tab});
});

async function loadTexts() {
  const answer = await fetch(`${gateway}/api/v1/texts?language=${language}`).catch(() => null);
  texts = answer?.ok ? await answer.json().catch(() => null) : null;
  if (!texts) return;
  filter.make(texts);
  filter.write(query);
  isDirty = true;
  show();
}

async function begin() {
  await signIn.credential();
  element('refusal').hidden = true;
  arrive(false);
  banner.update({state: 'connecting'});
  poller.start();
  feed.start();
  feed.watch(query.zone);
}

document.title = words.title;
languageSwitch(element('language'));
filter.make(null);
loadTexts();
setInterval(() => { isDirty = true; show(); }, CLOCK);
begin();
document.documentElement.dataset.ready = '';
