// Pictures that are selected, in whatever view: what the bar at the foot of the page acts on.  A
// selection has parts, one for each time something was added to it, so that what is said of it is
// what it is: "206 + 207 pictures selected".

/** @type {Set<string>[]} none is empty, and no picture is in two of them */
let parts = [];
/** @type {((ended: boolean) => void)[]} */
const listeners = [];

/** @param {boolean} [ended] */
function tell(ended = false) {
  parts = parts.filter((part) => part.size);
  for (const listener of listeners) listener(ended);
}

const size = () => parts.reduce((sum, part) => sum + part.size, 0);

/** @param {string} id */
const has = (id) => parts.some((part) => part.has(id));

/** Those of the pictures that are not selected yet. @param {Iterable<string>} ids */
const fresh = (ids) => new Set([...ids].filter((id) => !has(id)));

/** To the last part. @param {Iterable<string>} ids */
function join(ids) {
  const more = fresh(ids);
  parts.push(new Set([...(parts.pop() ?? []), ...more]));
  tell();
}

export const selection = {
  get size() {
    return size();
  },

  ids: () => parts.flatMap((part) => [...part]),

  /** What is selected, part by part. */
  parts: () => parts.map((part) => [...part]),

  has,

  /** @param {...Iterable<string>} some those and no others, a part each */
  set(...some) {
    parts = [];
    for (const ids of some) parts.push(fresh(ids));
    tell();
  },

  /** @param {Iterable<string>} ids as a part of their own: what another lasso caught */
  addPart(ids) {
    parts.push(fresh(ids));
    tell();
  },

  /** Picked by hand, one after the other. */
  add: join,

  /** @param {string} id */
  toggle(id) {
    if (parts.some((part) => part.delete(id))) tell();
    else join([id]);
  },

  /** It ends: something was done with it, or it is wanted no more. */
  clear() {
    if (!parts.length) return;
    parts = [];
    tell(true);
  },

  /** @param {(ended: boolean) => void} listener told of every change, and whether it ended */
  onChange: (listener) => void listeners.push(listener),
};
