// The tags of one picture: what it has, what it may deserve and why, and a field for a new one.

import { api } from "./api.js";
import { tagField } from "./completion.js";
import { fill, h, icon } from "./dom.js";
import { percent } from "./format.js";
import { hrefFor, asking } from "./state.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

/** @typedef {import("./types.js").Tagged} Tagged */
/** @typedef {import("./types.js").Suggestion} Suggestion */

const BEHIND = 5; // pictures shown behind a suggestion
const LIKELY = 0.05; // below, a suggestion is shown only where there are few others
const FEW = 2;

const SOURCES = t.tagPanel.sources;

export class TagPanel {
  /** @param {() => void} changed */
  constructor(changed = () => {}) {
    this.changed = changed;
    this.has = h("ul", { class: "tags-had", "aria-label": t.tagPanel.has });
    this.list = h("ul", { class: "suggestions", "aria-label": t.tagPanel.suggested });
    this.said = h("p", { class: "soft", role: "status" });
    const { field, input } = tagField({ label: t.tagPanel.add, placeholder: t.tagPanel.addExample });
    this.input = input;
    this.form = h("form", { class: "tag-new" }, field, h("button", { class: "small" }, icon("plus"), t.tagPanel.tag));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const tag = input.value.trim();
      if (!tag || !this.id) return;
      input.value = "";
      this.#say(api.tagMany({ pictures: [this.id], add: [tag] }), t.tagPanel.tagged(tag));
    });
    this.el = h("section", { class: "tag-panel", "aria-label": t.tagPanel.title }, this.has, this.form, this.said, this.list);
    this.id = "";
    /** @type {Suggestion[]} */
    this.suggestions = [];
    /** @type {number[][]} lines of the log, for undo */
    this.lines = [];
    this.turn = 0;
  }

  /** @param {string} id */
  async show(id) {
    const turn = ++this.turn;
    if (id !== this.id) {
      fill(this.has);
      fill(this.list);
      this.suggestions = []; // a key in a hurry must not say of this one what was meant for the last
      this.said.textContent = t.tagPanel.thinking;
    }
    this.id = id;
    try {
      const found = await api.tagsOf(id);
      if (turn === this.turn) this.#draw(found);
    } catch (error) {
      if (turn === this.turn) this.said.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /** @param {Tagged} found */
  #draw(found) {
    const names = Object.keys(found.tags);
    fill(this.has, ...names.map((tag) => h("li", { class: found.tags[tag][0] === "suggested" ? "tag unsure" : "tag" },
      h("a", { href: hrefFor(asking({ tag })), "data-tag": tag, title: found.tags[tag].map((one) => SOURCES[one] ?? one).join(", ") }, tag),
      h("button", { type: "button", class: "quiet", "aria-label": t.tagPanel.remove(tag), onclick: () => this.#say(api.rejectTag(this.id, tag), t.tagPanel.removed(tag)) }, icon("close")))));
    this.suggestions = found.suggestions.filter((one, i) => one.confidence >= LIKELY || i < FEW);
    const measured = this.suggestions.some((one) => one.calibrated);
    this.said.textContent = this.suggestions.length
      ? measured ? t.tagPanel.measured : t.tagPanel.unmeasured
      : names.length ? "" : t.tagPanel.nothing;
    fill(this.list, ...this.suggestions.map((one, i) => this.#suggestion(one, i)));
  }

  /** @param {Suggestion} one @param {number} i */
  #suggestion(one, i) {
    const bar = h("i");
    bar.style.width = `${Math.round(100 * one.confidence)}%`;
    return h("li", {},
      h("div", { class: "suggested" }, h("b", {}, one.tag), h("span", { class: "soft" }, percent(one.confidence)),
        h("span", { class: "bar", "aria-hidden": "true" }, bar),
        h("button", { type: "button", class: "small yes", "aria-label": t.tagPanel.accept(one.tag), onclick: () => this.accept(i) }, icon("check"), t.tagPanel.yes),
        h("button", { type: "button", class: "small no", "aria-label": t.tagPanel.reject(one.tag), onclick: () => this.reject(i) }, icon("close"), t.tagPanel.no)),
      one.because.length > 0 && h("div", { class: "faces", role: "group", "aria-label": t.tagPanel.behind(one.tag) }, ...one.because.slice(0, BEHIND).map(({ picture, weight }) =>
        h("a", { href: hrefFor(asking({ q: picture.id })), "data-ask": picture.id, title: t.tagPanel.share(picture.name, weight) },
          h("img", { src: `${picture.thumbnail}?side=160`, alt: picture.name, loading: "lazy" })))));
  }

  /** @param {number} [i] */
  accept(i = this.pointed()) {
    const one = this.suggestions[i];
    if (one) this.#say(api.acceptTag(this.id, one.tag), t.tagPanel.tagged(one.tag));
  }

  /** @param {number} [i] */
  reject(i = this.pointed()) {
    const one = this.suggestions[i];
    if (one) this.#say(api.rejectTag(this.id, one.tag), t.tagPanel.rejected(one.tag));
  }

  /** The suggestion the keyboard is on, else the first. */
  pointed() {
    const at = [...this.list.children].findIndex((li) => li.contains(document.activeElement));
    return Math.max(0, at);
  }

  /** @param {Promise<{lines: number[]}>} asked @param {string} done */
  async #say(asked, done) {
    try {
      const { lines } = await asked;
      if (lines.length) this.lines.push(lines);
      toast(done, lines.length ? { label: t.undo, act: () => this.undo(lines) } : {});
      this.changed();
      await this.show(this.id);
    } catch (error) {
      complain(error);
    }
  }

  /** Take back what was said last, or this. @param {number[]} [said] */
  async undo(said) {
    const last = said ?? this.lines.at(-1);
    if (!last || !this.lines.includes(last)) return;
    this.lines = this.lines.filter((one) => one !== last);
    try {
      await api.undoTags(last);
      this.changed();
      await this.show(this.id);
    } catch (error) {
      this.lines.push(last);
      complain(error);
    }
  }
}
