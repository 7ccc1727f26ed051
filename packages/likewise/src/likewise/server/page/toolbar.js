// Above the pictures: how many there are, their order, dates, and the filters.

import { api } from "./api.js";
import { h, icon, fill, settled } from "./dom.js";
import { clearFilters, countFilters, filterChips, short } from "./filters.js";
import { go, hasQuery, sorting } from "./state.js";
import { t } from "./texts.js";
import { complain } from "./toast.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {"tag"|"camera"|"after"|"before"} FieldName */

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
    this.camera = h("input", { type: "text", id: "camera", autocomplete: "off", list: "cameras-known", placeholder: t.toolbar.any });
    const named = settled(() => go({ camera: this.camera.value.trim() }, { replace: true }), 300);
    this.camera.addEventListener("input", () => named());
    this.cameras = h("datalist", { id: "cameras-known" });
    this.stars = h("select", { id: "stars", onchange: () => go({ stars: this.stars.value }) },
      h("option", { value: "" }, t.toolbar.any), ...[1, 2, 3, 4, 5].map((n) => h("option", { value: String(n) }, t.library.atLeast(n))));
    this.album = h("select", { id: "album", onchange: () => go({ album: this.album.value }) }, h("option", { value: "" }, t.toolbar.any));
    this.after = h("input", { type: "date", id: "after", onchange: () => go({ after: this.after.value }) });
    this.before = h("input", { type: "date", id: "before", onchange: () => go({ before: this.before.value }) });
    this.filters = h("div", { class: "filters", id: "filters", hidden: true, role: "group", "aria-label": t.toolbar.filter },
      field("folder", t.toolbar.folder, this.folder), field("tag", t.toolbar.tag, this.tag),
      field("album", t.toolbar.album, this.album), field("stars", t.library.stars, this.stars),
      field("camera", t.toolbar.camera, this.camera), this.cameras,
      field("after", t.toolbar.from, this.after), field("before", t.toolbar.until, this.before),
      h("button", { type: "button", class: "quiet small", onclick: clearFilters }, icon("close"), t.toolbar.clear));
    // From inside, f closes what it opened; in a field for words it is a letter.
    this.filters.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.key !== "f" && event.key !== "Escape") || (event.key === "f" && [this.tag, this.camera].some((one) => one === event.target))) return;
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
    const active = countFilters(state);
    this.open.lastElementChild?.replaceChildren(active ? t.toolbar.filterN(active) : t.toolbar.filter);
    fill(this.chips, ...filterChips(state));
    for (const input of [this.tag, this.camera, this.after, this.before]) {
      const value = state[/** @type {FieldName} */ (input.id)];
      if (document.activeElement !== input) input.value = value;
    }
    this.folder.value = state.folder;
    this.stars.value = state.stars;
    this.#chooseAlbum();
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

  /** Albums and cameras, where somebody is about to choose one. */
  async #loadChoices() {
    try {
      const [{ items: albums }, { items: cameras }] = await Promise.all([api.albums(), api.cameras()]);
      fill(this.cameras, ...cameras.map((one) => h("option", { value: one.camera })));
      fill(this.album, h("option", { value: "" }, t.toolbar.any), ...albums.map((one) => h("option", { value: one.name }, one.name)));
      this.#chooseAlbum();
    } catch (error) {
      complain(error);
    }
  }

  #chooseAlbum() {
    const wanted = this.state?.album ?? "";
    // One that is not there any more is shown as what is asked for.
    if (![...this.album.options].some((one) => one.value === wanted)) this.album.append(h("option", { value: wanted }, wanted));
    this.album.value = wanted;
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
    if (!open) return;
    this.folder.focus();
    this.#loadChoices();
  }

  #sorted() {
    const [sort, order = ""] = this.sort.value.split(" ");
    const usual = this.sort.value === "score" || this.sort.value === "date desc";
    go(usual ? sorting("", "") : sorting(sort, order));
  }
}

/** @param {string} id @param {string} label @param {HTMLElement} input */
const field = (id, label, input) => h("div", { class: "field" }, h("label", { for: id }, label), input);

/** @param {State|null} state */
export function toggleDates(state) {
  if (state) go({ dates: !state.dates }, { replace: true });
}
