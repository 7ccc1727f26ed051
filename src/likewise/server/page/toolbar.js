// Above the pictures: how many there are, their order, dates, and the filters.

import { h, icon, fill, settled } from "./dom.js";
import { go, hasQuery, sorting } from "./state.js";
import { t } from "./texts.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {"folder"|"tag"|"after"|"before"} FilterName */

/** @type {FilterName[]} */
const FILTERS = ["folder", "tag", "after", "before"];

export class Toolbar {
  /** @param {() => void} select */
  constructor(select) {
    this.heading = h("h1", { class: "found" });
    this.said = h("span", { class: "soft" });
    this.sort = h("select", { "aria-label": t.toolbar.order, onchange: () => this.#sorted() });
    this.dates = h("button", { type: "button", class: "quiet small", "aria-keyshortcuts": "d", onclick: () => toggleDates(this.state) }, icon("date"), h("span", {}, t.toolbar.dates));
    this.open = h("button", { type: "button", class: "quiet small", "aria-keyshortcuts": "f", "aria-expanded": "false", "aria-controls": "filters", onclick: () => this.toggle() }, icon("filter"), h("span", {}, t.toolbar.filter));
    this.select = h("button", { type: "button", class: "quiet small", "aria-keyshortcuts": "s", "aria-pressed": "false", onclick: select }, icon("select"), h("span", {}, t.toolbar.select));
    this.chips = h("span", { class: "chips" });
    this.folder = h("select", { id: "folder", onchange: () => go({ folder: this.folder.value }) });
    this.tag = h("input", { type: "text", id: "tag", autocomplete: "off", placeholder: t.toolbar.any });
    const typed = settled(() => go({ tag: this.tag.value.trim() }, { replace: true }), 300);
    this.tag.addEventListener("input", () => typed());
    this.after = h("input", { type: "date", id: "after", onchange: () => go({ after: this.after.value }) });
    this.before = h("input", { type: "date", id: "before", onchange: () => go({ before: this.before.value }) });
    this.filters = h("div", { class: "filters", id: "filters", hidden: true, role: "group", "aria-label": t.toolbar.filter },
      field("folder", t.toolbar.folder, this.folder), field("tag", t.toolbar.tag, this.tag),
      field("after", t.toolbar.from, this.after), field("before", t.toolbar.until, this.before),
      h("button", { type: "button", class: "quiet small", onclick: clearFilters }, icon("close"), t.toolbar.clear));
    // From inside, f closes what it opened; in the field for a tag it is a letter.
    this.filters.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.key !== "f" && event.key !== "Escape") || (event.key === "f" && event.target === this.tag)) return;
      event.preventDefault();
      event.stopPropagation();
      this.toggle(false);
      this.open.focus();
    });
    this.el = h("div", { class: "toolbar" },
      h("div", { class: "line" },
        h("div", { class: "what" }, this.heading, this.said, this.chips),
        h("div", { class: "how" }, this.sort, this.select, this.dates, this.open)),
      this.filters);
    /** @type {State|null} */
    this.state = null;
    this.folders = "";
  }

  /** @param {State} state */
  show(state) {
    this.state = state;
    const asked = hasQuery(state);
    const choices = asked ? ["score", "date"] : ["date desc", "date asc", "name asc", "added desc"];
    fill(this.sort, ...choices.map((value) => h("option", { value }, t.toolbar.orders[value])));
    this.sort.value = asked ? state.sort || "score" : `${state.sort || "date"} ${state.order || "desc"}`;
    this.dates.setAttribute("aria-pressed", String(state.dates));
    const active = FILTERS.filter((name) => state[name]);
    this.open.lastElementChild?.replaceChildren(active.length ? t.toolbar.filterN(active.length) : t.toolbar.filter);
    fill(this.chips, ...active.map((name) =>
      h("button", { type: "button", class: "chip", "aria-label": t.toolbar.remove(t.toolbar.filters[name], state[name]), onclick: () => go({ [name]: "" }) },
        `${t.toolbar.filters[name]} ${short(state[name])}`, icon("close"))));
    for (const input of [this.tag, this.after, this.before]) {
      const value = state[/** @type {FilterName} */ (input.id)];
      if (document.activeElement !== input) input.value = value;
    }
    this.folder.value = state.folder;
  }

  /** @param {string[]} folders */
  showFolders(folders) {
    const key = folders.join("\n");
    if (key === this.folders && this.folder.options.length) return;
    this.folders = key;
    const wanted = this.state?.folder ?? "";
    const all = wanted && !folders.includes(wanted) ? [...folders, wanted] : folders;
    fill(this.folder, h("option", { value: "" }, t.toolbar.any), ...all.map((path) => h("option", { value: path }, short(path, 40))));
    this.folder.value = wanted;
  }

  /** @param {boolean} on */
  selecting(on) {
    this.select.setAttribute("aria-pressed", String(on));
  }

  /** @param {string} heading @param {string} [said] */
  say(heading, said = "") {
    this.heading.textContent = heading;
    this.said.textContent = said;
  }

  /** @param {boolean} [open] */
  toggle(open = Boolean(this.filters.hidden)) {
    this.filters.hidden = !open;
    this.open.setAttribute("aria-expanded", String(open));
    if (open) this.folder.focus();
  }

  #sorted() {
    const [sort, order = ""] = this.sort.value.split(" ");
    const usual = this.sort.value === "score" || this.sort.value === "date desc";
    go(usual ? sorting("", "") : sorting(sort, order));
  }
}

/** @param {string} id @param {string} label @param {HTMLElement} input */
const field = (id, label, input) => h("div", { class: "field" }, h("label", { for: id }, label), input);

/** @param {string} path the end of it says most @param {number} [most] */
const short = (path, most = 24) => (path.length > most ? `…${path.slice(1 - most)}` : path);

export function clearFilters() {
  go({ folder: "", tag: "", after: "", before: "" });
}

/** @param {State|null} state */
export function toggleDates(state) {
  if (state) go({ dates: !state.dates }, { replace: true });
}
