// Filters, the same in every view: what of an address the server is asked for, and a chip for each,
// so that none works unseen.

import { h, icon } from "./dom.js";
import { go } from "./state.js";
import { t } from "./texts.js";

/** @typedef {import("./state.js").State} State */

/** @type {Pick<State, "folder"|"tag"|"camera"|"album"|"stars"|"favourite"|"hidden"|"box"|"after"|"before">} */
export const NO_FILTERS = { folder: "", tag: "", camera: "", album: "", stars: "", favourite: false, hidden: "", box: "", after: "", before: "" };

/** Filters of an address as the server takes them. @param {State} state */
export function filtersOf(state) {
  /** @type {import("./api.js").LibraryFilters} */
  const made = {};
  for (const name of /** @type {const} */ (["folder", "tag", "camera", "album", "box", "after", "before"])) {
    if (state[name]) made[name] = state[name];
  }
  if (state.stars) made.stars = Number(state.stars);
  if (state.favourite) made.favourite = true;
  if (state.hidden === "any" || state.hidden === "only") made.hidden = state.hidden;
  return made;
}

/** @param {State} state @returns {[string, Partial<State>][]} each in words, and what ends it */
function told(state) {
  const f = t.filters;
  /** @type {[string|false, Partial<State>][]} */
  const all = [
    [state.folder && f.folder(short(state.folder.split("/").at(-1) || state.folder)), { folder: "" }],
    [state.tag && f.tag(state.tag), { tag: "" }],
    [state.camera && f.camera(state.camera), { camera: "" }],
    [state.album && f.album(state.album), { album: "" }],
    [state.stars && t.library.atLeast(Number(state.stars)), { stars: "" }],
    [state.favourite && t.library.favourites, { favourite: false }],
    [state.hidden && f.hidden[state.hidden], { hidden: "" }],
    [state.box && f.box, { box: "" }],
    [state.after && f.after(state.after), { after: "" }],
    [state.before && f.before(state.before), { before: "" }],
  ];
  return all.flatMap(([said, without]) => (said ? [/** @type {[string, Partial<State>]} */ ([said, without])] : []));
}

/** @param {State} state */
export const countFilters = (state) => told(state).length;

/**
 * A chip for each filter, whose click removes it.
 * @param {State} state
 * @param {(keyof State)[]} [elsewhere] those that have a control of their own beside
 */
export const filterChips = (state, elsewhere = []) => told(state)
  .filter(([, without]) => !Object.keys(without).some((key) => elsewhere.includes(/** @type {keyof State} */ (key))))
  .map(([said, without]) => h("button", { type: "button", class: "chip", "aria-label": t.filters.remove(said), onclick: () => go(without) }, said, icon("close")));

export const clearFilters = () => go(NO_FILTERS);

/** @param {string} path the end of it says most @param {number} [most] */
export const short = (path, most = 24) => (path.length > most ? `…${path.slice(1 - most)}` : path);
