// The rider's page: signs in, shows the switch and the tasks, and forwards the rider's actions: to rider-availability.js for
// the switch, rider-jobs.js for tasks, rider-travel.js for travel mode and rider-navigation.js for maps. What it shows
// depends on the rider's state at the gateway, the view of each job, and travel mode.

import {Enroute} from './enroute.js';
import {
  Announcer, ConnectionBanner, inLanguage, keepForLater, languageSwitch, make, put, reconnectOnTouch, shared,
} from './page.js';
import {gateway} from './page-gateway.js';
import {SignIn} from './page-sign-in.js';
import {TaskAlert} from './rider-alert.js';
import {Availability, presenceOf} from './rider-availability.js';
import {deviceName} from './rider-device.js';
import {Jobs} from './rider-jobs.js';
import {LatestRequest} from './rider-latest-request.js';
import {TaskList} from './rider-list.js';
import {RiderMap, RouteCard} from './rider-map.js';
import {Navigation} from './rider-navigation.js';
import {Panel, allowedSentence} from './rider-panel.js';
import {Sharing} from './rider-sharing.js';
import {StopOrder, isAhead, jobsInOrder} from './rider-stops.js';
import {describedStops} from './rider-route.js';
import {PRESENCE, Travel} from './rider-travel.js';
import {words as allWords} from './rider-words.js';

/**
 * ms between two requests for the tasks while the page is visible, because the gateway does not push new ones. They are more
 * frequent while an online rider waits for a task.
 */
const TASKS_EVERY = {waiting: 2_000, otherwise: 5_000};
/** ms between two checks of location sharing, because no event reports that readings or messages are missing. */
const LOOK_EVERY = 2_000;
/** ms between two announcements: riders hear the result of each tap. */
const QUIET = 800;
/** Close codes after which signing in again helps. */
const SIGNED_OUT = [4005, 4500, 4502];
/** The close code when the rider signed in on a newer device. */
const REPLACED = 4506;

const element = (id) => document.getElementById(id);
const words = inLanguage(allWords);
document.title = words.title;
languageSwitch(element('language'));
put(element('shift-title'), words.oneMoment);

/** The rider's state at the gateway; null without a zone, undefined before the first response. */
let rider;

const announcer = new Announcer(element('announcer'), {quiet: QUIET});
const signIn = new SignIn({
  panel: element('signin'), why: words.signInWhy, explain: (text) => banner.explain(text),
});
const enroute = new Enroute({url: `${gateway}/v1`, credential: async () => signIn.current, device: deviceName()});
const banner = new ConnectionBanner(element('offline'), {
  hasState: () => rider !== undefined, lastMessageAt: () => enroute.lastMessageAt,
  say: (text) => announcer.say('connection', text, {isUrgent: true}),
});

// ---- components ----

const travel = new Travel(enroute, {
  changed: () => render(),
  panel: () => panel.update(),
  allowed: () => announcer.say('permission', allowedSentence),
  presence: ({lat, lon}) => enroute.presence(presenceOf(rider, deviceName(), {lat, lon})),
  failed(job, {code}, {isOff = false} = {}) {
    if (isOff) return jobs.note(job, words.travelOffUnheard, 'travel');
    const said = {
      network: words.travelNetwork, forbidden: words.travelOver, other_device: words.travelElsewhere,
      travel_mode_off: words.travelStopped,
    };
    jobs.note(job, said[code] ?? words.travelFailed, 'travel');
  },
  settled: (job) => jobs.settled(job, 'travel'),
  inOrder: (all) => [...order.filter((job) => all.includes(job)), ...all.filter((job) => !order.includes(job))],
});
const panel = new Panel(element('permission'), travel);

const navigation = new Navigation(element('maps'), words, (path) => enroute.rest('GET', path), {
  handedOff: () => travel.unavailability.handedOff(),
  locates: () => travel.locates(),
  servicesOff: (anyway) => travel.servicesOff(anyway),
  named: (job, to, name, place) => jobs.name(job, to, name, place),
});

const taskAlert = new TaskAlert();
const jobs = new Jobs(enroute, travel, navigation, words, {
  newTask: () => taskAlert.ring(), changed: () => render(),
  say: (topic, text) => announcer.say(topic, text), recheck: () => recheckRider(),
});

const sharing = new Sharing({
  card: element('sharing'), text: element('sharing-text'), rate: element('rate'), note: element('sharing-note'),
  keep: element('keep-in-front'),
}, travel, words);

const availability = new Availability({
  button: element('availability'), title: element('shift-title'), detail: element('shift-detail'),
  state: element('availability-state'), card: document.querySelector('.shift'), snack: element('snack'),
  message: element('availability-message'), close: element('snack-close'),
}, words, declare, {
  rider: (after) => {
    riderRequest.changed();
    showRider(after);
    if (after.status === 'online') travel.activate(PRESENCE);
  },
  recheck: () => recheckRider(),
  say: (text) => announcer.say('availability', text), nameOf: (job) => jobs.nameOf(job),
});

const list = new TaskList(element('jobs'), words, {
  verb: (job, step) => jobs.take(job, step), undo: (job) => jobs.undo(job), travel: switchTravel,
  why: (job) => travel.activate(job), navigate,
  dismiss(job) {
    jobs.dismiss(job);
    element('tasks').focus();
  },
  say: (text) => announcer.say('sure', text),
});

/** How many tasks have no card. */
const more = make('p', {id: 'more-tasks', class: 'card'});
element('jobs').after(more);

const stopOrder = new StopOrder();
/** The jobs in the order of their stops. */
let order = [];
const route = new RouteCard({
  card: element('route'), tasks: element('tasks'), frame: element('route-frame'), list: element('stops'),
  map: new RiderMap({element: element('route-map'), follow: element('route-follow'), words}),
}, words, {
  verb: (job, step) => jobs.take(job, step),
  first(id) {
    stopOrder.first(id);
    render();
  },
});

// ---- the rider's actions ----

async function declare(status) {
  const {body} = await enroute.rest('PATCH', '/riders/me/status', {body: {status, device: deviceName()}});
  if (status === 'online') enroute.presence({device: deviceName()});
  return body;
}

function switchTravel(job) {
  jobs.note(job, '');
  if (travel.stateOf(job) === 'off') travel.activate(job);
  else travel.deactivate(job);
}

async function navigate(job, to, how) {
  jobs.note(job, '');
  const onAnyway = () => navigate(job, to, {...how, anyway: true});
  jobs.note(job, await navigation.navigate(job, to, {...how, onAnyway}) ?? '');
}

// ---- the rider's state ----

const riderRequest = new LatestRequest(
  () => enroute.rest('GET', '/riders/me').then(({body}) => ({status: 200, body}), ({status}) => ({status})),
  ({status, body}) => {
    if (status === 200) showRider(body);
    else if (status === 401) signInAnew();
    else if (status === 403) signInAnew(words.wrongRole);
    else if (status === 404) showRider(null);
  });

/** Requests the rider's state and tasks, once at a time. */
function requestRider() { return riderRequest.now(); }

/** The same after something may have changed. */
function recheckRider() {
  riderRequest.changed();
  return riderRequest.now();
}

function showRider(answer) {
  const isFirst = rider === undefined;
  rider = answer;
  availability.show(rider);
  travel.setPresent(rider?.status === 'online');
  jobs.tasks(rider?.tasks ?? [], isFirst);
}

// ---- rendering ----

let isPlanned = false;
function render() {
  if (isPlanned) return;
  isPlanned = true;
  queueMicrotask(() => {
    isPlanned = false;
    document.title = banner.notice || words.title;
    const all = jobs.all;
    const stops = describedStops(stopOrder.of(all, travel.place, enroute.serverTime), words);
    order = jobsInOrder(stops);
    const [first] = stops;
    const isNext = ({job}) => !first || (!first.action && !isAhead(first) && first.jobs.some((each) => each.job === job));
    const rank = ({job}) => (order.includes(job) ? order.indexOf(job) : order.length);
    list.show([...all].sort((one, other) => rank(one) - rank(other)).map((job) => ({...job, isNext: isNext(job)})));
    route.show(stops, travel.place);
    sharing.show();
    put(more, jobs.hidden ? words.moreTasks(jobs.hidden) : '');
    element('no-tasks').hidden = jobs.count > 0 || rider === undefined;
    const none = rider?.approved && {online: words.noTasksOnline, offline: words.noTasksOffline}[rider.status];
    put(element('no-tasks-text'), none || words.noTasks);
  });
}

// ---- signing in ----

/** Whether signing in is in progress, so that late responses to the previous session do not start it again. */
let isSigningIn = false;
async function signInAnew(reason = shared.signInExpired) {
  if (isSigningIn) return;
  isSigningIn = true;
  try {
    enroute.stop();
    travel.pause();
    signIn.forget(reason, {isExpired: reason === shared.signInExpired});
    await signIn.credential();
    riderRequest.changed();
  } finally {
    isSigningIn = false;
  }
  await begin();
}

async function begin() {
  await signIn.credential();
  if (signIn.session && signIn.session.role !== 'rider') {
    signIn.forget(words.wrongRole);
    return begin();
  }
  element('work').hidden = false;
  enroute.start();
  // Riders without a zone have no tasks to request; the page's address contains their jobs.
  for (const job of new URLSearchParams(location.search).getAll('job')) jobs.follow(job);
  await requestRider();
}

enroute.on('connection', (connection) => {
  banner.update(connection);
  render();
  const code = connection.close?.code;
  if (code === REPLACED) {
    travel.pause();
    banner.explain(words.otherDevice);
  } else if (SIGNED_OUT.includes(code)) {
    signInAnew();
  } else if (connection.state === 'refused') {
    travel.pause();
    banner.explain(words.refused);
  }
});
enroute.on('rate', ({intervalSeconds}) => sharing.paced(intervalSeconds));
enroute.on('welcome', () => {
  availability.connected();
  jobs.connected();
  if (rider?.status === 'online') enroute.presence(presenceOf(rider, deviceName()));
  requestRider();
});

function look() {
  if (!document.hidden && enroute.connection.state === 'open') requestRider();
}
function keepLooking() {
  look();
  const isWaiting = rider?.status === 'online' && jobs.count === 0;
  setTimeout(keepLooking, isWaiting ? TASKS_EVERY.waiting : TASKS_EVERY.otherwise);
}
keepLooking();
setInterval(() => { if (travel.travelling.size > 0) render(); }, LOOK_EVERY);
document.addEventListener('visibilitychange', look);
document.addEventListener('visibilitychange', () => { if (document.hidden) jobs.hurry(); });

reconnectOnTouch(enroute);
keepForLater();
begin();
document.documentElement.dataset.ready = '';
