// What the server tells by itself: progress of long work, and that something changed.

/** @typedef {import("./types.js").Events} Events */
/** @typedef {Events["progress"]} Progress */
/** @typedef {Events["done"]} Done */
/** @typedef {Events["failed"]} Failed */
/** @typedef {Omit<Events, "changed"> & {changed: Events["changed"]|null, lost: null, found: null, joined: null}} Told the server's, and what the page notices itself; changed null: who knows what */

/** @type {{[E in keyof Told]: ((data: Told[E]) => void)[]}} */
const listeners = { progress: [], done: [], failed: [], changed: [], lost: [], found: [], joined: [] };

/**
 * @template {keyof Told} E
 * @param {E} event
 * @param {(data: Told[E]) => void} listener
 */
export function on(event, listener) {
  listeners[event].push(listener);
}

/** @template {keyof Told} E @param {E} event @param {Told[E]} data */
function tell(event, data) {
  for (const listener of listeners[event]) listener(data);
}

/**
 * One stream of events while the page is in sight.  A browser keeps six connections to a server, and
 * a stream holds one of them: tabs in the background that kept theirs would leave none for the rest.
 */
export function connect() {
  let lost = false;
  let again = 0;
  /** @type {EventSource|null} */
  let stream = null;
  const close = () => {
    clearTimeout(again);
    stream?.close();
    stream = null;
  };
  const open = () => {
    close();
    const made = new EventSource("/api/events");
    stream = made;
    for (const name of /** @type {const} */ (["progress", "done", "failed", "changed"])) {
      made.addEventListener(name, (event) => tell(name, JSON.parse(event.data)));
    }
    made.addEventListener("open", () => {
      if (lost) tell("found", null);
      lost = false;
      tell("joined", null); // from now on ends are heard
    });
    made.addEventListener("error", () => {
      if (made !== stream) return;
      if (!lost) tell("lost", null);
      lost = true;
      // A refusal ends the stream for good; a broken line is mended by the browser.
      if (made.readyState === EventSource.CLOSED) again = setTimeout(open, 5000);
    });
  };
  if (!document.hidden) open();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
    } else if (!stream) {
      open();
      tell("changed", null); // whatever was told meanwhile was not heard
    }
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => {
    if (event.persisted && !document.hidden) open();
  });
}
