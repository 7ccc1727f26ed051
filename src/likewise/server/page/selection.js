// Pictures that are selected, in whatever view: what the bar at the foot of the page acts on.

/** @type {Set<string>} */
const chosen = new Set();
/** @type {(() => void)[]} */
const listeners = [];

function tell() {
  for (const listener of listeners) listener();
}

export const selection = {
  get size() {
    return chosen.size;
  },

  ids: () => [...chosen],

  /** @param {string} id */
  has: (id) => chosen.has(id),

  /** @param {Iterable<string>} ids those and no others */
  set(ids) {
    chosen.clear();
    for (const id of ids) chosen.add(id);
    tell();
  },

  /** @param {Iterable<string>} ids */
  add(ids) {
    for (const id of ids) chosen.add(id);
    tell();
  },

  /** @param {string} id */
  toggle(id) {
    if (!chosen.delete(id)) chosen.add(id);
    tell();
  },

  clear() {
    if (!chosen.size) return;
    chosen.clear();
    tell();
  },

  /** @param {() => void} listener */
  onChange: (listener) => void listeners.push(listener),
};
