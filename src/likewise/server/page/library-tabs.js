// The ways to look at a library: by time, by place, by copies.

import { h, icon } from "./dom.js";
import { hrefFor } from "./state.js";

/** @type {[import("./state.js").State["view"], string, string][]} */
const TABS = [["library", "date", "Timeline"], ["places", "place", "Places"], ["duplicates", "copies", "Duplicates"]];

/** @param {import("./state.js").State["view"]} here */
export const libraryTabs = (here) => h("nav", { class: "library-tabs", "aria-label": "Library" },
  ...TABS.map(([view, name, label]) => h("a", { href: hrefFor({ view, look: "", why: "" }), "data-view": view, "aria-current": view === here ? "page" : null }, icon(name), label)));
