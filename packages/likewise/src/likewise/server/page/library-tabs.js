// The ways to look at a library: by time, by place, by copies.

import { h, icon } from "./dom.js";
import { hrefFor } from "./state.js";
import { t } from "./texts.js";

/** @type {[import("./state.js").State["view"], string, string][]} */
const TABS = [["library", "date", t.library.timeline], ["places", "place", t.places.title], ["duplicates", "copies", t.duplicates.title]];

/** @param {import("./state.js").State["view"]} here */
export const libraryTabs = (here) => h("nav", { class: "library-tabs", "aria-label": t.library.title },
  ...TABS.map(([view, name, label]) => h("a", { href: hrefFor({ view, look: "", why: "" }), "data-view": view, "aria-current": view === here ? "page" : null }, icon(name), label)));
