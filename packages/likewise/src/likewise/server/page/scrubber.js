// Beside the timeline: years and months from top to bottom, each as tall as it has pictures, and the
// days of a big month; a drag or the arrow keys lead there.

import { fill, h } from "./dom.js";
import { dayName, dayNumber, monthName, monthShort } from "./format.js";
import { t } from "./texts.js";

/** @typedef {{month: string, pictures: number, days: {day: number, pictures: number}[]}} Month */
/** A month, or a day of a big one; ``from``: pictures before it. @typedef {{month: number, day: string, pictures: number, from: number}} Step */

const LEAST = 18; // pixels between two labels

export class Scrubber {
  /** @param {(picture: number, month: number) => void} go to the picture of this number, in the month of this number */
  constructor(go) {
    this.go = go;
    /** @type {Month[]} */
    this.months = [];
    /** @type {Step[]} newest first */
    this.steps = [];
    this.total = 0;
    this.at = 0;
    this.labels = h("div", { class: "scrub-years", "aria-hidden": "true" });
    this.mark = h("div", { class: "scrub-mark", "aria-hidden": "true" });
    this.tip = h("div", { class: "scrub-tip", "aria-hidden": "true", hidden: true });
    this.el = h("div", { class: "scrubber", role: "slider", tabindex: "0", "aria-orientation": "vertical", "aria-label": t.library.month, "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0", hidden: true }, this.labels, this.mark, this.tip);
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
    this.steps = [];
    this.total = 0;
    months.forEach((one, month) => {
      const parts = one.days.length ? one.days.map(({ day, pictures }) => ({ day: `${one.month}-${String(day).padStart(2, "0")}`, pictures })) : [{ day: "", pictures: one.pictures }];
      for (const { day, pictures } of parts) {
        this.steps.push({ month, day, pictures, from: this.total });
        this.total += pictures;
      }
    });
    this.el.hidden = this.steps.length < 2;
    this.el.setAttribute("aria-valuemax", String(Math.max(0, this.steps.length - 1)));
    this.#draw();
    this.#point(0);
  }

  /** The picture that is in sight. @param {number} picture */
  point(picture) {
    this.#point(this.#stepOf(picture));
  }

  /** @param {number} at */
  #point(at) {
    this.at = Math.max(0, Math.min(at, this.steps.length - 1));
    const one = this.steps[this.at];
    if (!one) return;
    this.mark.style.top = `${100 * one.from / Math.max(1, this.total)}%`;
    this.el.setAttribute("aria-valuenow", String(this.at));
    this.el.setAttribute("aria-valuetext", t.library.folder(this.#name(one), one.pictures));
  }

  /** @param {Step} one */
  #name(one) {
    return one.day ? dayName(one.day) : monthName(this.months[one.month].month);
  }

  /** Years; the months where there is one year, the days where there is one month. */
  #draw() {
    const height = this.el.clientHeight;
    const [first, last] = [this.months[0]?.month ?? "", this.months.at(-1)?.month ?? ""];
    const one = first === last ? "day" : first.slice(0, 4) === last.slice(0, 4) ? "month" : "year";
    /** @type {HTMLElement[]} */
    const made = [];
    let above = -Infinity;
    let before = "";
    for (const { month, day, from } of this.steps) {
      const y = height * from / Math.max(1, this.total);
      const name = this.months[month].month;
      const said = one === "year" ? name.slice(0, 4) : one === "month" ? monthShort(name) : dayNumber(day);
      if (said === before || y - above < LEAST || y > height - LEAST) continue;
      above = y;
      before = said;
      const label = h("span", {}, said);
      label.style.top = `${y}px`;
      made.push(label);
    }
    fill(this.labels, ...made);
  }

  /** The step that a picture is in. @param {number} picture */
  #stepOf(picture) {
    let [low, high] = [0, Math.max(0, this.steps.length - 1)];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.steps[middle].from <= picture) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** @param {PointerEvent} event */
  #stepAt(event) {
    const box = this.el.getBoundingClientRect();
    return this.#stepOf(Math.max(0, Math.min((event.clientY - box.top) / box.height, 1)) * this.total);
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const one = this.steps[this.#stepAt(event)];
    if (!one) return;
    this.tip.hidden = false;
    this.tip.textContent = this.#name(one);
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
      const at = this.#stepAt(now);
      if (at !== this.at) this.#to(at);
    };
    const up = () => {
      this.el.removeEventListener("pointermove", move);
      this.tip.hidden = true;
    };
    this.#to(this.#stepAt(event));
    this.el.addEventListener("pointermove", move);
    this.el.addEventListener("pointerup", up, { once: true });
    this.el.addEventListener("pointercancel", up, { once: true });
  }

  /** @param {number} at */
  #to(at) {
    this.#point(at);
    const one = this.steps[this.at];
    if (one) this.go(one.from, one.month);
  }

  /** The first step of a month so many months further. @param {number} months */
  #further(months) {
    const wanted = Math.max(0, Math.min((this.steps[this.at]?.month ?? 0) + months, this.months.length - 1));
    return this.steps.findIndex((one) => one.month === wanted);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowRight") this.#to(this.at + 1);
    else if (key === "ArrowUp" || key === "ArrowLeft") this.#to(this.at - 1);
    else if (key === "PageDown") this.#to(this.#further(12));
    else if (key === "PageUp") this.#to(this.#further(-12));
    else if (key === "Home") this.#to(0);
    else if (key === "End") this.#to(this.steps.length - 1);
    else return;
    event.preventDefault();
  }
}
