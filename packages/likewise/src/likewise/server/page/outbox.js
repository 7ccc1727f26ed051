// What was said and is still on its way.  It is sent one thing after the other, in the order in which
// it was said; who leaves the page sends all that waits at once, with requests that outlive the page.

/** @typedef {{start: () => void, undoes: boolean}} Waiting */

/** @type {Set<Outbox>} */
const all = new Set();

export class Outbox {
  constructor() {
    /** @type {Waiting[]} */
    this.waiting = [];
    this.sending = 0;
    all.add(this);
  }

  /**
   * @template T
   * @param {() => Promise<T>} send begins its request at once when it is called
   * @param {{undoes?: boolean}} [how] undoes: it takes back what was said before it
   * @returns {Promise<T>}
   */
  add(send, { undoes = false } = {}) {
    return new Promise((done, failed) => {
      const start = () => {
        this.sending += 1;
        send().then(done, failed).finally(() => {
          this.sending -= 1;
          this.#next();
        });
      };
      this.waiting.push({ start, undoes });
      this.#next();
    });
  }

  #next() {
    if (!this.sending) this.waiting.shift()?.start();
  }

  /** Everything at once: nobody is here to send it later. */
  flush() {
    const left = this.waiting;
    this.waiting = [];
    // Requests that run side by side may overtake each other: one that takes back what is still on
    // its way could take back something else, and nobody was told yet that it was taken back.
    let first = this.sending === 0;
    for (const one of left) {
      if (!one.undoes || first) one.start();
      first = false;
    }
  }
}

const flushAll = () => {
  for (const one of all) one.flush();
};
addEventListener("pagehide", flushAll);
// A phone ends pages it has put away without a word.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") flushAll();
});
