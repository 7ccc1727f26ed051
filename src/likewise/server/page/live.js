// What the server tells by itself: progress of long work, and that something changed.

/** @typedef {{job: number, stage: string, done: number, total: number|null, problems: number}} Progress */
/** @typedef {{job: number, added: number, skipped: number, removed: number, seconds: number}} Done */
/** @typedef {{job: number, message: string}} Failed */

/** @type {Record<string, ((data: any) => void)[]>} */
const listeners = {};

/**
 * @param {"progress"|"done"|"failed"|"changed"|"lost"|"found"} event
 * @param {(data: any) => void} listener
 */
export function on(event, listener) {
  (listeners[event] ??= []).push(listener);
}

/** @param {string} event @param {unknown} data */
function tell(event, data) {
  for (const listener of listeners[event] ?? []) listener(data);
}

export function connect() {
  let lost = false;
  /** @type {EventSource} */
  let stream;
  const open = () => {
    stream = new EventSource("/api/events");
    for (const name of ["progress", "done", "failed", "changed"]) {
      stream.addEventListener(name, (event) => tell(name, JSON.parse(event.data)));
    }
    stream.addEventListener("open", () => {
      if (lost) tell("found", null);
      lost = false;
    });
    stream.addEventListener("error", () => {
      if (!lost) tell("lost", null);
      lost = true;
      // A refusal ends the stream for good; a broken line is mended by the browser.
      if (stream.readyState === EventSource.CLOSED) setTimeout(open, 5000);
    });
  };
  open();
  addEventListener("pagehide", () => stream.close());
  addEventListener("pageshow", (event) => {
    if (event.persisted) open();
  });
}
