// The library: folders and albums beside a timeline of all pictures, month by month.

import { api, messageOf } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, icon, settled } from "./dom.js";
import { clearFilters, countFilters, filterChips, filtersOf } from "./filters.js";
import { count, monthName } from "./format.js";
import { FolderTree } from "./folder-tree.js";
import { Grid, PAGE } from "./grid.js";
import { libraryTabs } from "./library-tabs.js";
import * as live from "./live.js";
import { undoing } from "./actions.js";
import { askForAlbum, mark, onMarked, takeFromAlbum } from "./marks.js";
import { Scrubber } from "./scrubber.js";
import { empty } from "./search.js";
import { Selecting } from "./selecting.js";
import { selection } from "./selection.js";
import { asking, current, go, hrefFor, open } from "./state.js";
import { t } from "./texts.js";
import { title } from "./title.js";
import { complain, toast } from "./toast.js";
import { Viewer } from "./viewer.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./types.js").LibraryPicture} LibraryPicture */
/** @typedef {import("./types.js").Item} Item */
/** @typedef {import("./types.js").Shapes["MonthOut"]} Month */

export class LibraryView {
  constructor() {
    this.grid = new Grid({
      href: (item) => hrefFor({ look: item.id }),
      ask: (item) => open({ look: item.id }),
      look: (item) => open({ look: item.id }),
      why: () => {},
      judge: () => {},
    });
    this.grid.onError = complain;
    this.grid.el.classList.add("timeline");
    this.look = new Viewer({
      view: "library",
      neighbour: (step) => this.#neighbour(step),
      find: (id) => this.grid.item(this.grid.indexOf(id)),
      judge: async () => {},
    });
    this.tree = new FolderTree((folder) => go({ folder }));
    this.scrubber = new Scrubber((picture) => this.grid.jump(picture));
    this.select = h("button", { type: "button", class: "quiet small", "aria-pressed": "false", onclick: () => this.selecting.turn(!this.selecting.on) }, icon("select"), h("span", {}, t.toolbar.select));
    this.selecting = new Selecting(this.grid, (on) => this.select.setAttribute("aria-pressed", String(on)));
    this.grid.onTile = (tile) => {
      this.selecting.markOne(tile);
    };
    this.heading = h("h1", {}, t.library.title);
    this.said = h("span", { class: "soft", role: "status" });
    this.favourite = h("button", { type: "button", class: "quiet small", onclick: () => go({ favourite: !current().favourite }) }, icon("heart"), h("span", {}, t.library.favourites));
    this.stars = h("select", { "aria-label": t.library.stars, onchange: () => go({ stars: this.stars.value }) },
      h("option", { value: "" }, t.library.anyStars), ...[1, 2, 3, 4, 5].map((n) => h("option", { value: String(n) }, t.library.atLeast(n))));
    this.hidden = h("select", { "aria-label": t.library.hidden, onchange: () => go({ hidden: this.hidden.value }) },
      ...t.library.hiddenWays.map(([value, said]) => h("option", { value }, said)));
    this.chips = h("span", { class: "chips" });
    this.albums = h("ul", { class: "album-list", "aria-label": t.library.albums });
    this.state = h("div", { class: "state" });
    this.side = h("details", { class: "library-side", open: innerWidth > 900 }, h("summary", {}, t.library.side),
      h("section", {}, h("h2", {}, t.library.folders), this.tree.el), h("section", {}, h("h2", {}, t.library.albums), this.albums));
    this.el = h("div", { class: "library" },
      h("header", { class: "library-head" },
        h("div", { class: "what" }, this.heading, this.said, this.chips), libraryTabs("library"),
        h("div", { class: "how" }, this.favourite, this.stars, this.hidden, this.select)),
      this.side,
      h("section", { class: "library-pictures", "aria-label": t.library.byMonth }, this.state, this.grid.el),
      this.scrubber.el);
    /** @type {Month[]} */
    this.months = [];
    /** @type {number[]} the month of each part */
    this.monthOf = [];
    this.key = "";
    this.turn = 0;
    onMarked((states) => this.#marked(states));
    live.on("changed", settled(() => {
      if (this.el.isConnected) this.#load(current(), true);
    }, 900, 3000));
    addEventListener("scroll", () => {
      if (!this.el.isConnected) return;
      const at = this.grid.indexInSight();
      if (at >= 0 && document.activeElement !== this.scrubber.el) this.scrubber.point(at);
    }, { passive: true });
    addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {1|-1} step */
  async #neighbour(step) {
    const at = this.grid.indexOf(current().look);
    const { source } = this.grid;
    const next = at + step;
    if (at < 0 || !source || next < 0 || next >= source.total) return null;
    const page = this.grid.pageOf(next);
    if (!source.pages.has(page)) await source.fetch(page);
    return this.grid.item(next)?.id ?? null;
  }

  /**
   * @param {State} state
   * @param {State|null} before
   * @param {number|null} scroll
   */
  async show(state, before, scroll) {
    title(t.library.title);
    this.grid.el.classList.toggle("dates", state.dates);
    this.look.show(state);
    this.tree.mark(state.folder);
    this.favourite.setAttribute("aria-pressed", String(state.favourite));
    this.stars.value = state.stars;
    this.hidden.value = state.hidden;
    fill(this.chips, ...filterChips(state, ["favourite", "stars", "hidden"]));
    const key = JSON.stringify(filtersOf(state));
    if (key === this.key && before?.view === "library") {
      if (scroll !== null) scrollTo(0, scroll);
      this.grid.render();
      return;
    }
    this.key = key;
    await this.#load(state, false, scroll);
  }

  /**
   * @param {State} state
   * @param {boolean} again the same, which may have changed
   * @param {number|null} [scroll]
   */
  async #load(state, again, scroll = null) {
    const turn = ++this.turn;
    const filters = filtersOf(state);
    if (!again) {
      this.grid.clear();
      fill(this.state, h("p", { class: "empty", role: "status" }, t.loadingNow));
    }
    try {
      // Folders are counted without the folder that is chosen: one goes from one to another.
      const { folder: _, ...others } = filters;
      const [{ total, items }, { items: folders }, { items: albums }] = await Promise.all([api.months(filters), api.folders(others), api.albums()]);
      if (turn !== this.turn) return;
      this.tree.show(folders);
      this.#showAlbums(albums, state);
      this.said.textContent = t.pictures(total);
      if (again && JSON.stringify(items) === JSON.stringify(this.months)) return;
      this.#present(items, total, filters, again ? scrollY : scroll ?? 0);
      fill(this.state, !total && this.#nothing(state));
    } catch (error) {
      if (turn !== this.turn) return;
      this.grid.clear();
      fill(this.state, empty(t.failed, messageOf(error), t.tryAgain, () => this.#load(current(), false), true));
    }
  }

  /** @param {State} state */
  #nothing(state) {
    if (!countFilters(state)) return empty(t.library.none, t.library.noneHow, t.addFolder, () => go({ view: "collection" }));
    return empty(t.search.filtered, t.library.filteredHow, t.search.clearFilters, clearFilters);
  }

  /**
   * @param {Month[]} months
   * @param {number} total
   * @param {import("./api.js").LibraryFilters} filters
   * @param {number} scroll
   */
  #present(months, total, filters, scroll) {
    this.months = months;
    this.monthOf = [];
    /** @type {{count: number, title: string, more: string, offset: number}[]} */
    const parts = [];
    months.forEach((one, at) => {
      for (let offset = 0; offset < one.pictures; offset += PAGE) {
        this.monthOf.push(at);
        parts.push({ count: Math.min(PAGE, one.pictures - offset), title: offset ? "" : monthName(one.month), more: offset ? "" : aboutMonth(one), offset });
      }
    });
    /** @type {Map<number, Item[]>} */
    const pages = new Map();
    this.grid.show({
      total, asked: false, judged: false, own: "", parts, pages,
      fetch: async (page) => {
        const { items } = await api.month(months[this.monthOf[page]].month, { ...filters, offset: parts[page].offset, limit: parts[page].count });
        pages.set(page, items);
      },
    }, { scroll });
    this.scrubber.show(months);
  }

  /** @param {{name: string, pictures: number, cover: import("./types.js").Picture|null}[]} albums @param {State} state */
  #showAlbums(albums, state) {
    if (!albums.length) {
      fill(this.albums, h("li", { class: "soft" }, t.library.noAlbums));
      return;
    }
    fill(this.albums, ...albums.map((one) => {
      const chosen = one.name === state.album;
      return h("li", {}, h("button", { type: "button", class: "quiet folder-name", "aria-pressed": String(chosen), "aria-label": t.library.album(one.name, one.pictures), onclick: () => go({ album: chosen ? "" : one.name }) },
        h("span", {}, one.name), h("span", { class: "soft" }, count(one.pictures))),
      chosen && h("button", { type: "button", class: "quiet small", "data-needs": "judge", "aria-label": t.library.renameAlbum(one.name), onclick: () => this.#askName(one.name) }, t.library.rename),
      chosen && h("button", { type: "button", class: "quiet small", "data-needs": "judge", onclick: () => this.#deleteAlbum(one.name) }, t.models.delete));
    }));
  }

  /** @param {string} name of an album that is to have another */
  #askName(name) {
    const made = dialog(t.library.renameAlbum(name), "album-dialog", () => {});
    const input = h("input", { type: "text", id: "album-name", maxlength: "100", autocomplete: "off", required: true, value: name });
    const form = h("form", {}, h("div", { class: "field" }, h("label", { for: "album-name" }, t.library.newName), input),
      h("p", { class: "buttons" }, h("button", { class: "main" }, t.save), h("button", { type: "button", onclick: () => made.close() }, t.cancel)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      made.close();
      this.#renameAlbum(name, input.value.trim());
    });
    made.body.append(form);
    input.select();
  }

  /** @param {string} name @param {string} next */
  async #renameAlbum(name, next) {
    if (!next || next === name) return;
    try {
      await api.renameAlbum(name, next);
      go({ album: next });
      toast(t.library.albumRenamed(next), { label: t.undo, act: () => this.#renameAlbum(next, name) });
    } catch (error) {
      complain(error);
    }
  }

  /** @param {string} name */
  async #deleteAlbum(name) {
    try {
      const { action } = await api.deleteAlbum(name);
      go({ album: "" });
      toast(t.library.albumDeleted(name), undoing(action));
    } catch (error) {
      complain(error);
    }
  }

  /** What the server knows of the pictures that are here, whose places stay as they are. */
  async #askMarks() {
    const { source } = this.grid;
    if (!source || !this.el.isConnected) {
      this.key = "";
      return;
    }
    try {
      await Promise.all([...source.pages.keys()].map((page) => source.fetch(page)));
    } catch (error) {
      complain(error);
    }
    if (this.grid.source !== source) return;
    const items = /** @type {LibraryPicture[]} */ ([...source.pages.values()].flat());
    this.#marked(new Map(items.map(({ id, stars, favourite, hidden }) => [id, { stars, favourite, hidden }])));
  }

  /** @param {Map<string, import("./marks.js").Change>|null} states null: some, as the server knows */
  #marked(states) {
    if (!states) {
      this.#askMarks();
      return;
    }
    for (const items of this.grid.source?.pages.values() ?? []) {
      for (const item of items) Object.assign(item, states.get(item.id) ?? {});
    }
    for (const tile of this.grid.tiles.values()) {
      Object.assign(tile.item, states.get(tile.item.id) ?? {});
      tile.update(tile.item, 0, false, false);
    }
    if (!this.el.isConnected) {
      this.key = "";
      return;
    }
    this.#load(current(), true);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (current().view !== "library" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const { target } = event;
    if (target instanceof HTMLElement && target.matches("input, textarea, select, [role=slider]")) return;
    const item = /** @type {LibraryPicture|null} */ (this.grid.pointed());
    const pictures = selection.size ? selection.ids() : item ? [item.id] : [];
    if (event.key === "s") this.selecting.turn(!this.selecting.on);
    else if (event.key === "d") go({ dates: !current().dates }, { replace: true });
    else if (event.key === "Escape" && this.selecting.on) this.selecting.turn(false);
    else if (!pictures.length) return;
    else if (/^[0-5]$/.test(event.key)) mark(pictures, { stars: Number(event.key) });
    else if (event.key === "v") mark(pictures, { favourite: !(item && pictures.length === 1 && item.favourite) });
    else if (event.key === "h") mark(pictures, { hidden: !(item && pictures.length === 1 && item.hidden) });
    else if (event.key === "b") askForAlbum(pictures);
    else if (event.key === "Delete" && current().album) takeFromAlbum(current().album, pictures);
    else if (event.key === "o" && item) open({ look: item.id });
    else if (event.key === "f" && item) go(asking({ q: item.id }));
    else if ((event.key === "x" || event.key === "X") && item) this.selecting.pick(item, event.key === "X");
    else return;
    event.preventDefault();
  }
}

/** How many there are, and for how many their month is a guess. @param {Month} one */
function aboutMonth(one) {
  const certain = one.pictures - one.by_name - one.by_file;
  const said = certain || (one.by_name && one.by_file) ? [count(one.pictures)] : [];
  if (one.by_name) said.push(t.library.dated(one.by_name, "name"));
  if (one.by_file) said.push(t.library.dated(one.by_file, "file"));
  return said.join(" · ");
}
