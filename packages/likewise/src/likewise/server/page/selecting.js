// Selecting in the grid: a mode in which a click selects, with Shift a range, and a drag a lasso.
// Outside of it x selects the picture one is on, which turns the mode on; it ends with the selection.

import { h } from "./dom.js";
import { selection } from "./selection.js";

const FAR = 6; // pixels a pointer travels before it is a lasso

export class Selecting {
  /**
   * @param {import("./grid.js").Grid} grid
   * @param {(on: boolean) => void} turned
   */
  constructor(grid, turned) {
    this.grid = grid;
    this.turned = turned;
    this.on = false;
    this.last = -1;
    this.dragged = false;
    this.band = h("div", { class: "band", hidden: true, "aria-hidden": "true" });
    document.body.append(this.band);
    // Before the tiles hear of it: in this mode a click is no question.
    grid.el.addEventListener("click", (event) => this.#click(event), { capture: true });
    grid.el.addEventListener("pointerdown", (event) => this.#down(event));
    // What was selected is dealt with: a click means again what it means elsewhere.
    selection.onChange((ended) => (ended ? this.turn(false) : this.mark()));
  }

  /** @param {boolean} on */
  turn(on) {
    if (on === this.on) {
      this.mark();
      return;
    }
    this.on = on;
    this.last = -1;
    this.grid.el.classList.toggle("selecting", on);
    if (!on) selection.clear();
    this.mark();
    this.turned(on);
  }

  /** Show what is selected on the tiles there are. */
  mark() {
    for (const tile of this.grid.tiles.values()) this.markOne(tile);
  }

  /** @param {import("./tile.js").Tile} tile */
  markOne(tile) {
    const chosen = selection.has(tile.item.id);
    tile.el.classList.toggle("selected", chosen);
    if (this.on) tile.el.setAttribute("aria-selected", String(chosen));
    else tile.el.removeAttribute("aria-selected");
  }

  /** @param {import("./types.js").Item} item @param {boolean} range */
  async pick(item, range) {
    this.turn(true);
    const at = this.grid.indexOf(item.id);
    if (range && this.last >= 0 && at >= 0) {
      const [from, to] = [Math.min(this.last, at), Math.max(this.last, at)];
      this.last = at;
      // Rows between that were never in sight are fetched first: a range has no holes.
      const missing = [];
      for (let page = this.grid.pageOf(from); page <= this.grid.pageOf(to); page++) {
        if (!this.grid.source?.pages.has(page)) missing.push(this.grid.source?.fetch(page));
      }
      await Promise.all(missing);
      const ids = [];
      for (let i = from; i <= to; i++) {
        const one = this.grid.item(i);
        if (one) ids.push(one.id);
      }
      selection.add(ids);
    } else {
      selection.toggle(item.id);
    }
    this.last = at;
  }

  /** @param {MouseEvent} event */
  #click(event) {
    if (!this.on || event.button) return;
    const tile = this.grid.tileOf(event.target);
    if (!tile || (event.target instanceof Element && event.target.closest("button"))) return;
    event.preventDefault();
    event.stopPropagation();
    if (this.dragged) {
      this.dragged = false;
      return;
    }
    this.pick(tile.item, event.shiftKey);
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (!this.on || event.button || event.pointerType === "touch") return; // a finger scrolls
    const from = { x: event.pageX, y: event.pageY };
    // A lasso selects what it touches and nothing else; with Shift that comes to what was selected.
    const before = event.shiftKey || event.ctrlKey || event.metaKey ? selection.parts() : [];
    this.dragged = false;
    /** @param {PointerEvent} now */
    const move = (now) => {
      if (!this.dragged && Math.hypot(now.pageX - from.x, now.pageY - from.y) < FAR) return;
      this.dragged = true;
      now.preventDefault();
      const box = {
        left: Math.min(from.x, now.pageX) - scrollX, right: Math.max(from.x, now.pageX) - scrollX,
        top: Math.min(from.y, now.pageY) - scrollY, bottom: Math.max(from.y, now.pageY) - scrollY,
      };
      this.band.hidden = false;
      Object.assign(this.band.style, {
        left: `${box.left}px`, top: `${box.top}px`, width: `${box.right - box.left}px`, height: `${box.bottom - box.top}px`,
      });
      const caught = [];
      for (const [id, tile] of this.grid.tiles) {
        const at = tile.el.getBoundingClientRect();
        if (at.left < box.right && at.right > box.left && at.top < box.bottom && at.bottom > box.top) caught.push(id);
      }
      selection.set(...before, caught);
    };
    const up = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", up);
      removeEventListener("pointercancel", up);
      this.band.hidden = true;
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
    addEventListener("pointercancel", up);
  }
}
