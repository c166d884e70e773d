// Prints the English texts of the customer's page as data, for `enroute config --language-template`. A text with values becomes
// one with the names of its parameters in braces. After a change of the texts:
//
//   node Tests/JavaScript/language-template.mjs > Sources/WebAssets/web/language-template.json

import {pathToFileURL} from 'node:url';

import {englishWords} from '../../Sources/JavaScript/enroute-words.js';
import {words as shared} from '../../Sources/WebAssets/web/page-words.js';
import {words as customer} from '../../Sources/WebAssets/web/track-words.js';

function asData(text) {
  if (typeof text === 'function') {
    const names = /^\(?([^)=]*)\)?\s*=>/.exec(text.toString())[1].split(',').map((name) => name.trim());
    return text(...names.map((name) => `{${name}}`));
  }
  if (typeof text === 'string') return text;
  if (Array.isArray(text)) return text.map(asData);
  return Object.fromEntries(Object.entries(text).map(([name, part]) => [name, asData(part)]));
}

export const template = asData({customer: customer.en, shared: shared.en, times: englishWords});

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(JSON.stringify(template, null, 2));
