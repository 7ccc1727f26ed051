// Choosing a part of the asked picture: drag with mouse, pen or finger, or with the keyboard
// (Enter starts, arrows move, Shift with arrows sizes, Enter searches, Escape gives up).

import { h } from "./dom.js";
import { t } from "./texts.js";

/** @typedef {import("./types.js").Box} Box */

const LEAST = 0.04; // of a side: anything smaller was a click
const STEP = 0.03;

export class Region {
  /** @param {(region: Box|null) => void} choose called with pixels of the whole picture */
  constructor(choose) {
    this.choose = choose;
    this.size = [1, 1];
    /** @type {Box|null} as shares of the sides */
    this.box = null;
    /** @type {Box|null} what stands when a new choice is given up */
    this.standing = null;
    this.shown = "";
    this.img = h("img", { alt: "", draggable: "false" });
    this.frame = h("div", { class: "frame", hidden: true });
    this.el = h("div", {
      class: "region", tabindex: "0", role: "group", "aria-keyshortcuts": "r",
      "aria-label": t.region.how,
    }, this.img, this.frame);
    this.el.addEventListener("pointerdown", (event) => this.#drag(event));
    this.el.addEventListener("keydown", (event) => this.#key(event));
  }

  /**
   * @param {string} image
   * @param {number} width of the whole picture
   * @param {number} height
   * @param {Box|null} region in pixels of it
   * @param {string} name
   */
  show(image, width, height, region, name) {
    // The same question is shown again whenever the page has news: a choice under way goes on.
    const shown = JSON.stringify([image, width, height, region]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.size = [width, height];
    if (this.img.getAttribute("src") !== image) this.img.src = image;
    this.img.alt = name;
    this.el.style.aspectRatio = `${width} / ${height}`;
    this.el.style.setProperty("--aspect", String(width / height));
    this.standing = region && [region[0] / width, region[1] / height, region[2] / width, region[3] / height];
    this.#set(this.standing);
  }

  /** No picture is asked about any more. */
  leave() {
    this.shown = "";
  }

  /** @param {Box|null} box */
  #set(box) {
    this.box = box;
    this.frame.hidden = !box;
    this.el.classList.toggle("part", Boolean(box));
    if (!box) return;
    const [x, y, w, height] = box.map((share) => `${share * 100}%`);
    Object.assign(this.frame.style, { left: x, top: y, width: w, height });
  }

  #done() {
    if (!this.box) return;
    const [width, height] = this.size;
    const [x, y, w, tall] = this.box;
    this.choose([Math.round(x * width), Math.round(y * height), Math.max(1, Math.round(w * width)), Math.max(1, Math.round(tall * height))]);
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    if (event.button) return;
    event.preventDefault();
    this.el.focus({ preventScroll: true });
    const rect = this.el.getBoundingClientRect();
    /** @param {PointerEvent} at */
    const place = (at) => [
      Math.min(1, Math.max(0, (at.clientX - rect.left) / rect.width)),
      Math.min(1, Math.max(0, (at.clientY - rect.top) / rect.height)),
    ];
    const [x0, y0] = place(event);
    this.el.setPointerCapture(event.pointerId);
    /** @param {PointerEvent} at */
    const move = (at) => {
      const [x, y] = place(at);
      this.#set([Math.min(x, x0), Math.min(y, y0), Math.abs(x - x0), Math.abs(y - y0)]);
    };
    /** @param {boolean} meant */
    const end = (meant) => {
      this.el.removeEventListener("pointermove", move);
      this.el.removeEventListener("pointerup", up);
      this.el.removeEventListener("pointercancel", cancel);
      if (meant && this.box && this.box[2] >= LEAST && this.box[3] >= LEAST) this.#done();
      else this.#set(this.standing);
    };
    const up = () => end(true);
    const cancel = () => end(false);
    this.el.addEventListener("pointermove", move);
    this.el.addEventListener("pointerup", up);
    this.el.addEventListener("pointercancel", cancel);
  }

  /** Start choosing with the keyboard. */
  start() {
    this.el.focus();
    if (!this.box) this.#set([0.25, 0.25, 0.5, 0.5]);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter" || event.key === " ") {
      if (!this.box) this.start();
      else this.#done();
    } else if (event.key === "Escape" && this.box && this.box !== this.standing) {
      this.#set(this.standing);
    } else if ((event.key === "Delete" || event.key === "Backspace") && this.standing) {
      this.choose(null);
    } else if (this.box && event.key.startsWith("Arrow")) {
      const across = event.key === "ArrowRight" ? STEP : event.key === "ArrowLeft" ? -STEP : 0;
      const down = event.key === "ArrowDown" ? STEP : event.key === "ArrowUp" ? -STEP : 0;
      let [x, y, w, height] = this.box;
      if (event.shiftKey) {
        w = Math.min(1 - x, Math.max(LEAST, w + across));
        height = Math.min(1 - y, Math.max(LEAST, height + down));
      } else {
        x = Math.min(1 - w, Math.max(0, x + across));
        y = Math.min(1 - height, Math.max(0, y + down));
      }
      this.#set([x, y, w, height]);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
