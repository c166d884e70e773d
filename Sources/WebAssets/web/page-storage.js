// What pages store for the tab and for the device. A browser may deny both: if all cookies are blocked, or in frames of other
// sites. Then values are kept until the page closes.

/** Its properties are the values. */
class Memory {
  getItem(key) { return this[key] ?? null; }
  setItem(key, value) { this[key] = String(value); }
  removeItem(key) { delete this[key]; }
}

/** The tab's values in a browser that denies storage. Loading the page in another language hands them over (page.js). */
export const tabMemory = new Memory();
const memory = {sessionStorage: tabMemory, localStorage: new Memory()};

function storage(name) {
  try {
    return globalThis[name] ?? memory[name];
  } catch {
    return memory[name];    // even reading the property throws
  }
}

/** Survives a reload, but not the end of the tab. */
export const tabStorage = () => storage('sessionStorage');
/** Survives the end of the browser. */
export const deviceStorage = () => storage('localStorage');
