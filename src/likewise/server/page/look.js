// One picture, large, with what the catalog knows of it.

import { api, messageOf } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { TagPanel } from "./tag-panel.js";
import { asking, go, hasQuery, shut } from "./state.js";
import { t } from "./texts.js";

/**
 * @typedef {object} Around
 * @property {(step: 1|-1) => string|null} neighbour the picture before or after in the grid
 */

export class Look {
  /** @param {Around} around */
  constructor(around) {
    this.around = around;
    /** @type {ReturnType<typeof dialog>|null} */
    this.open = null;
    this.tags = new TagPanel();
    this.id = "";
  }

  /** @param {import("./state.js").State} state */
  async show(state) {
    const id = state.look;
    if (!id) {
      this.id = "";
      this.open?.close();
      return;
    }
    if (id === this.id) return;
    this.id = id;
    if (!this.open) {
      this.open = dialog("", "look", () => {
        this.open = null;
        if (this.id) {
          this.id = "";
          shut({ look: "" });
        }
      });
      this.open.el.addEventListener("keydown", (event) => {
        if (event.target instanceof HTMLInputElement) return; // typing a tag
        if (event.key === "ArrowRight") this.#step(1);
        else if (event.key === "ArrowLeft") this.#step(-1);
      });
    }
    const { body, heading } = this.open;
    try {
      const picture = await api.picture(id);
      if (this.id !== id) return;
      heading.textContent = picture.name;
      fill(body, this.#picture(picture), this.#facts(picture, state));
      this.tags.show(id);
    } catch (error) {
      heading.textContent = t.viewer.cannot;
      fill(body, h("p", { class: "empty", role: "alert" }, messageOf(error)));
    }
  }

  /** @param {1|-1} step */
  #step(step) {
    const next = this.around.neighbour(step);
    if (next) go({ look: next }, { replace: true });
  }

  /** @param {import("./types.js").PictureMore} picture */
  #picture(picture) {
    const img = h("img", { src: picture.image, alt: picture.name, width: picture.width, height: picture.height });
    img.style.width = `min(100%, ${2 * picture.width}px)`; // a small picture is not blown up without end
    const frame = h("div", { class: "large" },
      h("button", { type: "button", class: "quiet round before", "aria-label": t.viewer.before, onclick: () => this.#step(-1) }, icon("left")),
      img,
      h("button", { type: "button", class: "quiet round after", "aria-label": t.viewer.after, onclick: () => this.#step(1) }, icon("right")));
    img.addEventListener("error", () => img.replaceWith(h("p", { class: "empty" }, t.viewer.unreadable)));
    return frame;
  }

  /**
   * @param {import("./types.js").PictureMore} picture
   * @param {import("./state.js").State} state
   */
  #facts(picture, state) {
    /** @type {[string, string][]} */
    const rows = [
      [t.viewer.taken, t.dated(picture.date)],
      [t.viewer.size, t.rail.pixels(picture.width, picture.height)],
      [t.viewer.format, picture.format],
      [t.viewer.file, picture.path],
    ];
    for (const [key, value] of Object.entries(picture.metadata)) {
      if (value !== null && typeof value !== "object") rows.push([key, String(value)]);
    }
    return h("div", { class: "about" },
      h("p", { class: "buttons" },
        h("button", { type: "button", class: "main", onclick: () => go(asking({ q: picture.id })) }, icon("search"), t.findSimilar),
        hasQuery(state) && state.q !== picture.id && h("button", { type: "button", onclick: () => go({ look: "", why: picture.id }, { replace: true }) }, icon("why"), t.whyMatched)),
      h("dl", {}, ...rows.filter(([, value]) => value).flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)])),
      this.tags.el);
  }
}
