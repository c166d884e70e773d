// The search of the API reference. The page is complete without it. It hides entries that do not match, and the address
// contains the search, so that it can be shared.

import {decoded} from './page-gateway.js';

const form = document.getElementById('search');
const input = document.getElementById('query');
const found = document.getElementById('found');
const entries = [...document.querySelectorAll('article[data-entry]')].map((article) => ({
  article,
  item: document.querySelector(`li[data-entry="${article.dataset.entry}"]`),
  // Headings, texts and names of members; examples would match nearly everything.
  text: [...article.querySelectorAll('h3, p, th, td')].map((part) => part.textContent).join(' ').toLowerCase(),
}));

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const {article, item, text} of entries) {
    const matches = words.every((word) => text.includes(word));
    article.hidden = !matches;
    if (item) item.hidden = !matches;
    if (matches) count += 1;
  }
  for (const section of document.querySelectorAll('main section')) {
    const all = section.querySelectorAll('article');
    section.hidden = all.length > 0 && [...all].every((article) => article.hidden);
  }
  for (const list of document.querySelectorAll('#contents ul')) {
    const isEmpty = [...list.children].every((item) => item.hidden);
    list.hidden = isEmpty;
    list.previousElementSibling.hidden = isEmpty;
  }
  found.textContent = words.length ? `${count} of ${entries.length} entries match.` : '';
  const url = new URL(location.href);
  if (words.length) url.searchParams.set('q', input.value); else url.searchParams.delete('q');
  history.replaceState(null, '', url);
}

/** A link to an entry that the search hides shows everything again. */
function reveal() {
  const target = document.getElementById(decoded(location.hash.slice(1)));
  if (!target?.closest('[hidden]')) return;
  input.value = '';
  search();
  target.scrollIntoView();
}

form.hidden = false;
form.addEventListener('submit', (event) => event.preventDefault());
input.addEventListener('input', search);
addEventListener('hashchange', reveal);
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target === input) return;
  event.preventDefault();
  input.focus();
});
input.value = new URLSearchParams(location.search).get('q') ?? '';
if (input.value) search();
reveal();
