// How a page offers to reach somebody: the address that the service wrote for a rider or a recipient.

/**
 * Returns the link to a contact, or null if the contact is neither a telephone number nor an https address, whatever the
 * gateway sends.
 *
 * @param {string|undefined} contact a URI
 * @param {string} name whom it reaches
 * @param {{call: (name: string) => string, write: (name: string) => string}} words
 * @returns {{href: string, text: string}|null}
 */
export function contactLink(contact, name, words) {
  if (/^tel:/.test(contact ?? '')) return {href: contact, text: words.call(name)};
  return /^https:/.test(contact ?? '') ? {href: contact, text: words.write(name)} : null;
}
