// The keyboard, everywhere: what each key does, and the list that ? shows.

import { dialog } from "./dialog.js";
import { h } from "./dom.js";
import { asking, current, forget, go, hasPicture, hasQuery, isJudged, open, VIEWS, viewing } from "./state.js";
import { t } from "./texts.js";
import { nextTheme } from "./themes.js";
import { toast } from "./toast.js";
import { toggleDates } from "./toolbar.js";
import * as words from "./typed-words.js";

export function showKeys() {
  const made = dialog(t.keys.title, "keys", () => {});
  made.body.append(...t.keys.list.map(([title, rows]) => h("section", {}, h("h3", {}, title),
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
  const asked = isJudged(current());
  const unsaid = hasQuery(current()) && !asked; // results that + and − and w mean nothing for
  if (key === "d") toggleDates(current());
  else if (key === "f") search.toolbar.toggle();
  else if (key === "s") search.selecting.turn(!search.selecting.on);
  else if (key === "u" && asked) search.judge.undo();
  else if (key === "r" && hasPicture(current())) search.rail.region.start();
  else if (!item) return false;
  else if (key === "o") open({ look: item.id });
  else if (key === "x" || key === "X") search.selecting.pick(item, key === "X");
  else if (unsaid && ["w", "+", "=", "-", "_", "−"].includes(key)) toast(t.several.unjudged(Boolean(current().colours)));
  else if (!asked) return false;
  else if (key === "w") open({ why: item.id });
  else if (key === "+" || key === "=") search.judge.judge(item, "liked");
  else if (key === "-" || key === "_" || key === "−") search.judge.judge(item, "disliked");
  else return false;
  return true;
}
