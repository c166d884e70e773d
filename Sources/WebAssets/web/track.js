// The customer's page: follows one job and shows it. enroute.js provides the state and track-presentation.js the texts. This
// file writes them to the document and decides what to show: the order, the sign-in panel, or why neither is possible.

import {Enroute} from './enroute.js';
import {reduce, unknownView} from './enroute-view.js';
import {
  Announcer, ConnectionBanner, inLanguage, keepForLater, language, languageSwitch, locale, make, onThemeChange, put,
  reconnectOnTouch,
} from './page.js';
import {decoded, gateway} from './page-gateway.js';
import {SignIn} from './page-sign-in.js';
import {firstState, freshState, isFresh, stateNow, statusTexts} from './track-first.js';
import {vehicleOf} from './track-icons.js';
import {TrackMap} from './track-map.js';
import {showFacts, showRefusal, showSteps, showSupport} from './track-parts.js';
import {
  isTakenAway, isTracked, presentation, positionAge, refusalOnceOpen, refusalWithoutRoom,
} from './track-presentation.js';
import {CustomerActions} from './track-actions.js';
import {Announcements} from './track-announcements.js';
import {celebrate} from './track-celebration.js';
import {RiderPanel} from './track-rider.js';
import {NearMessage} from './track-push.js';
import {ShareButton} from './track-share.js';
import {OVER, Story} from './track-story.js';
import {words as allWords} from './track-words.js';

// ms between two renderings, so that ages and arrival times count.
const EVERY = 1_000;
// ms after which the texts are requested again.
const ASK_TEXTS_AGAIN = 5_000;
// An ended job may be corrected, but no message says so: while the page is visible, it reads the job again after this many ms.
const RECHECK_AFTER = 60_000;
const MOST_RECHECKS = 30;

const element = (id) => document.getElementById(id);
const setting = (name) => document.querySelector(`meta[name="enroute-${name}"]`)?.content;
const words = inLanguage(allWords);
const job = decoded(location.pathname.split('/').pop());

const signIn = new SignIn({
  panel: element('signin'), takesLinks: true, why: words.signInWhy, explain: (text) => banner.explain(text),
});
const enroute = new Enroute({url: `${gateway}/v1`, credential: async () => signIn.current});
const map = new TrackMap(element('map'), {follow: element('follow'), words});
// An operator's own page may lack elements that were added in a newer version.
const rider = element('who') && new RiderPanel(element('who'));
const announcer = new Announcer(element('announcer'));
const share = new ShareButton(element('share'), {
  words, failure: element('share-failed'), say: (text) => announcer.say('share', text, {isUrgent: true}),
});
const near = new NearMessage(element('tell'), {
  words, job, key: setting('push'), header: () => signIn.header, result: element('told'),
  say: (text) => announcer.say('near', text, {isUrgent: true}),
});
const story = new Story();
const actions = new CustomerActions(element('actions'), {
  words, job, header: () => signIn.header, say: (text) => announcer.say('action', text, {isUrgent: true}),
  read: async () => takeStory(await stateNow(signIn.header, 'reload')), after: element('headline'),
});
// Arrival times change often and wait for the announcer's quiet time. Everything else is announced immediately (CUS-027).
const announcements = new Announcements(
  (topic, text) => announcer.say(topic, text, {isUrgent: topic !== 'arrival'}), (topic) => announcer.unsay(topic));
const banner = new ConnectionBanner(element('offline'), {
  words, hasState: () => view.known, knownAt: () => keptAt, lastMessageAt: () => enroute.lastMessageAt,
  isExplained: () => refusal === 'full' && !view.known,
  say: (text) => announcer.say('connection', text, {isUrgent: true}),
});

let view = unknownView(job);
// The subscription of enroute.js.
let followed = null;
let texts = null;
// Texts of the rendered page, until the real ones are loaded.
let names = null;
// A key of `words.refusals`.
let refusal = null;
// Id of the position that the map shows.
let shownID = null;
// The first state of a tracking link has no position until the session opens.
let isUnseen = false;
// Another rider has taken over and was not seen yet.
let isReassigned = false;
// ms since the epoch: when worker.js cached the state that is shown offline.
let keptAt = null;

// A link shows how the job ended; there is nothing left to follow.
let isPast = false;
// The first or the last state was requested, which may show the end.
let [isAsking, isReadingEnd] = [false, false];
let isReadingStory = false;
// How often the ended job was read again, and the timer of the next time.
let [rechecks, recheck] = [0, null];
// A session was open, so the view may stay while the session limit is reached.
let wasHere = false;
// How far the gateway's clock is ahead of the monotonic one while a session is open, in ms.
let ahead;

/** What the close codes that end the session mean to the customer. An expired token asks to sign in again instead. */
const CLOSES = {4502: 'expired', 4505: 'other'};
/** The close code when the session limit is reached; the client tries again. */
const FULL = 4009;

// ---- state ----

function take(newer, change) {
  // A link to a job that has ended opens no session.
  if (isPast) return;
  view = newer;
  keptAt = null;
  if (story.take(view) && wasHere) celebrate(element('summary'));
  isUnseen = false;
  if (view.refused && !isSignInNeeded() && !isEndUnknown()) refusal ??= refusalOf(view.refused.code);
  // The gateway sends this once; the snapshot that follows only says that no location is shared.
  if (change === 'tracking' && view.text === 'ended_reassigned') isReassigned = true;
  else if (isTracked(view)) isReassigned = false;
  if (isTakenAway(view) || view.refused) story.forget();
  if (isTakenAway(view)) refusal = 'revoked';
  else if (view.known && !view.refused) refusal = null;
  if (isTracked(view)) {
    showMap();
    if (view.position.id !== shownID || change === 'reset') {
      map.take(view.position, {
        age: positionAge(view, {now: performance.now(), wall: Date.now()}),
        atOnce: change === 'reset' || (change === 'snapshot' && shownID === null),
      });
      shownID = view.position.id;
    }
    map.ahead(view.eta?.route);
  } else {
    shownID = null;
  }
  if (['completed', 'cancelled'].includes(view.ended)) recheckLater();
  else if (view.known) rechecks = 0;
  render();
}

/** Reads a job that has ended again in a while. */
function recheckLater() {
  if (recheck !== null || rechecks >= MOST_RECHECKS) return;
  recheck = setTimeout(async () => {
    recheck = null;
    const answer = document.hidden ? null : await corrected();
    if (!answer) recheckLater();
    else if (isEnd(answer)) showPast(answer);
    else followAgain(answer);
  }, RECHECK_AFTER);
}

/** The state of an ended job that is open again, or has ended with another status; otherwise null. */
async function corrected() {
  rechecks += 1;
  const answer = await stateNow(signIn.header);
  return isFresh(answer) && answer.snapshot.id !== view.id ? answer : null;
}

/** Whether this response shows how a link's job ended, for which no session is needed. */
const isEnd = (answer) => signIn.isGuest && OVER.includes(answer?.snapshot?.status);

/** The session of a link is refused once its job has ended. The gateway reports how it ended, or that the link has expired. */
async function readEnd() {
  if (isReadingEnd || isPast) return;
  isReadingEnd = true;
  const answer = await freshState(signIn.header);
  isReadingEnd = false;
  if (isPast) return;
  if (isEnd(answer)) return showPast(answer);
  [view, shownID, refusal] = [unknownView(job), null, 'expired'];
  render();
}

/** Reads what messages do not contain, if the page was opened without it: from the cache, or because the request was lost. */
async function readStory() {
  if (story.isRead || isReadingStory || isAsking || enroute.connection.state !== 'open') return;
  isReadingStory = true;
  const answer = await freshState(signIn.header);
  isReadingStory = false;
  takeStory(answer);
}

/** @returns what the customer may do, or null without a response of the gateway */
function takeStory(answer) {
  if (!isFresh(answer) || isPast || isEnd(answer) || view.refused || isTakenAway(view)) return null;
  story.read(answer.more);
  render();
  return story.can;
}

/** Follows the job from the start, as if the page had been opened now. @param answer the response with the current state */
function followAgain({more}) {
  [isPast, shownID] = [false, null];
  story.read(more);
  followed.stop();
  followed = enroute.follow(job, take);
  enroute.start();
}

/** Holders of a link read about the link. Signed-in people read the same text for a missing job and for someone else's. */
function refusalOf(code) {
  if (code === 'limit_exceeded') return 'full';
  return signIn.isGuest ? 'expired' : 'unknown';
}

const isSignInNeeded = () => {
  const {state, close} = enroute.connection;
  return state === 'refused' && !signIn.isGuest && [4005, 4500].includes(close?.code);
};

/** Whether a link's session was refused, perhaps because its job has ended, and the page does not show an end. */
const isEndUnknown = () => signIn.isGuest && enroute.connection.close?.code === 4500 && !isTakenAway(view) && !view.ended;

async function connectionChanged(connection) {
  banner.update(connection);
  if (connection.state === 'refused') {
    if (isSignInNeeded()) {
      signIn.forget(words.signInExpired, {isExpired: true});
      await signIn.credential();
      enroute.start();
    } else if (isEndUnknown()) {
      readEnd();
    } else {
      // The session of a link ends with its job, and the page still shows how the job ended.
      refusal = isTakenAway(view) ? 'revoked' : CLOSES[connection.close?.code] ?? refusalOf('');
    }
  } else if (connection.state === 'open') {
    wasHere = true;
    refusal = refusalOnceOpen(refusal, view);
    readStory();
  } else if (connection.state === 'waiting' && connection.close?.code === FULL) {
    refusal = refusalWithoutRoom(refusal, wasHere);
    if (!wasHere) [view, shownID] = [unknownView(job), null];
    banner.update(connection);
  }
  render();
}

/**
 * Loads the map library after everything that comes before the map, unless track-start.js does. page-rescue.js loads it again
 * if it gets lost.
 */
function loadMapLibrary() {
  const isStarted = 'enrouteStarted' in globalThis || document.querySelector('script[data-makes]');
  if (!isStarted) document.head.append(make('script', {src: `${gateway}/assets/leaflet/leaflet.js`, 'data-makes': 'L'}));
  document.addEventListener('load', ({target}) => { if (target.dataset?.makes === 'L') render(); }, {capture: true});
}

const showMap = () => map.open(view.kind, view.destination, story.shop, vehicleOf(view));

/** Opens the map for the current position if it could not be opened when the position came. */
function openMap() {
  showMap();
  if (!map.isOpen || !isTracked(view) || map.hasRider) return;
  map.take(view.position, {age: positionAge(view, {now: performance.now(), wall: Date.now()}), atOnce: true});
  map.ahead(view.eta?.route);
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
  for (const type of ['welcome', 'pong']) enroute.on(type, () => { ahead = enroute.serverTime - performance.now(); });
  followed = enroute.follow(job, take);
  const first = firstState(signIn.header);
  isAsking = true;
  enroute.start();
  const answer = await first;
  isAsking = false;
  // The session of a link whose job has ended is refused, and perhaps `readEnd` was faster.
  if (isPast) return;
  if (isEnd(answer)) return showPast(answer);
  if (answer?.snapshot && !view.refused && !isTakenAway(view)) story.read(answer.more, isFresh(answer));
  readStory();
  render();
  // By now the socket may have delivered a newer state.
  if (!answer || view.known || view.refused || refusal !== null) return;
  if (answer.snapshot) {
    names = answer.names;
    takeState(view, answer);
    keptAt = answer.snapshot.kept ?? null;
    isUnseen = signIn.isGuest;
    banner.update(enroute.connection);
  } else if (answer.refusal !== 'signIn') {
    refusal = answer.refusal === 'unknown' ? refusalOf('not_found') : answer.refusal;
  }
  render();
}

/** Takes a state that no session sent. */
function takeState(before, {snapshot, clockOffset, age}) {
  const {view: read} = reduce(before, {type: 'subscribed', snapshot}, performance.now() - age, {wall: Date.now() - age});
  take({...read, clockOffset}, 'snapshot');
}

/** Shows how a job ended to somebody who opens its link afterwards: the status and its time, but no places. */
function showPast(answer) {
  enroute.stop();
  story.read(answer.more);
  [names, refusal, isPast] = [answer.names, null, false];
  takeState(unknownView(job), answer);
  isPast = true;
  render();
  recheckLater();
}

// ---- rendering ----

function render() {
  const isShown = view.known && view.refused === null && !isTakenAway(view);
  const isRefused = refusal !== null && !isShown && !isAsking;
  element('order').hidden = isRefused || (!view.known && !element('signin').hidden);
  showRefusal(element('refusal'), isRefused ? refusal : null, {
    words, support: setting('support'), say: (text) => announcer.say('state', text, {isUrgent: true}),
  });
  if (element('order').hidden) {
    if (!isRefused) document.title = banner.notice || words.signInWhy;
    share.show(false);
    hideMap();
    return;
  }
  // Until the texts are loaded, keep what the server rendered.
  if (view.known && !texts && !names) return;
  const moment = {
    now: performance.now(), wall: Date.now(), heardAt: enroute.lastMessageAt, isLost: banner.isLost, isKept: keptAt !== null,
    isUnseen, isReassigned, isPast, story, locale,
    // Without a gateway that corrects it, the monotonic clock is late if it stops while the device sleeps.
    serverTime: enroute.connection.state === 'open' ? performance.now() + ahead : Date.now() + view.clockOffset,
  };
  const seen = presentation(view, moment, texts ?? names, words);
  document.title = banner.notice || seen.tab;
  story.admitted = seen.admitted;
  document.body.classList.toggle('is-tracked', seen.isMapped);
  document.body.classList.toggle('has-map', seen.isMapped || seen.isPreviewed);
  // A preview shows no rider, because their position is no longer shown.
  if (!seen.isMapped && (!seen.isPreviewed || map.hasRider)) hideMap();
  if (seen.isMapped || seen.isPreviewed) element('tracking').hidden = false;
  if (seen.isPreviewed || (seen.isMapped && !map.isOpen)) openMap();
  put(element('title'), setting('name') ?? seen.title);
  element('eta').classList.toggle('is-quiet', seen.isEtaQuiet);
  element('eta').classList.toggle('is-range', seen.isExpected);
  for (const id of ['headline', 'eta', 'clock', 'apology', 'detail', 'age']) if (element(id)) put(element(id), seen[id]);
  element('age').classList.toggle('is-stale', seen.isOld);
  put(element('map-description'), seen.mapDescription);
  map.mark(seen.isStale);
  if (seen.tone) element('summary').dataset.tone = seen.tone;
  else delete element('summary').dataset.tone;
  rider?.show(seen.who);
  // A link that permits more than viewing the job should not be shared.
  share.show(signIn.isGuest && view.known && !seen.isOver && story.isRead && !story.can, seen.title);
  near.show(view, seen.arrivesAt && (seen.arrivesAt - moment.serverTime) / 1000);
  actions.show(isTakenAway(view) ? null : story.can, view);
  showSupport(element('support'), setting('support'), seen.isDone ? words.wrong : words.support);
  showSteps(element, seen.steps);
  showFacts(element, seen.facts);
  if (texts) announcements.update(seen);
}

/** Hides the map. If it had the keyboard focus, the headline gets it. */
function hideMap() {
  const place = element('tracking');
  if (place.hidden && !map.isOpen) return;
  const hadFocus = place.contains(document.activeElement);
  place.hidden = true;
  map.close();
  if (hadFocus) element('headline').focus({preventScroll: true});
}

languageSwitch(element('language'));
onThemeChange(() => map.repaint());
setInterval(render, EVERY);
document.addEventListener('visibilitychange', () => { if (!document.hidden) render(); });
reconnectOnTouch(enroute);
render();
loadMapLibrary();
begin();
keepForLater();
document.documentElement.dataset.ready = '';
