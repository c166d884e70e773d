// What a page does when one of its files is lost on the way. Without its own script it is nothing: it loads itself again, once,
// and says so when that was of no use. Style sheets and the map's library are asked for again beside what runs already: a
// page that signs in by a code that is good once must not begin anew. A classic script that needs no other file, so that it is
// there when the others are not. The page's own script says that it has run: `data-ready` on the root element.

(() => {
  const LATE = 6_000;           // ms: then somebody who waits is told that it takes long
  const HOPELESS = 20_000;      // ms: what has not come by then is taken as lost
  const PAUSES = [2_000, 5_000, 15_000];      // ms between two requests for a part that is lost
  const RELOADED = 'enroute.reloaded';

  const words = {
    en: {lost: 'Something didn’t load.', slow: 'This is taking longer than usual …', again: 'Try again'},
    de: {lost: 'Etwas wurde nicht geladen.', slow: 'Das dauert länger als sonst …', again: 'Noch einmal versuchen'},
  }[document.documentElement.lang.toLowerCase().startsWith('de') ? 'de' : 'en'];

  let card = null;

  const isReady = () => 'ready' in document.documentElement.dataset;

  /** Style sheets that did not come, and scripts that did not make what they name (`data-makes`). */
  const lostParts = () => [
    ...[...document.querySelectorAll('link[rel=stylesheet]')].filter(({sheet}) => !sheet),
    ...[...document.querySelectorAll('script[data-makes]')].filter(({dataset}) => !(dataset.makes in window)),
  ];

  /** Asks for them once more, in their places, and after a while again. */
  function mend(attempt = 0) {
    for (const part of lostParts()) {
      // A script that was there once does not run again: another one does.
      const again = document.createElement(part.localName);
      for (const {name, value} of part.attributes) again.setAttribute(name, value);
      part.replaceWith(again);
    }
    const pause = PAUSES[attempt];
    if (pause !== undefined) setTimeout(() => { if (lostParts().length > 0) mend(attempt + 1); }, pause);
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

  /** @returns whether the page is being loaded again: not twice in a tab without having been whole in between */
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

  function judge() {
    if (isReady()) {
      card?.remove();
      try { sessionStorage.removeItem(RELOADED); } catch { /* it was never kept */ }
      mend();
    } else if (!reloadOnce()) {
      show(words.lost);
    }
  }

  // By the time of `load` all that the page names has come and run, or is lost.
  if (document.readyState === 'complete') judge();
  else addEventListener('load', judge);
  setTimeout(() => { if (document.readyState !== 'complete' && !isReady()) show(words.slow); }, LATE);
  setTimeout(() => { if (document.readyState !== 'complete') judge(); }, HOPELESS);
})();
