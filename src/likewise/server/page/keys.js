// The keyboard, everywhere: what each key does, and the list that ? shows.

import { dialog } from "./dialog.js";
import { h } from "./dom.js";
import { asking, current, forget, go, hasPicture, hasQuery, open, VIEWS, viewing } from "./state.js";
import { nextTheme } from "./themes.js";
import { toggleDates } from "./toolbar.js";
import * as words from "./typed-words.js";

/** @type {[string, [string, string][]][]} */
const LIST = [
  ["Pictures", [
    ["← → ↑ ↓", "from picture to picture"], ["Home End", "first and last of a row; with Ctrl of all"], ["Page ↑ ↓", "a screen up or down"],
    ["Enter", "find its like"], ["o", "look closer"], ["w", "why it matched"],
  ]],
  ["Judging", [["+", "more like this"], ["−", "not this"], ["u", "undo"]]],
  ["Asking", [["/", "type words; Enter searches; -word: not that"], ["Tab", "from the field: pick a picture"], ["Ctrl V", "paste a picture"], ["r", "choose a part: arrows move, Shift with arrows sizes, Enter searches"], ["Del", "on the asked picture: the whole of it again"]]],
  ["Tagging", [["a x", "accept, reject the first suggestion, or the one in focus"], ["e", "type a tag"], ["n p", "next, previous picture"], ["u", "undo"]]],
  ["Selecting", [["s", "select pictures, or no more"], ["x", "select this one; with Shift all up to it"], ["Esc", "select nothing"]]],
  ["Library", [["0 … 5", "stars, for the picture one is on or the selected ones"], ["v", "favourite, or no more"], ["h", "hide, or show again"], ["b", "put into an album"]]],
  ["Comparing", [["← →", "the left one, the right one is closer"], ["0", "skip"], ["u", "undo"]]],
  ["Similarity map", [["← → ↑ ↓", "move"], ["+ −", "closer, farther"], ["0", "all of it"], ["g", "side by side, or at their true places"], ["l", "lasso; or drag with Shift"], ["Enter", "find the like of the picture in the middle"]]],
  ["The page", [["1 … 9", "search, tags, compare, similarity map, what I learned, collection, library, places, duplicates"], ["f", "filters"], ["d", "dates"], ["t", "light, dark or as the system"], ["Esc", "close, or close the search"], ["?", "these keys"]]],
];

export function showKeys() {
  const made = dialog("Keys", "keys", () => {});
  made.body.append(...LIST.map(([title, rows]) => h("section", {}, h("h3", {}, title),
    h("dl", {}, ...rows.flatMap(([keys, what]) => [h("dt", {}, ...keys.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, what)])))));
}

/** @param {EventTarget|null} target */
function typing(target) {
  return target instanceof HTMLElement && (target.matches("input:not([type=range]), textarea, select") || target.isContentEditable);
}

/** @param {import("./search.js").SearchView} search */
export function listen(search) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      if (forget()) return;
      if (typing(event.target)) /** @type {HTMLElement} */ (event.target).blur();
      else if (search.selecting.on) search.selecting.turn(false);
      else if (current().view === "search" && hasQuery(current())) go(current().region ? { region: null, above: null } : asking({}));
      return;
    }
    if (typing(event.target)) return;
    if (everywhere(event.key) || (current().view === "search" && inSearch(event.key, search))) event.preventDefault();
  });
}

/** @param {string} key */
function everywhere(key) {
  if (key === "?") showKeys();
  else if (key === "/") {
    words.focus();
  }
  else if (key === "t") nextTheme();
  else if (VIEWS[Number(key) - 1]) go(viewing(VIEWS[Number(key) - 1]));
  else return false;
  return true;
}

/**
 * @param {string} key
 * @param {import("./search.js").SearchView} search
 */
function inSearch(key, search) {
  const item = search.grid.pointed();
  const asked = hasQuery(current());
  if (key === "d") toggleDates(current());
  else if (key === "f") search.toolbar.toggle();
  else if (key === "s") search.selecting.turn(!search.selecting.on);
  else if (key === "u" && asked) search.judge.undo();
  else if (key === "r" && hasPicture(current())) search.rail.region.start();
  else if (!item) return false;
  else if (key === "o") open({ look: item.id });
  else if (key === "x" || key === "X") search.selecting.pick(item, key === "X");
  else if (!asked) return false;
  else if (key === "w") open({ why: item.id });
  else if (key === "+" || key === "=") search.judge.judge(item, "liked");
  else if (key === "-" || key === "_" || key === "−") search.judge.judge(item, "disliked");
  else return false;
  return true;
}
