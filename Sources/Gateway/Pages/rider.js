// The rider's page: signs in, shows the switch and the tasks, and passes what the rider does to whoever carries it out:
// rider-availability.js the switch, rider-travel.js travel mode, rider-navigation.js the maps, rider-list.js the cards.
// What is shown follows from three things: the rider as the gateway knows it, each job's view, and travel mode.

import {Enroute} from './enroute.js';
import {clockText} from './enroute-words.js';
import {Announcer, ConnectionBanner, inLanguage, keepForLater, languageSwitch, locale, put, shared} from './page.js';
import {SignIn} from './page-sign-in.js';
import {Availability} from './rider-availability.js';
import {deviceName} from './rider-device.js';
import {TaskList} from './rider-list.js';
import {Navigation} from './rider-navigation.js';
import {Panel, allowedSentence} from './rider-panel.js';
import {allowsTravel, headingFor, isOver, isWaitingForVendor} from './rider-tasks.js';
import {PRESENCE, Travel} from './rider-travel.js';
import {words as allWords} from './rider-words.js';

/** ms between two questions for the rider's tasks while the page is looked at: who gives them out does not tell us. */
const TASKS_EVERY = 5_000;
/** Jobs that are shown, at most: as many as a session may follow. */
const MOST_JOBS = 10;
/** ms between two announcements: the rider hears what came of each tap. */
const QUIET = 800;
/** Words of the gateway for a journey that is over. */
const JOURNEY_OVER = ['paused', 'arrived', 'ended'];
/** Words of the gateway for a job that is not this rider's. */
const NOT_THEIRS = ['not_found', 'forbidden'];
/** Closes after which signing in anew is of use. */
const SIGNED_OUT = [4005, 4500, 4501, 4502];

const element = (id) => document.getElementById(id);
const words = inLanguage(allWords);
document.title = words.title;
languageSwitch(element('language'));

const announcer = new Announcer(element('announcer'), {quiet: QUIET});
const signIn = new SignIn({panel: element('signin')});
const enroute = new Enroute({credential: async () => signIn.current});
const banner = new ConnectionBanner(element('offline'), {hasState: () => jobs.size > 0 || rider !== undefined});

/** As the gateway knows it; null without a zone, undefined until it was asked. */
let rider;
/** Job → `{job, task, follow, message, busy, names, gone, isNamed}`. */
const jobs = new Map();
let reportEvery = 1;   // s

// ---- the parts ----

const travel = new Travel(enroute, {
  changed: () => render(),
  panel: () => panel.update(),
  allowed: () => announcer.say('permission', allowedSentence),
  presence: ({lat, lon}) => enroute.presence({lat, lon, device: deviceName()}),
  failed(job, error) {
    const isTooLate = error.code === 'forbidden';
    note(job, error.code === 'network' ? words.travelNetwork : isTooLate ? words.travelOver : words.travelFailed);
  },
});
const panel = new Panel(element('permission'), travel);

const navigation = new Navigation(element('maps'), words, (path) => enroute.rest('GET', path), {
  handedOff: () => travel.handedOff(),
  locates: () => travel.locates(),
  servicesOff: (anyway) => travel.servicesOff(anyway),
  named(job, to, name) {
    const known = jobs.get(job);
    if (known) known.names = {...known.names, [to]: name};
    render();
  },
});

const availability = new Availability({
  button: element('availability'), title: element('shift-title'), detail: element('shift-detail'),
  state: element('availability-state'), card: document.querySelector('.shift'), snack: element('snack'),
  message: element('availability-message'), close: element('snack-close'),
}, words, declare, {
  rider: (after) => {
    takeRider(after);
    if (after.status === 'online') travel.activate(PRESENCE);
  },
  doubt: () => askForRider(),
  say: (text) => announcer.say('availability', text),
});

const list = new TaskList(element('jobs'), words, {
  verb: takeStep, travel: switchTravel, why: (job) => travel.activate(job), navigate,
  dismiss(job) {
    jobs.get(job)?.follow.stop();
    jobs.delete(job);
    element('tasks').focus();
    render();
  },
});

// ---- what the rider does ----

async function declare(status) {
  const {body} = await enroute.rest('PATCH', '/riders/me/status', {
    body: {status, device: deviceName()}, headers: {'Idempotency-Key': crypto.randomUUID?.() ?? String(Math.random())},
  });
  if (status === 'online') enroute.presence({device: deviceName()});
  return body;
}

function switchTravel(job) {
  note(job, '');
  if (travel.stateOf(job) === 'off') travel.activate(job);
  else travel.deactivate(job);
}

async function navigate(job, to, how) {
  note(job, '');
  const why = await navigation.navigate(job, to, {...how, onAnyway: () => navigate(job, to, {...how, anyway: true})});
  if (why) note(job, why);
  render();
}

async function takeStep(job, {verb, path, body}) {
  const known = jobs.get(job);
  if (!known || known.busy) return;
  Object.assign(known, {busy: verb, message: ''});
  render();
  try {
    await enroute.rest('POST', `/jobs/${encodeURIComponent(job)}/${path}`, {body});
    if (verb === 'cancelled') known.gone = words.taskGone(job);
  } catch (error) {
    if (error.code === 'unauthorized') signInAnew();
    note(job, error.code === 'network' ? words.verbNetwork
      : ['illegal_transition', 'conflict', 'not_found'].includes(error.code) ? words.illegal : words.verbFailed);
  }
  known.busy = null;
  await askForRider();
  render();
}

/** Says something on a job's card, and aloud; '' takes it away. */
function note(job, text) {
  const known = jobs.get(job);
  if (!known) return;
  known.message = text;
  if (text) announcer.say(`job ${job}`, text);
  render();
}

// ---- what is known ----

let asking = null;

/** The rider and its tasks, asked for once at a time. */
function askForRider() {
  asking ??= readRider().finally(() => { asking = null; });
  return asking;
}

async function readRider() {
  try {
    takeRider((await enroute.rest('GET', '/riders/me')).body);
  } catch (error) {
    if (error.status === 401) signInAnew();
    else if (error.status === 404) takeRider(null);
    else if (error.status === 403) signInAnew(words.wrongRole);
  }
}

function takeRider(answer) {
  const isFirst = rider === undefined;
  rider = answer;
  availability.show(rider);
  travel.setPresent(rider?.status === 'online');
  const tasks = new Map((rider?.tasks ?? []).map(({job, state}) => [job, state]));
  for (const [job, task] of tasks) {
    if (!jobs.has(job)) {
      follow(job);
      if (!isFirst) announcer.say(`job ${job}`, words.newTask(job));
    }
    if (jobs.has(job)) Object.assign(jobs.get(job), {task, gone: null});
  }
  for (const known of jobs.values()) {
    if (tasks.has(known.job) || known.task === null) continue;
    known.task = null;
    if (!isOver(known.follow.view.status)) known.gone ??= words.jobReassigned;
    travel.ended(known.job);
  }
  render();
}

function follow(job) {
  if (jobs.size >= MOST_JOBS) return;
  const known = {job, task: null, message: '', busy: null, names: {}, gone: null};
  jobs.set(job, known);
  known.follow = enroute.follow(job, (view, change) => heard(known, view, change));
}

function heard(known, view, change) {
  const {job} = known;
  if (view.refused) {
    // A connection that is refused says so of all jobs: what is on the page stays until somebody is signed in again.
    if (NOT_THEIRS.includes(view.refused.code)) {
      travel.ended(job);
      jobs.delete(job);
    }
    return render();
  }
  const isWhole = change === 'snapshot' || change === 'reset';
  const isUnderway = allowsTravel(view.status) && !view.ended;
  if (!isUnderway || (JOURNEY_OVER.includes(view.tracking) && (isWhole || change === 'tracking'))) {
    if (travel.travelling.has(job) && view.reason === 'time_limit') note(job, words.timeLimit);
    travel.ended(job);
  } else if (isWhole) {
    travel.resume(job);
  }
  if (change === 'status') announcer.say(`job ${job}`, words.done(words.statuses[view.status]));
  if (change === 'approach' && words[view.approach]) announcer.say(`job ${job}`, words[view.approach]);
  if (view.ended || change === 'status') askForRider();
  if (!isOver(view.status) && !known.gone) {
    navigation.prepare(job, headingFor({...view, task: known.task}), `${view.epoch} ${JSON.stringify(view.destination)}`);
  }
  render();
}

// ---- what is shown ----

let isPlanned = false;
function render() {
  if (isPlanned) return;
  isPlanned = true;
  queueMicrotask(() => {
    isPlanned = false;
    renderTasks();
    renderSharing();
  });
}

function hintFor(known, view) {
  const state = {kind: view.kind, status: view.status, task: known.task};
  if (view.approach === 'arrived' || view.approach === 'approaching') return words[view.approach];
  if (isWaitingForVendor(state) && known.task) return words.notReady(words.statuses[view.status]);
  return view.kind === 'service' && view.status === 'assigned' ? words.travelLater : '';
}

const ENDINGS = {delivered: words.jobDone, completed: words.jobDone, cancelled: words.jobCancelled};

function renderTasks() {
  list.show([...jobs.values()].map((known) => {
    const {view} = known.follow;
    const state = travel.stateOf(known.job);
    return {
      ...known, view, travel: state, canWhy: state === 'interrupted', hasMap: navigation.chosen !== null,
      gone: known.gone, message: known.message || known.gone || ENDINGS[view.status],
      hint: view.known ? hintFor(known, view) : '',
    };
  }));
  element('none').hidden = jobs.size > 0 || rider === undefined;
  put(element('none-text'), !rider ? words.noTasks : rider.status === 'online' ? words.noTasksOnline : words.noTasksOffline);
}

const seconds = new Intl.NumberFormat(locale, {style: 'unit', unit: 'second', unitDisplay: 'short'});
const percent = new Intl.NumberFormat(locale, {style: 'percent'});

function renderSharing() {
  const all = [...travel.travelling.keys()];
  const isShared = travel.location.isWatching;
  const sharing = element('sharing');
  sharing.hidden = all.length === 0;
  if (all.length === 0) return;
  sharing.dataset.state = isShared ? 'on' : 'interrupted';
  put(element('sharing-text'), !isShared ? words.interrupted : all.length === 1 ? words.sharingOne : words.sharingMany(all.length));
  const deadline = Math.min(...[...travel.travelling.values()].filter(Boolean));
  const until = Number.isFinite(deadline) ? `, ${words.until(clockText(deadline, locale))}` : '';
  put(element('rate'), !isShared ? '' : (travel.lastFixAt === null ? words.waitingForFix : words.rate(seconds.format(reportEvery))) + until);
  const {battery} = travel;
  put(element('sharing-note'), travel.note ? words[travel.note] : travel.wasHidden ? words.wasHidden
    : battery.isLow ? words.battery(percent.format(battery.level)) : '');
}

// ---- coming and going ----

let isSigningIn = false;
async function signInAnew(reason = shared.signInExpired) {
  if (isSigningIn) return;
  isSigningIn = true;
  enroute.stop();
  travel.pause();
  signIn.forget(reason);
  await begin();
  isSigningIn = false;
}

async function begin() {
  await signIn.credential();
  if (signIn.session && signIn.session.role !== 'rider') {
    signIn.forget(words.wrongRole);
    return begin();
  }
  element('work').hidden = false;
  enroute.start();
  for (const job of new URLSearchParams(location.search).getAll('job')) if (!jobs.has(job)) follow(job);
  await askForRider();
}

enroute.on('connection', (connection) => {
  banner.update(connection);
  const code = connection.close?.code;
  if (code === 4007) {
    enroute.stop();
    put(element('offline'), words.otherDevice);
  } else if (SIGNED_OUT.includes(code)) {
    signInAnew();
  }
});
enroute.on('welcome', () => {
  if (rider?.status === 'online') enroute.presence({device: deviceName()});
  askForRider();
});
enroute.on('rate', ({interval}) => {
  reportEvery = interval;
  render();
});
setInterval(() => { if (!document.hidden && enroute.connection.state === 'open') askForRider(); }, TASKS_EVERY);
document.addEventListener('visibilitychange', () => { if (!document.hidden && enroute.connection.state === 'open') askForRider(); });

put(element('shift-title'), words.oneMoment);
keepForLater();
begin();
