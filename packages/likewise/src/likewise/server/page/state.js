// What is shown is what the address says: every view, query, region, filter and open picture is in
// the URL, so that back, forward, reload and a bookmark work.  Defaults are left out of it.

/** @typedef {import("./types.js").Box} Box */
/** @typedef {import("./types.js").Query} Query */
/**
 * @typedef {object} State
 * @property {"search"|"library"|"tag"|"compare"|"map"|"learned"|"collection"|"places"|"duplicates"} view
 * @property {string} q a picture of the collection that is asked about
 * @property {string} up an upload that is asked about
 * @property {string} size WIDTHxHEIGHT of the upload
 * @property {string} text typed words
 * @property {string} without reasons that do not count, a line each
 * @property {string} like pictures asked about together, a comma between
 * @property {string} colours rrggbb that are asked for, a comma between
 * @property {Box|null} region
 * @property {string} by a similarity; "" is the default
 * @property {""|typeof SORTS[number]} sort "score" or "date" for a query; "date", "name" or "added" without
 * @property {""|typeof ORDERS[number]} order without a query
 * @property {number|null} above
 * @property {string} folder
 * @property {string} tag
 * @property {string} camera a part of its name
 * @property {string} album
 * @property {string} stars the fewest
 * @property {boolean} favourite only favourites
 * @property {string} hidden "", "any" or "only"
 * @property {string} box south,west,north,east
 * @property {string} after
 * @property {string} before
 * @property {boolean} dates whether dates are always shown
 * @property {string} look a picture shown large
 * @property {string} why a picture whose match is explained
 * @property {string} profile whose learning is shown
 * @property {string} map which map is shown; "" is the newest
 * @property {string} at where on the map: x,y,zoom
 * @property {string} left a similarity, side by side with right
 * @property {string} right
 * @property {string} lay "": side by side where there are few enough; "true": at their places
 * @property {string} settle a tag whose suggestions are looked at
 * @property {string} paint what colours the map: "", "tags" or "likeness"
 */

const SORTS = /** @type {const} */ (["score", "date", "name", "added"]);
const ORDERS = /** @type {const} */ (["asc", "desc"]);

/** @type {State} */
const DEFAULTS = {
  view: "search", q: "", up: "", size: "", text: "", without: "", like: "", colours: "", region: null, by: "", sort: "", order: "", above: null,
  folder: "", tag: "", camera: "", album: "", stars: "", favourite: false, hidden: "", box: "", after: "", before: "", dates: false, look: "", why: "", profile: "",
  map: "", at: "", lay: "", paint: "", left: "", right: "", settle: "",
};

/** In the order of the keys 1, 2, …. @type {State["view"][]} */
export const VIEWS = ["search", "tag", "compare", "map", "learned", "collection", "library", "places", "duplicates"];

/**
 * @param {string} text of the query part of an address
 * @returns {State}
 */
export function parse(text) {
  const given = new URLSearchParams(text);
  /** @param {string} key */
  const word = (key) => given.get(key) ?? "";
  const view = word("view");
  const region = word("region").split(",").map(Number);
  const above = given.has("above") ? Number(word("above")) : NaN;
  return {
    ...DEFAULTS,
    view: VIEWS.find((one) => one === view) ?? "search",
    q: word("q"),
    up: word("q") ? "" : word("up"),
    size: word("size"),
    text: word("text").trim(),
    without: word("text").trim() ? word("without") : "",
    like: word("q") || word("up") ? "" : word("like"),
    colours: /^[0-9a-f]{6}(,[0-9a-f]{6}){0,4}$/.test(word("colours")) && !word("q") && !word("up") && !word("like") ? word("colours") : "",
    region: region.length === 4 && region.every((n) => n >= 0) && region[2] > 0 && region[3] > 0
      ? /** @type {Box} */ (/** @type {unknown} */ (region)) : null,
    by: word("by"),
    ...sorting(word("sort"), word("order")),
    above: Number.isFinite(above) ? above : null,
    folder: word("folder"),
    tag: word("tag"),
    camera: word("camera"),
    album: word("album"),
    stars: /^[1-5]$/.test(word("stars")) ? word("stars") : "",
    favourite: given.has("favourite"),
    hidden: ["any", "only"].find((one) => one === word("hidden")) ?? "",
    box: word("box"),
    after: word("after"),
    before: word("before"),
    dates: given.has("dates"),
    look: word("look"),
    why: word("why"),
    profile: word("profile"),
    map: word("map"),
    at: word("at"),
    lay: word("lay"),
    paint: word("paint"),
    left: word("left"),
    right: word("right"),
    settle: word("settle"),
  };
}

/**
 * An order that there is; what an address says beyond that is left out.
 * @param {string} sort
 * @param {string} order
 * @returns {Pick<State, "sort"|"order">}
 */
export const sorting = (sort, order) => ({
  sort: SORTS.find((one) => one === sort) ?? "", order: ORDERS.find((one) => one === order) ?? "",
});

/** @param {State} state */
export function address(state) {
  const made = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    const usual = DEFAULTS[/** @type {keyof State} */ (key)];
    if (value === usual || value === null) continue;
    made.set(key, value === true ? "1" : Array.isArray(value) ? value.map(Math.round).join(",") : String(value));
  }
  const text = made.toString();
  return text ? `/?${text}` : "/";
}

const ELSEWHERE = ["developer", "ticket", "token"]; // keys that others read

/**
 * Parts of an address that change nothing: mistyped, they must not pass as if they did.
 * @param {string} text of the query part of an address
 * @returns {string[]} as they are written there
 */
export function strangeParts(text) {
  const used = new URLSearchParams(address(parse(text)).slice(1));
  return [...new URLSearchParams(text)].filter(([key, value]) => {
    if (ELSEWHERE.includes(key)) return false;
    if (!(key in DEFAULTS)) return true;
    return value.trim() !== "" && !used.has(key) && value !== String(DEFAULTS[/** @type {keyof State} */ (key)]);
  }).map(([key, value]) => (value ? `${key}=${value}` : key));
}

/** @type {State} */
let now = parse(location.search);
/** @type {((state: State, before: State, scroll: number|null) => void)[]} */
const listeners = [];

export const current = () => now;

/** @param {(state: State, before: State, scroll: number|null) => void} listener */
export function onChange(listener) {
  listeners.push(listener);
}

/** @param {Partial<State>} patch */
export const hrefFor = (patch) => address({ ...now, ...patch });

/**
 * Move to another state.
 * @param {Partial<State>} patch
 * @param {{replace?: boolean, opens?: boolean}} [how] replace: no step for the back button (sliders,
 *   typing); opens: closing it leads back
 */
export function go(patch, { replace = false, opens = false } = {}) {
  if (returning) {
    returning.push(() => go(patch, { replace, opens }));
    return;
  }
  const before = now;
  const next = { ...now, ...patch };
  const place = address(next);
  if (place === address(before)) return;
  now = next;
  if (replace) {
    history.replaceState(history.state, "", place);
  } else {
    remember();
    history.pushState({ scroll: 0, opens }, "", place);
  }
  for (const listener of listeners) listener(now, before, null);
}

/** Show something over the page, as a step that closing it takes back. @param {Partial<State>} patch */
export const open = (patch) => go(patch, { opens: true });

/** @type {(() => void)[]|null} what was asked for while the browser goes a step back */
let returning = null;

/**
 * Close what was opened over the page: the step that opened it is taken back, so that the back
 * button has no step to show it again, nor one that does nothing.
 * @param {Partial<State>} patch what closing it means where the page began with it open
 */
export function shut(patch) {
  if (returning) return;
  if (!history.state?.opens) {
    go(patch, { replace: true });
    return;
  }
  returning = [];
  history.back();
}

/** Escape in a hurry: what waits for a closing to end is taken back; false where nothing closes. */
export function forget() {
  if (!returning) return false;
  returning.length = 0;
  return true;
}

/** The views that share the library's filters. @type {State["view"][]} */
const LIBRARY = ["library", "places", "duplicates"];
/** @type {Partial<State>} filters that are chosen in one view and mean it only */
const UNFILTERED = { camera: "", album: "", stars: "", favourite: false, hidden: "", box: "" };

/**
 * Another view.  What was learned is shown of the profile one searches by.
 * @param {State["view"]} view
 * @returns {Partial<State>}
 */
export const viewing = (view) => ({
  ...(LIBRARY.includes(view) ? {} : UNFILTERED), view, look: "", why: "", settle: "", profile: view === "learned" && now.view === "search" ? "" : now.profile,
});

/** What changes when another picture is asked about: its region, cut-off and open pictures go.
 * @param {Partial<State>} query
 * @returns {Partial<State>}
 */
export const asking = (query) => ({
  ...(now.view === "search" ? {} : UNFILTERED), view: "search", q: "", up: "", size: "", text: "", without: "", like: "", colours: "", region: null, above: null, sort: "", order: "", look: "", why: "", settle: "", ...query,
});

/** @param {State} state */
export const hasQuery = (state) => Boolean(state.q || state.up || state.text || state.like || state.colours);

/** Whether answers can be judged: about one picture or about words. @param {State} state */
export const isJudged = (state) => Boolean(state.q || state.up || state.text) && !state.like;

/** @param {State} state @returns {string[]} */
export const likeOf = (state) => state.like.split(",").filter(Boolean);

/** @param {State} state @returns {string[]} as rrggbb */
export const coloursOf = (state) => state.colours.split(",").filter(Boolean);

/** @param {State} state */
export const hasPicture = (state) => Boolean(state.q || state.up);

/**
 * The asked picture.
 * @param {State} state
 * @returns {Query}
 */
export function queryOf(state) {
  /** @type {Query} */
  const query = state.q ? { picture: state.q } : { upload: state.up };
  if (state.region) query.region = state.region;
  return query;
}

/** What is asked: a picture, words, or both. @param {State} state @returns {import("./types.js").Asked} */
export const askedOf = (state) => {
  if (state.colours) return { query: { colours: coloursOf(state).map((one) => `#${one}`) }, text: null };
  if (state.like) return { query: { pictures: likeOf(state) }, text: state.text || null };
  return { query: hasPicture(state) ? queryOf(state) : null, text: state.text || null };
};

/** Keep the place in the page with this step of the history. */
function remember() {
  clearTimeout(writing);
  history.replaceState({ ...history.state, scroll: scrollY }, "", location.href);
}

let writing = 0;
history.scrollRestoration = "manual";
addEventListener("popstate", (event) => {
  clearTimeout(writing);
  const before = now;
  now = parse(location.search);
  const waiting = returning;
  returning = null;
  const scroll = waiting ? scrollY : event.state?.scroll ?? 0;
  for (const listener of listeners) listener(now, before, scroll);
  for (const act of waiting ?? []) act();
});

addEventListener("scroll", () => {
  clearTimeout(writing);
  writing = setTimeout(remember, 250);
}, { passive: true });
