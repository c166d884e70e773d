// What pages store for the tab and for the device. A browser may deny both: if all cookies are blocked, or in frames of other
// sites. Then values are kept until the page closes.

class Memory {
  #values = new Map();
  getItem(key) { return this.#values.get(key) ?? null; }
  setItem(key, value) { this.#values.set(key, String(value)); }
  removeItem(key) { this.#values.delete(key); }
}

const memory = {sessionStorage: new Memory(), localStorage: new Memory()};

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
