// The customer's page: follows one job and shows it. enroute.js knows what is so, track-presentation.js how it is put; this
// file writes it down, and decides nothing but what is there: the order, the sign-in, or why neither can be.

import {Enroute} from './enroute.js';
import {reduce, unknownView} from './enroute-view.js';
import {
  Announcer, ConnectionBanner, inLanguage, keepForLater, language, languageSwitch, locale, make, onThemeChange, put,
} from './page.js';
import {SignIn} from './page-sign-in.js';
import {firstState, statusTexts} from './track-first.js';
import {stepIcons} from './track-icons.js';
import {TrackMap} from './track-map.js';
import {
  PASSING, isTakenAway, isTracked, presentation, positionAge, refusalOnceOpen, refusalWithoutRoom,
} from './track-presentation.js';
import {Announcements} from './track-announcements.js';
import {words as allWords} from './track-words.js';

const EVERY = 1_000;              // ms between two looks at the clock: ages and arrivals count by themselves
const ASK_TEXTS_AGAIN = 5_000;    // ms

const element = (id) => document.getElementById(id);
const words = inLanguage(allWords);
const job = decodeURIComponent(location.pathname.split('/').pop());

const signIn = new SignIn({panel: element('signin'), takesLinks: true, why: words.signInWhy});
const enroute = new Enroute({credential: async () => signIn.current});
const map = new TrackMap(element('map'), {follow: element('follow'), words});
const announcer = new Announcer(element('announcer'));
// An arrival moves often, and waits for its turn; all else is said as it happens (CUS-027).
const announcements = new Announcements(
  (topic, text) => announcer.say(topic, text, {isUrgent: topic !== 'arrival'}), (topic) => announcer.unsay(topic));
const banner = new ConnectionBanner(element('offline'), {
  words, hasState: () => view.known, knownAt: () => keptAt, lastMessageAt: () => enroute.lastMessageAt,
  say: (text) => announcer.say('connection', text, {isUrgent: true}),
});

let view = unknownView(job);
let texts = null;
let names = null;      // what the server called things, while the texts are not here
let refusal = null;    // a name of `words.refusals`
let shownID = null;    // of the position that the map has
let isUnseen = false;  // by a link the first state is without the position: a session is open a moment later
let keptAt = null;     // ms since the epoch: when a state was kept that is shown without a network (worker.js)

let wasHere = false;   // a session stood: what is shown may stay while there is no room for another

/** Closes after which nobody comes back, and what they mean to who looks; a token's end asks to sign in again. */
const CLOSES = {4502: 'expired', 4505: 'other'};
/** There was no room for this session; it is tried again. */
const FULL = 4009;

// ---- what is so ----

function take(newer, change) {
  view = newer;
  keptAt = null;
  isUnseen = false;
  if (view.refused && !isSignInNeeded()) refusal ??= refusalOf(view.refused.code);
  if (isTakenAway(view)) refusal = 'revoked';
  else if (view.known && !view.refused) refusal = null;
  if (!isTracked(view)) {
    shownID = null;
  } else if (view.position.id !== shownID || change === 'reset') {
    map.open(view.kind, view.destination);
    map.take(view.position, {
      age: positionAge(view, {now: performance.now(), wall: Date.now()}),
      atOnce: change === 'reset' || (change === 'snapshot' && shownID === null),
    });
    shownID = view.position.id;
  } else {
    map.open(view.kind, view.destination);
  }
  render();
}

/** Who came by a link is told of the link; who is signed in is told the same of what is not there and not theirs. */
function refusalOf(code) {
  if (code === 'limit_exceeded') return 'full';
  return signIn.isGuest ? 'expired' : 'unknown';
}

const isSignInNeeded = () => {
  const {state, close} = enroute.connection;
  return state === 'refused' && !signIn.isGuest && [4005, 4500].includes(close?.code);
};

async function connectionChanged(connection) {
  banner.update(connection);
  if (connection.state === 'refused') {
    if (isSignInNeeded()) {
      signIn.forget(words.signInExpired, {isExpired: true});
      await signIn.credential();
      enroute.start();
    } else {
      refusal = CLOSES[connection.close?.code] ?? refusalOf(connection.close?.code === 4500 ? 'unauthorized' : '');
    }
  } else if (connection.state === 'open') {
    wasHere = true;
    refusal = refusalOnceOpen(refusal, view);
  } else if (connection.state === 'waiting' && connection.close?.code === FULL) {
    refusal = refusalWithoutRoom(refusal, wasHere);
    if (!wasHere) [view, shownID] = [unknownView(job), null];
  }
  render();
}

async function loadTexts() {
  texts = await statusTexts(language);
  if (texts) render();
  else setTimeout(loadTexts, ASK_TEXTS_AGAIN);
}

async function begin() {
  loadTexts();
  await signIn.credential();
  enroute.on('connection', connectionChanged);
  enroute.follow(job, take);
  const first = firstState(signIn.header);
  enroute.start();
  const answer = await first;
  // What the socket told meanwhile is newer.
  if (!answer || view.known || view.refused || refusal !== null) return;
  if (answer.snapshot) {
    names = answer.names;
    const [now, wall] = [performance.now() - answer.age, Date.now() - answer.age];
    take(reduce(view, {type: 'subscribed', snapshot: answer.snapshot}, now, {wall}).view, 'snapshot');
    keptAt = answer.snapshot.kept ?? null;
    isUnseen = signIn.isGuest;
    banner.update(enroute.connection);
    render();
  } else if (answer.refusal !== 'signIn') {
    refusal = answer.refusal === 'unknown' ? refusalOf('not_found') : answer.refusal;
    render();
  }
}

// ---- what is shown ----

function render() {
  const isShown = view.known && view.refused === null && !isTakenAway(view);
  const isRefused = refusal !== null && !isShown;
  element('order').hidden = isRefused || (!view.known && !element('signin').hidden);
  renderRefusal(isRefused);
  if (element('order').hidden) {
    hideMap();
    return;
  }
  // Until the texts are here what the server wrote stays.
  if (view.known && !texts && !names) return;
  const moment = {now: performance.now(), wall: Date.now(), isLost: banner.isLost, isKept: keptAt !== null, isUnseen, locale};
  const seen = presentation(view, moment, texts ?? names, words);
  document.title = seen.headline;
  document.body.classList.toggle('is-tracked', seen.isMapped);
  if (!seen.isMapped) hideMap();
  else element('tracking').hidden = false;
  put(element('title'), seen.title);
  put(element('headline'), seen.headline);
  put(element('eta'), seen.eta);
  element('eta').classList.toggle('is-quiet', seen.isEtaQuiet);
  put(element('detail'), seen.detail);
  put(element('age'), seen.age);
  element('age').classList.toggle('is-stale', seen.isOld);
  put(element('map-description'), seen.mapDescription);
  map.mark(seen.isStale);
  if (seen.tone) element('summary').dataset.tone = seen.tone;
  else delete element('summary').dataset.tone;
  renderSteps(seen.steps);
  renderFacts(seen.facts);
  if (texts) announcements.update(seen);
}

/** The map goes; whoever was on it by the keyboard goes on at what is said in its place. */
function hideMap() {
  const place = element('tracking');
  if (place.hidden && !map.isOpen) return;
  const hadFocus = place.contains(document.activeElement);
  place.hidden = true;
  map.close();
  if (hadFocus) element('headline').focus({preventScroll: true});
}

let drawnSteps = '';
function renderSteps(steps) {
  element('progress').hidden = steps.length === 0;
  // Drawn anew only when something is other, so that whoever reads them is not thrown out.
  if (JSON.stringify(steps) === drawnSteps) return;
  drawnSteps = JSON.stringify(steps);
  element('steps').replaceChildren(...steps.map(({status, state, label, note, isCurrent}) => {
    const mark = make('span', {class: 'icon'});
    mark.innerHTML = stepIcons[state] ?? stepIcons.upcoming;
    return make('li', {'data-step': status, 'data-state': state, 'aria-current': isCurrent && 'step'},
      mark, make('span', {class: 'name'}, label), make('span', {class: 'state'}, note));
  }));
}

function renderFacts(facts) {
  put(element('job-name'), facts.name);
  for (const name of ['job', 'vendor', 'arrival', 'since']) {
    put(element(name), facts[name]);
    element(name).previousElementSibling.hidden = !facts[name];
  }
}

function renderRefusal(isRefused) {
  const place = element('refusal');
  place.hidden = !isRefused;
  if (!isRefused || place.dataset.why === refusal) return;
  place.dataset.why = refusal;
  const [what, next] = words.refusals[refusal];
  const icon = make('span');
  icon.innerHTML = stepIcons.failed;
  place.replaceChildren(icon, make('h1', {tabindex: '-1'}, what), make('p', {class: 'quiet'}, next));
  if (PASSING.includes(refusal)) {
    const again = make('button', {type: 'button', class: 'primary'}, words.again);
    again.addEventListener('click', () => location.reload());
    place.append(again);
  }
  document.title = what;
  announcer.say('state', what, {isUrgent: true});
}

languageSwitch(element('language'));
onThemeChange(() => map.repaint());
setInterval(render, EVERY);
document.addEventListener('visibilitychange', () => { if (!document.hidden) render(); });
keepForLater();
render();
begin();
document.documentElement.dataset.ready = '';
