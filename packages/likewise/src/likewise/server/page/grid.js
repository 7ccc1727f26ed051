// The grid: only rows in sight (and a screen around them) are in the document, whatever the number
// of results.  Pages of results are fetched as they come into sight; a page that is not there yet
// has the height of typical pictures, and the place one looks at is held when it arrives.

import { calm, h } from "./dom.js";
import { aspect, justify } from "./layout.js";
import { rowScale } from "./settings.js";
import { t } from "./texts.js";
import { Tile } from "./tile.js";

/** @typedef {import("./types.js").Item} Item */
/**
 * Where items come from.
 * @typedef {object} Source
 * @property {number} total
 * @property {boolean} asked whether these are answers to a query
 * @property {boolean} judged whether they can be judged
 * @property {string} own the asked picture's id, or ""
 * @property {Map<number, Item[]>} pages those that are there
 * @property {(page: number) => Promise<void>} fetch bring one more into ``pages``
 * @property {{count: number, title?: string, more?: string}[]} [parts] pages of other sizes than PAGE, with headings
 */
/** @typedef {{start: number, count: number, title: string, more: string, known: boolean, top: number, height: number, rows: import("./layout.js").Row[]}} Chunk */

export const PAGE = 200;
const GAP = 4;
const HEAD = 52; // pixels of a heading
const MOVE = { duration: 460, easing: "cubic-bezier(.22,.75,.25,1)" };

export class Grid {
  /** @param {import("./tile.js").TileActions} actions */
  constructor(actions) {
    this.actions = actions;
    this.el = h("div", { class: "grid", role: "grid", "aria-label": t.search.results, "aria-readonly": "true" });
    /** @type {Source|null} */
    this.source = null;
    /** @type {Chunk[]} */
    this.chunks = [];
    /** @type {Map<string, HTMLElement>} rows in the document, by chunk and number */
    this.rows = new Map();
    /** @type {Map<number, HTMLElement>} headings in the document, by chunk */
    this.heads = new Map();
    /** @type {Map<string, Tile>} tiles in the document, by picture */
    this.tiles = new Map();
    this.active = 0;
    this.width = 0;
    /** @type {(error: unknown) => void} */
    this.onError = () => {};
    /** @type {(tile: Tile) => void} told of every tile that comes into the document */
    this.onTile = () => {};
    /** @type {Set<number>} */
    this.wanted = new Set();
    this.queued = false;
    this.loading = 0;
    this.lastScroll = 0;
    addEventListener("scroll", () => this.queue(), { passive: true });
    addEventListener("resize", () => this.queue());
    new ResizeObserver(() => this.#resized()).observe(this.el);
    this.el.addEventListener("keydown", (event) => this.#key(event));
    this.el.addEventListener("focusin", (event) => {
      const tile = this.tileOf(event.target);
      if (tile && event.target === tile.link) this.#activate(this.indexOf(tile.item.id));
    });
  }

  // -- contents -----------------------------------------------------------------------------

  /**
   * @param {Source} source
   * @param {{move?: boolean, scroll?: number|null}} [how] move: let pictures glide to their new
   *   places; scroll: where the page was when it was left
   */
  show(source, { move = false, scroll = null } = {}) {
    const before = move ? this.#rects() : null;
    const focused = this.#focused();
    this.source = source;
    this.wanted.clear();
    this.el.classList.toggle("asked", source.asked);
    this.#layout();
    // The keyboard stays at its place, not with its picture: one goes on judging from there.
    if (!move) this.active = 0;
    this.#forget(move);
    if (scroll !== null) scrollTo(0, scroll);
    this.render();
    if (focused) this.#focusActive(false);
    if (before && !calm()) this.#glide(before);
  }

  /** Take all pictures away. */
  clear() {
    this.source = null;
    this.chunks = [];
    this.#forget(false);
    this.el.style.height = "0";
  }

  /** @param {boolean} keepTiles to be used again in other places */
  #forget(keepTiles) {
    for (const row of [...this.rows.values(), ...this.heads.values()]) row.remove();
    this.rows.clear();
    this.heads.clear();
    if (!keepTiles) this.tiles.clear();
  }

  // -- looking things up --------------------------------------------------------------------

  /** @param {number} index @returns {Item|null} */
  item(index) {
    const page = this.pageOf(index);
    return page < 0 ? null : this.source?.pages.get(page)?.[index - this.chunks[page].start] ?? null;
  }

  /** Which page a picture is on. @param {number} index @returns {number} -1: none */
  pageOf(index) {
    let [low, high] = [0, this.chunks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.chunks[middle].start <= index) low = middle;
      else high = middle - 1;
    }
    return index >= 0 && high >= 0 ? low : -1;
  }

  /** The first picture of the row at the top of the window; -1: none. */
  indexInSight() {
    return this.#firstInSight()?.index ?? -1;
  }

  /** Scroll to a picture's row, or to the heading above it. @param {number} index */
  jump(index) {
    const chunk = this.chunks[this.pageOf(index)];
    if (!chunk) return;
    const top = index === chunk.start ? this.#offset() + chunk.top : this.#topOf(index);
    scrollTo(0, top - this.#header() - 4);
  }

  /** @param {string} id @returns {number} -1 where it is not among the pages that are there */
  indexOf(id) {
    for (const [page, items] of this.source?.pages ?? []) {
      const at = items.findIndex((item) => item.id === id);
      if (at >= 0) return (this.chunks[page]?.start ?? 0) + at;
    }
    return -1;
  }

  /** @param {EventTarget|null} target @returns {Tile|null} */
  tileOf(target) {
    const el = target instanceof Element ? target.closest(".tile") : null;
    for (const tile of this.tiles.values()) if (tile.el === el) return tile;
    return null;
  }

  /** The picture the keyboard or, without it, the mouse is on. */
  pointed() {
    const tile = this.tileOf(document.activeElement) ?? this.tileOf(this.el.querySelector(".tile:hover"));
    return tile?.item ?? null;
  }

  #focused() {
    return this.el.contains(document.activeElement) ? this.tileOf(document.activeElement)?.item.id ?? null : null;
  }

  // -- layout -------------------------------------------------------------------------------

  #wantedHeight() {
    return (this.width < 520 ? 116 : this.width < 900 ? 150 : this.width < 1500 ? 178 : 200) * rowScale();
  }

  #layout() {
    this.width = this.el.clientWidth;
    const total = this.source?.total ?? 0;
    this.chunks = [];
    const parts = this.source?.parts ?? Array.from({ length: Math.ceil(total / PAGE) }, (_, i) => ({ count: Math.min(PAGE, total - i * PAGE), title: "", more: "" }));
    let start = 0;
    for (const { count, title = "", more = "" } of parts) {
      this.chunks.push({ start, count, title, more, known: false, top: 0, height: 0, rows: [] });
      start += count;
    }
    this.chunks.forEach((_, page) => this.#layChunk(page));
    this.#stack();
  }

  /** @param {number} page */
  #layChunk(page) {
    const chunk = this.chunks[page];
    const items = this.source?.pages.get(page);
    chunk.known = Boolean(items);
    const aspects = Array.from({ length: chunk.count }, (_, i) => aspect(items?.[i] ?? null, i));
    const next = this.chunks[page + 1];
    const last = !next || next.title !== "";
    const laid = justify(aspects, Math.max(this.width, 100), this.#wantedHeight(), GAP, last);
    const head = chunk.title ? HEAD : 0;
    for (const row of laid.rows) row.top += head;
    chunk.rows = laid.rows;
    chunk.height = laid.height + head;
  }

  #stack() {
    let top = 0;
    let rows = 0;
    for (const chunk of this.chunks) {
      chunk.top = top;
      top += chunk.height;
      rows += chunk.rows.length;
    }
    this.el.style.height = `${top}px`;
    this.el.setAttribute("aria-rowcount", String(rows));
  }

  #resized() {
    if (!this.source || Math.abs(this.el.clientWidth - this.width) < 1) return;
    const held = this.#firstInSight();
    const focused = this.#focused();
    this.#layout();
    this.#redraw(scrollY > 0 ? held : null, focused);
  }

  /**
   * Draw rows again, with the same row in sight and the keyboard where it was.
   * @param {{index: number, off: number}|null} held
   * @param {string|null} focused
   * @param {number} [from] the first chunk that moved
   */
  #redraw(held, focused, from = 0) {
    for (const [key, row] of this.rows) {
      if (parseInt(key, 10) < from) continue;
      row.remove();
      this.rows.delete(key);
    }
    for (const [page, el] of this.heads) {
      if (page < from) continue;
      el.remove();
      this.heads.delete(page);
    }
    if (held) scrollTo(0, this.#topOf(held.index) + held.off);
    this.render();
    if (focused) this.#focusActive(false);
  }

  #offset() {
    return this.el.getBoundingClientRect().top + scrollY;
  }

  /** Where a picture's row begins in the page. @param {number} index */
  #topOf(index) {
    const { chunk, row } = this.#rowOf(index);
    return this.#offset() + chunk.top + row.top;
  }

  /** @param {number} index */
  #rowOf(index) {
    const chunk = this.chunks[Math.max(0, this.pageOf(index))];
    const within = index - chunk.start;
    let at = chunk.rows.length - 1;
    while (at > 0 && chunk.rows[at].first > within) at -= 1;
    return { chunk, row: chunk.rows[at], at };
  }

  /** The first row in sight below the header, and how far the page is scrolled past its top. */
  #firstInSight(offset = this.#offset(), header = this.#header()) {
    const line = scrollY + header - offset;
    for (const chunk of this.chunks) {
      if (chunk.top + chunk.height < line) continue;
      for (const row of chunk.rows) {
        if (chunk.top + row.top + row.height >= line) {
          return { index: chunk.start + row.first, off: scrollY - offset - chunk.top - row.top };
        }
      }
    }
    return null;
  }

  #header() {
    return document.querySelector(".top")?.getBoundingClientRect().height ?? 0;
  }

  // -- drawing ------------------------------------------------------------------------------

  queue() {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      this.render();
    });
  }

  render() {
    if (!this.source || !this.el.isConnected) return;
    // Measured before anything is changed: afterwards the browser would have to lay out twice.
    const offset = this.#offset();
    const header = this.#header();
    const from = scrollY - offset - innerHeight * 0.8;
    const to = scrollY - offset + innerHeight * 1.8;
    /** @type {Set<string>} */
    const keep = new Set();
    const focused = this.#focused();
    const kept = focused ? this.#keyOf(this.indexOf(focused)) : "";
    let before = 0;
    this.chunks.forEach((chunk, c) => {
      const inSight = chunk.top + chunk.height >= from && chunk.top <= to;
      if (inSight && !chunk.known) this.#want(c);
      if (chunk.title) this.#head(c, chunk, inSight, before);
      chunk.rows.forEach((row, r) => {
        const key = `${c}:${r}`;
        const near = inSight && chunk.top + row.top + row.height >= from && chunk.top + row.top <= to;
        if (near || key === kept) {
          keep.add(key);
          if (!this.rows.has(key)) this.#drawRow(key, chunk, row, before + r);
        }
      });
      before += chunk.rows.length;
    });
    for (const [key, el] of this.rows) {
      if (keep.has(key)) continue;
      el.remove();
      this.rows.delete(key);
    }
    for (const [id, tile] of this.tiles) {
      if (tile.el.isConnected) continue;
      tile.img.removeAttribute("src"); // also ends a request nobody waits for any more
      this.tiles.delete(id);
    }
    if (!focused && !this.#link(this.active)) this.#activate(this.#firstInSight(offset, header)?.index ?? 0);
    this.#rove();
    this.#loadSoon();
  }

  /** @param {number} index */
  #keyOf(index) {
    if (index < 0 || !this.chunks.length) return "";
    return `${this.pageOf(index)}:${this.#rowOf(index).at}`;
  }

  /**
   * A heading, where its pictures are in sight.
   * @param {number} page
   * @param {Chunk} chunk
   * @param {boolean} inSight
   * @param {number} number of the first row below it
   */
  #head(page, chunk, inSight, number) {
    const old = this.heads.get(page);
    if (!inSight) {
      old?.remove();
      this.heads.delete(page);
    } else if (!old) {
      const el = h("div", { class: "row head", role: "row" },
        h("div", { role: "rowheader" }, h("h2", {}, chunk.title), h("span", { class: "soft" }, chunk.more)));
      el.style.top = `${chunk.top}px`;
      el.style.height = `${HEAD}px`;
      const next = [...this.el.children].find((other) => Number(other.getAttribute("aria-rowindex")) > number);
      this.el.insertBefore(el, next ?? null);
      this.heads.set(page, el);
    }
  }

  /**
   * @param {string} key
   * @param {Chunk} chunk
   * @param {import("./layout.js").Row} row
   * @param {number} number of the row in the whole grid
   */
  #drawRow(key, chunk, row, number) {
    const el = h("div", { class: "row", role: "row", "aria-rowindex": number + 1 });
    el.style.top = `${chunk.top + row.top}px`;
    el.style.height = `${row.height}px`;
    row.left.forEach((left, i) => {
      const index = chunk.start + row.first + i;
      const item = this.item(index);
      if (!item) {
        const box = h("div", { class: "tile waiting", role: "gridcell", "aria-label": t.loading });
        box.style.left = `${left}px`;
        box.style.width = `${row.width[i]}px`;
        box.style.height = `${row.height}px`;
        el.append(box);
        return;
      }
      const tile = this.tiles.get(item.id) ?? new Tile(item, this.actions);
      this.tiles.set(item.id, tile);
      tile.update(item, index, Boolean(this.source?.judged), item.id === this.source?.own);
      tile.place(left, row.width[i], row.height);
      this.onTile(tile);
      tile.el.setAttribute("aria-colindex", String(i + 1));
      el.append(tile.el);
    });
    // In reading order, also where a screen reader goes through the document.
    const next = [...this.el.children].find((other) => Number(other.getAttribute("aria-rowindex")) > number + 1);
    this.el.insertBefore(el, next ?? null);
    this.rows.set(key, el);
  }

  /** Pictures load when the scrolling pauses, so that a long throw asks for none it passes. */
  #loadSoon() {
    clearTimeout(this.loading);
    const load = () => {
      for (const tile of this.tiles.values()) tile.load();
    };
    const speed = Math.abs(scrollY - this.lastScroll);
    this.lastScroll = scrollY;
    if (speed > innerHeight / 2) this.loading = setTimeout(load, 90);
    else load();
  }

  /** @param {number} page */
  async #want(page) {
    const { source } = this;
    if (!source || this.wanted.has(page)) return;
    this.wanted.add(page);
    // A page that was only passed by is not asked for.
    await new Promise((done) => setTimeout(done, 60));
    const chunk = this.chunks[page];
    if (source !== this.source || !chunk) return;
    const top = this.#offset() + chunk.top;
    if (top > scrollY + innerHeight * 2 || top + chunk.height < scrollY - innerHeight) {
      this.wanted.delete(page);
      return;
    }
    try {
      await source.fetch(page);
    } catch (error) {
      this.wanted.delete(page);
      if (source === this.source) this.onError(error);
      return;
    }
    if (source === this.source) this.#arrived(page);
  }

  /** @param {number} page */
  #arrived(page) {
    const held = this.#firstInSight();
    const focused = this.#focused();
    const chunk = this.chunks[page];
    if (!chunk) return;
    this.#layChunk(page);
    this.#stack();
    this.#redraw(scrollY > this.#offset() ? held : null, focused, page);
  }

  // -- moving -------------------------------------------------------------------------------

  #rects() {
    /** @type {Map<string, DOMRect>} */
    const rects = new Map();
    for (const [id, tile] of this.tiles) {
      const rect = tile.el.getBoundingClientRect();
      if (rect.bottom > 0 && rect.top < innerHeight) rects.set(id, rect);
    }
    return rects;
  }

  /** @param {Map<string, DOMRect>} before */
  #glide(before) {
    for (const [id, tile] of this.tiles) {
      const rect = tile.el.getBoundingClientRect();
      if (rect.bottom < 0 || rect.top > innerHeight) continue;
      const old = before.get(id);
      if (!old) {
        tile.el.animate([{ opacity: 0, transform: "scale(.94)" }, { opacity: 1, transform: "none" }], MOVE);
        continue;
      }
      const dx = old.left - rect.left;
      const dy = old.top - rect.top;
      if (!dx && !dy) continue;
      const size = `scale(${old.width / rect.width}, ${old.height / rect.height})`;
      tile.el.animate([{ transform: `translate(${dx}px, ${dy}px) ${size}`, zIndex: 1 }, { transform: "none", zIndex: 1 }], MOVE);
    }
  }

  // -- the keyboard -------------------------------------------------------------------------

  /** @param {number} index */
  #link(index) {
    const item = this.item(index);
    return item ? this.tiles.get(item.id)?.link ?? null : null;
  }

  /** @param {number} index */
  #activate(index) {
    if (index < 0) return;
    this.active = index;
    this.#rove();
  }

  /** Exactly one picture can be reached with the tab key. */
  #rove() {
    const here = this.#link(this.active);
    for (const tile of this.tiles.values()) tile.link.tabIndex = tile.link === here ? 0 : -1;
  }

  /** @param {boolean} [scroll] */
  #focusActive(scroll = true) {
    const total = this.source?.total ?? 0;
    if (!total) return;
    this.active = Math.max(0, Math.min(this.active, total - 1));
    if (scroll) this.#reveal(this.active);
    this.render();
    const link = this.#link(this.active);
    link?.focus({ preventScroll: true });
    this.#rove();
  }

  /** Put the keyboard on a picture. */
  focus(index = this.active) {
    this.active = index;
    this.#focusActive();
  }

  /** @param {number} index */
  #reveal(index) {
    const { row } = this.#rowOf(index);
    const top = this.#topOf(index);
    const low = scrollY + this.#header() + 12;
    const high = scrollY + innerHeight - (innerWidth < 640 ? 76 : 16);
    if (top < low) scrollTo(0, top - this.#header() - 12);
    else if (top + row.height > high) scrollTo(0, top + row.height - innerHeight + (innerWidth < 640 ? 76 : 16));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const tile = this.tileOf(event.target);
    if (!tile || event.target !== tile.link || event.altKey || event.metaKey) return;
    const next = this.#next(event.key, event.ctrlKey);
    if (next === null) return;
    event.preventDefault();
    this.active = Math.max(0, Math.min(next, (this.source?.total ?? 1) - 1));
    this.#focusActive();
  }

  /**
   * @param {string} key
   * @param {boolean} ctrl
   * @returns {number|null} the picture a key leads to
   */
  #next(key, ctrl) {
    const index = this.active;
    const total = this.source?.total ?? 0;
    if (key === "ArrowRight") return index + 1;
    if (key === "ArrowLeft") return index - 1;
    if (key === "ArrowDown") return this.#vertical(index, 1);
    if (key === "ArrowUp") return this.#vertical(index, -1);
    const { chunk, row } = this.#rowOf(index);
    if (key === "Home") return ctrl ? 0 : chunk.start + row.first;
    if (key === "End") return ctrl ? total - 1 : chunk.start + row.first + row.left.length - 1;
    const screen = Math.max(1, Math.floor((innerHeight - this.#header()) / (this.#wantedHeight() + GAP)) - 1);
    if (key === "PageDown" || key === "PageUp") {
      let at = index;
      for (let i = 0; i < screen; i++) at = this.#vertical(at, key === "PageDown" ? 1 : -1);
      return at;
    }
    return null;
  }

  /**
   * The picture above or below, nearest to the middle of this one.
   * @param {number} index
   * @param {1|-1} step
   */
  #vertical(index, step) {
    const { chunk, row } = this.#rowOf(index);
    const i = index - chunk.start - row.first;
    const middle = row.left[i] + row.width[i] / 2;
    const beyond = step > 0 ? chunk.start + row.first + row.left.length : chunk.start + row.first - 1;
    if (beyond < 0 || beyond >= (this.source?.total ?? 0)) return index;
    const other = this.#rowOf(beyond);
    let best = 0;
    let least = Infinity;
    other.row.left.forEach((left, k) => {
      const off = Math.abs(left + other.row.width[k] / 2 - middle);
      if (off < least) {
        least = off;
        best = k;
      }
    });
    return other.chunk.start + other.row.first + best;
  }
}
