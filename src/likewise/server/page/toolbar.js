// Above the pictures: how many there are, their order, dates, and the filters.

import { h, icon, fill, settled } from "./dom.js";
import { go, hasQuery, sorting } from "./state.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {"folder"|"tag"|"after"|"before"} FilterName */

/** @type {[FilterName, string][]} */
const FILTERS = [["folder", "in"], ["tag", "tagged"], ["after", "from"], ["before", "until"]];

export class Toolbar {
  /** @param {() => void} select */
  constructor(select) {
    this.heading = h("h1", { class: "found" });
    this.said = h("span", { class: "soft" });
    this.sort = h("select", { "aria-label": "Order", onchange: () => this.#sorted() });
    this.dates = h("button", { type: "button", class: "quiet small", "aria-keyshortcuts": "d", onclick: () => toggleDates(this.state) }, icon("date"), h("span", {}, "Dates"));
    this.open = h("button", { type: "button", class: "quiet small", "aria-keyshortcuts": "f", "aria-expanded": "false", "aria-controls": "filters", onclick: () => this.toggle() }, icon("filter"), h("span", {}, "Filters"));
    this.select = h("button", { type: "button", class: "quiet small", "aria-keyshortcuts": "s", "aria-pressed": "false", onclick: select }, icon("select"), h("span", {}, "Select"));
    this.chips = h("span", { class: "chips" });
    this.folder = h("select", { id: "folder", onchange: () => go({ folder: this.folder.value }) });
    this.tag = h("input", { type: "text", id: "tag", autocomplete: "off", placeholder: "any" });
    const typed = settled(() => go({ tag: this.tag.value.trim() }, { replace: true }), 300);
    this.tag.addEventListener("input", () => typed());
    this.after = h("input", { type: "date", id: "after", onchange: () => go({ after: this.after.value }) });
    this.before = h("input", { type: "date", id: "before", onchange: () => go({ before: this.before.value }) });
    this.filters = h("div", { class: "filters", id: "filters", hidden: true, role: "group", "aria-label": "Filters" },
      field("folder", "Folder", this.folder), field("tag", "Tag", this.tag),
      field("after", "From", this.after), field("before", "Until", this.before),
      h("button", { type: "button", class: "quiet small", onclick: clearFilters }, icon("close"), "Clear"));
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
    const choices = asked ? [["score", "Best first"], ["date", "Newest first"]]
      : [["date desc", "Newest first"], ["date asc", "Oldest first"], ["name asc", "By name"], ["added desc", "Last added"]];
    fill(this.sort, ...choices.map(([value, text]) => h("option", { value }, text)));
    this.sort.value = asked ? state.sort || "score" : `${state.sort || "date"} ${state.order || "desc"}`;
    this.dates.setAttribute("aria-pressed", String(state.dates));
    const active = FILTERS.filter(([name]) => state[name]);
    this.open.lastElementChild?.replaceChildren(active.length ? `Filters (${active.length})` : "Filters");
    fill(this.chips, ...active.map(([name, word]) =>
      h("button", { type: "button", class: "chip", "aria-label": `Remove the filter ${word} ${state[name]}`, onclick: () => go({ [name]: "" }) },
        `${word} ${short(state[name])}`, icon("close"))));
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
    fill(this.folder, h("option", { value: "" }, "any"), ...all.map((path) => h("option", { value: path }, short(path, 40))));
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
