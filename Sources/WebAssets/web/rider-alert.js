// The signal for a new task: two rising tones and a vibration, because a phone on a handlebar is heard and felt before it is
// read. Browsers allow sound only after a touch, so the first touch prepares it. Without sound or vibration the page works as
// before: screen readers announce the task.

/** ms of vibration, pause and vibration. */
export const VIBRATION = [200, 100, 300];
/** The tones in Hz, one after the other. */
const TONES = [660, 880];
/** Seconds for which a tone sounds. */
const TONE_SECONDS = 0.18;
const VOLUME = 0.4;

export class TaskAlert {
  #sound = null;

  constructor({touches = globalThis, Sound = globalThis.AudioContext} = {}) {
    if (!Sound) return;
    touches.addEventListener('pointerdown', () => {
      // Some browsers limit the number of contexts and throw.
      try { this.#sound ??= new Sound(); } catch { return; }
      // A phone call or another app may have suspended the sound.
      if (this.#sound.state !== 'running') this.#sound.resume().catch(() => { /* the next touch tries again */ });
    }, {passive: true});
  }

  /** A new task arrived. */
  ring() {
    // Before the first touch, a page may not vibrate either; the browser then only returns false.
    navigator.vibrate?.(VIBRATION);
    if (this.#sound?.state !== 'running') return;
    TONES.forEach((tone, at) => this.#play(tone, this.#sound.currentTime + at * TONE_SECONDS));
  }

  /** Plays a tone that fades, because one that stops suddenly clicks. */
  #play = (tone, from) => {
    const source = this.#sound.createOscillator();
    const volume = this.#sound.createGain();
    source.frequency.value = tone;
    volume.gain.setValueAtTime(VOLUME, from);
    volume.gain.exponentialRampToValueAtTime(0.01, from + TONE_SECONDS);
    source.connect(volume).connect(this.#sound.destination);
    source.start(from);
    source.stop(from + TONE_SECONDS);
  };
}
