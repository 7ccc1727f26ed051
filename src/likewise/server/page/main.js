// Where the page begins: one view at a time, chosen by the address.

import { CollectionView } from "./collection.js";
import { bringIcons, need } from "./dom.js";
import * as keys from "./keys.js";
import * as known from "./known.js";
import { LearnedView } from "./learned.js";
import * as live from "./live.js";
import { SearchView } from "./search.js";
import { asking, current, go, onChange, viewing } from "./state.js";
import * as themes from "./themes.js";
import { toast } from "./toast.js";
import * as upload from "./upload.js";

const search = new SearchView();
const learned = new LearnedView();
const collection = new CollectionView();
const views = { search, learned, collection };
const main = need("#main");

/**
 * @param {import("./state.js").State} state
 * @param {import("./state.js").State|null} before
 * @param {number|null} scroll
 */
function show(state, before, scroll) {
  const view = views[state.view];
  if (!view.el.isConnected) {
    main.replaceChildren(view.el);
    main.dataset.view = state.view;
    if (scroll === null) scrollTo(0, 0);
    if (before) main.focus({ preventScroll: true });
  }
  for (const link of document.querySelectorAll(".views a")) {
    if (link instanceof HTMLElement && link.dataset.view === state.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  view.show(state, before, scroll);
}

// Links to views and pictures keep the rest of the state, and need no new page.
addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const { view, ask, home } = link.dataset;
  if (view === "search" || view === "learned" || view === "collection") go(viewing(view));
  else if (ask) go(asking({ q: ask }));
  else if (home !== undefined) go(asking({ folder: "", tag: "", after: "", before: "" }));
  else return;
  event.preventDefault();
});

need("#help").addEventListener("click", keys.showKeys);
keys.listen(search);
themes.listen();
upload.listen();
onChange(show);
live.on("changed", () => {
  known.forgetAll();
  search.changed();
  if (current().view === "collection") collection.show();
});
const away = need("#away");
live.on("lost", () => {
  away.textContent = "Likewise does not answer. Is it still running in its terminal? This page goes on by itself when it is back.";
});
live.on("found", () => {
  away.textContent = "";
  toast("Likewise is back.");
  known.forgetAll();
  search.changed();
});
bringIcons();
show(current(), null, history.state?.scroll ?? 0);
live.connect();
