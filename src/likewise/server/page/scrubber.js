// Beside the timeline: years and months from top to bottom, each as tall as it has pictures; a drag
// or the arrow keys lead there.

import { fill, h } from "./dom.js";
import { monthName } from "./format.js";
import { t } from "./texts.js";

/** @typedef {{month: string, pictures: number}} Month */

const LEAST = 18; // pixels between two years that are named

export class Scrubber {
  /** @param {(month: number) => void} go to the month of this number */
  constructor(go) {
    this.go = go;
    /** @type {Month[]} */
    this.months = [];
    /** @type {number[]} share of all pictures before each month */
    this.from = [];
    this.total = 0;
    this.at = 0;
    this.years = h("div", { class: "scrub-years", "aria-hidden": "true" });
    this.mark = h("div", { class: "scrub-mark", "aria-hidden": "true" });
    this.tip = h("div", { class: "scrub-tip", "aria-hidden": "true", hidden: true });
    this.el = h("div", { class: "scrubber", role: "slider", tabindex: "0", "aria-orientation": "vertical", "aria-label": t.library.month, "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0", hidden: true }, this.years, this.mark, this.tip);
    this.el.addEventListener("pointerdown", (event) => this.#drag(event));
    this.el.addEventListener("pointermove", (event) => this.#hover(event));
    this.el.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
    });
    this.el.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#draw()).observe(this.el);
  }

  /** @param {Month[]} months newest first */
  show(months) {
    this.months = months;
    this.total = 0;
    this.from = months.map((one) => {
      const before = this.total;
      this.total += one.pictures;
      return before;
    });
    this.el.hidden = months.length < 2;
    this.el.setAttribute("aria-valuemax", String(Math.max(0, months.length - 1)));
    this.#draw();
    this.point(0);
  }

  /** The month that is in sight. @param {number} at */
  point(at) {
    this.at = Math.max(0, Math.min(at, this.months.length - 1));
    const one = this.months[this.at];
    if (!one) return;
    this.mark.style.top = `${100 * this.from[this.at] / Math.max(1, this.total)}%`;
    this.el.setAttribute("aria-valuenow", String(this.at));
    this.el.setAttribute("aria-valuetext", t.library.folder(monthName(one.month), one.pictures));
  }

  #draw() {
    const height = this.el.clientHeight;
    /** @type {HTMLElement[]} */
    const made = [];
    let last = -Infinity;
    let year = "";
    this.months.forEach((one, i) => {
      const y = height * this.from[i] / Math.max(1, this.total);
      if (one.month.slice(0, 4) === year) return;
      year = one.month.slice(0, 4);
      if (y - last < LEAST || y > height - LEAST) return;
      last = y;
      const label = h("span", {}, year);
      label.style.top = `${y}px`;
      made.push(label);
    });
    fill(this.years, ...made);
  }

  /** @param {PointerEvent} event */
  #monthAt(event) {
    const box = this.el.getBoundingClientRect();
    const share = Math.max(0, Math.min((event.clientY - box.top) / box.height, 1)) * this.total;
    let at = this.from.findIndex((before) => before > share) - 1;
    if (at < 0) at = this.from.length - 1;
    if (share < (this.from[1] ?? Infinity)) at = 0;
    return at;
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const one = this.months[this.#monthAt(event)];
    if (!one) return;
    this.tip.hidden = false;
    this.tip.textContent = monthName(one.month);
    this.tip.style.top = `${event.clientY - this.el.getBoundingClientRect().top}px`;
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    if (event.button) return;
    event.preventDefault();
    this.el.focus({ preventScroll: true });
    this.el.setPointerCapture(event.pointerId);
    /** @param {PointerEvent} now */
    const move = (now) => {
      const at = this.#monthAt(now);
      if (at !== this.at) this.#to(at);
    };
    const up = () => {
      this.el.removeEventListener("pointermove", move);
      this.tip.hidden = true;
    };
    this.#to(this.#monthAt(event));
    this.el.addEventListener("pointermove", move);
    this.el.addEventListener("pointerup", up, { once: true });
    this.el.addEventListener("pointercancel", up, { once: true });
  }

  /** @param {number} at */
  #to(at) {
    this.point(at);
    this.go(this.at);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#to(Math.max(0, Math.min(this.at + step, this.months.length - 1)));
  }
}
