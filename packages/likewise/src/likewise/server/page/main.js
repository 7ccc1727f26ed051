// Where the page begins: one view at a time, chosen by the address.

import { onActed, openActions } from "./actions.js";
import { showWho } from "./access-keys.js";
import { api } from "./api.js";
import { CollectionView } from "./collection.js";
import { CompareView } from "./compare.js";
import { bringIcons, need, settled } from "./dom.js";
import * as keys from "./keys.js";
import * as known from "./known.js";
import { NO_FILTERS } from "./filters.js";
import { DuplicatesView } from "./duplicates.js";
import { LearnedView } from "./learned.js";
import { LibraryView } from "./library.js";
import * as live from "./live.js";
import { MapView } from "./map.js";
import { onMarked } from "./marks.js";
import { PlacesView } from "./places.js";
import { setMe } from "./role.js";
import { SearchView } from "./search.js";
import { selection } from "./selection.js";
import * as settingsDialog from "./settings-dialog.js";
import { selectionBar } from "./selection-bar.js";
import * as several from "./several.js";
import { dressShell } from "./shell.js";
import { asking, current, go, onChange, strangeParts, VIEWS, viewing } from "./state.js";
import { goTag, TagView } from "./tag.js";
import { t } from "./texts.js";
import * as themes from "./themes.js";
import { toast } from "./toast.js";
import * as words from "./typed-words.js";
import * as upload from "./upload.js";
import { working } from "./working.js";

/** @type {import("./types.js").Me} */
const me = await api.me().catch(() => ({ guest: false, name: "", role: "manage" })); // a failure is told by the view
setMe(me);
const search = new SearchView();
const learned = new LearnedView();
const collection = new CollectionView();
const tag = new TagView();
const compare = new CompareView(me);
const map = new MapView();
const library = new LibraryView();
const places = new PlacesView();
const duplicates = new DuplicatesView();
const views = { search, library, tag, compare, map, learned, collection, places, duplicates };
/** @type {Partial<Record<import("./state.js").State["view"], string>>} views that are part of another one */
const PART_OF = { places: "library", duplicates: "library" };
const main = need("#main");

/**
 * @param {import("./state.js").State} state
 * @param {import("./state.js").State|null} before
 * @param {number|null} scroll
 */
function show(state, before, scroll) {
  const view = views[state.view];
  if (!view.el.isConnected) {
    if (before) selection.clear(); // what is selected here would be tagged there, unseen
    main.replaceChildren(view.el);
    main.dataset.view = state.view;
    if (scroll === null) scrollTo(0, 0);
    if (before) main.focus({ preventScroll: true });
  }
  for (const link of document.querySelectorAll(".views a")) {
    if (link instanceof HTMLElement && link.dataset.view === (PART_OF[state.view] ?? state.view)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const one of [search, library, duplicates]) if (one !== view) one.look.show(state); // closes it
  view.show(state, before, scroll);
}

// Links to views and pictures keep the rest of the state, and need no new page.
addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const { view, ask, home, tag: wanted } = link.dataset;
  const known = VIEWS.find((one) => one === view);
  if (known) go(viewing(known));
  else if (ask) go(asking({ q: ask }));
  else if (wanted) goTag(wanted);
  else if (home !== undefined) go(asking(NO_FILTERS));
  else return;
  event.preventDefault();
});

/** Somebody with a link for questions: these, and nothing around them. */
function showGuest() {
  document.body.classList.add("guest");
  need("#actions").hidden = true;
  go({ view: "compare" }, { replace: true });
  main.replaceChildren(compare.el);
  compare.show(current());
}

function showOwner() {
  const bar = selectionBar();
  bar.lastElementChild?.before(several.findTogether()); // what ends the selection stays last
  need("#toasts").before(bar);
  several.listen();
  settingsDialog.listen(() => search.layAgain());
  showWho(() => settingsDialog.openSettings(() => search.layAgain()));
  need("#actions").addEventListener("click", openActions);
  onActed((kind) => {
    known.forgetAll();
    if (["remove", "mark", "takeback"].includes(kind) && current().view === "search") search.refresh();
    if (current().view === "tag") tag.acted();
  });
  onMarked((states) => {
    const hides = [...(states?.values() ?? [])].some((one) => one.hidden !== undefined);
    if (hides && current().view === "search") search.refresh(); // hidden ones leave
    else search.marked(states);
  });
  keys.listen(search);
  upload.listen();
  onChange(show);
  words.listen(search);
  show(current(), null, history.state?.scroll ?? 0);
  working.listen();
  live.connect();
  const strange = strangeParts(location.search);
  if (strange.length) toast(t.main.strange(strange), { bad: true });
}

need("#help").addEventListener("click", keys.showKeys);
themes.listen();
const askAboutWork = settled(() => working.ask(), 700, 2000);
live.on("changed", () => {
  known.forgetAll();
  askAboutWork();
  search.changed();
  if (current().view === "collection") collection.show();
});
const away = need("#away");
live.on("lost", () => {
  away.textContent = t.main.lost;
});
live.on("found", () => {
  away.textContent = "";
  toast(t.main.found);
  known.forgetAll();
  search.changed();
});
Object.assign(window, { likewise: { compare, map, places, search } }); // for whoever measures frames, and for tests
bringIcons();
dressShell();
if (me.guest) showGuest();
else showOwner();
dispatchEvent(new Event("likewise-ready"));
