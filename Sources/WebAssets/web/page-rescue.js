// Repairs a page when one of its files is lost during transfer. If the page's own script is lost, the page reloads once, and
// shows a message if that did not help. Lost style sheets and the map library are loaded again without a reload, because a
// page that signed in with a one-time code must not start over. This is a classic script that needs no other file, so it works
// when others are missing. The page's script sets `data-ready` on the root element when it has run.

(() => {
  const SLOW_AFTER = 6_000;           // ms until the page says that loading takes long
  const LOST_AFTER = 20_000;      // ms until a missing script counts as lost
  const PAUSES = [2_000, 5_000, 15_000];      // ms between two attempts to load a lost part
  const RELOADED = 'enroute.reloaded';

  const words = {
    en: {lost: 'Something didn’t load.', slow: 'This is taking longer than usual…', again: 'Try again'},
    de: {lost: 'Etwas wurde nicht geladen.', slow: 'Das dauert länger als sonst …', again: 'Noch einmal versuchen'},
  }[document.documentElement.lang.toLowerCase().startsWith('de') ? 'de' : 'en'];

  let card = null;

  const isReady = () => 'ready' in document.documentElement.dataset;

  /** Scripts that have run or failed. One that is still loading is not lost: a second copy would replace its objects. */
  const ended = new WeakSet();
  const scripts = () => [...document.querySelectorAll('script[data-makes]')];
  for (const end of ['load', 'error']) document.addEventListener(end, ({target}) => ended.add(target), {capture: true});

  /** Returns style sheets that failed to load, and scripts that did not define what they name (`data-makes`). */
  const lostParts = () => [
    ...[...document.querySelectorAll('link[rel=stylesheet]')].filter(({sheet}) => !sheet),
    ...scripts().filter((script) => ended.has(script) && !(script.dataset.makes in window)),
  ];

  /** Loads the lost parts again, repeatedly if necessary. */
  function reloadLostParts(attempt = 0) {
    for (const part of lostParts()) {
      // A script element runs only once, so it is replaced with a copy.
      const again = document.createElement(part.localName);
      for (const {name, value} of part.attributes) again.setAttribute(name, value);
      part.replaceWith(again);
    }
    const pause = PAUSES[attempt];
    if (pause !== undefined) setTimeout(reloadLostParts, pause, attempt + 1);
  }

  function show(text) {
    card?.remove();
    card = document.createElement('section');
    card.id = 'rescue';
    card.className = 'card';
    card.setAttribute('role', 'alert');
    const sentence = document.createElement('p');
    sentence.textContent = text;
    const again = document.createElement('button');
    Object.assign(again, {type: 'button', className: 'primary', textContent: words.again});
    again.addEventListener('click', () => location.reload());
    card.append(sentence, again);
    document.querySelector('main')?.prepend(card);
  }

  /** Reloads the page, unless this tab already did so without success. @returns whether it reloads */
  function reloadOnce() {
    try {
      if (sessionStorage.getItem(RELOADED)) return false;
      sessionStorage.setItem(RELOADED, '1');
    } catch {
      return false;
    }
    location.reload();
    return true;
  }

  function checkLoaded() {
    if (isReady()) {
      card?.remove();
      try { sessionStorage.removeItem(RELOADED); } catch { /* storage is not available */ }
      if (document.readyState === 'complete') for (const script of scripts()) ended.add(script);
      reloadLostParts();
    } else if (!reloadOnce()) {
      show(words.lost);
    }
  }

  // A part that a script adds may get lost after `load`.
  let isRepaired = false;
  addEventListener('error', ({target}) => {
    if (!isReady() || isRepaired || !target?.dataset?.makes) return;
    isRepaired = true;
    setTimeout(reloadLostParts, PAUSES[0]);
  }, {capture: true});
  // At `load` every file has arrived and run, or is lost.
  if (document.readyState === 'complete') checkLoaded();
  else addEventListener('load', checkLoaded);
  setTimeout(() => { if (document.readyState !== 'complete' && !isReady()) show(words.slow); }, SLOW_AFTER);
  setTimeout(() => { if (document.readyState !== 'complete') checkLoaded(); }, LOST_AFTER);
})();
