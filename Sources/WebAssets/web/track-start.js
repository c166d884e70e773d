// Starts requests that the customer's page needs while its own script is still loading, because on a slow network every round
// trip counts: with a tracking link, the first state, and after it the map library. A classic script without imports; the page
// works without it (track-first.js, track.js).

(() => {
  const loadMap = () => {
    // track.js was faster. A second copy would replace the one that created the map, and the map would fail.
    if (document.querySelector('script[data-makes]')) return;
    const library = document.createElement('script');
    library.src = '../assets/leaflet/leaflet.js';
    library.dataset.makes = 'L';
    document.head.append(library);
  };
  let secret = location.hash.slice(1);
  try { secret = decodeURIComponent(secret); } catch { /* A person may have typed anything. */ }
  // A sign-in code is not a link.
  if (!secret || secret.startsWith('in.')) return;
  const header = `Link ${secret}`;
  try {
    const answer = fetch(location.pathname + location.search, {
      headers: {Authorization: header, Accept: 'text/html'}, cache: 'no-store',
    });
    window.enrouteStarted = {header, answer};
    answer.then(loadMap, loadMap);
  } catch { /* not a value for a header */ }
})();
