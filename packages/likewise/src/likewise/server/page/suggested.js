// The suggestions of one tag as a grid: strike out the wrong ones, accept all others in one step.

import { acted, undoing } from "./actions.js";
import { api, messageOf, thumbnail } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { go } from "./state.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

/** @typedef {import("./types.js").Picture} Picture */

const PAGE = 200;
const SIDE = 180; // pixels of a tile

export class Suggested {
  constructor() {
    this.heading = h("h2", { tabindex: "-1" });
    this.said = h("p", { class: "soft", role: "status" });
    this.list = h("ul", { class: "suggested-grid", "aria-label": t.suggested.list });
    this.accept = h("button", { type: "button", class: "main", onclick: () => this.#settle() });
    this.more = h("button", { type: "button", onclick: () => this.#load() }, t.collection.showMore);
    this.close = h("button", { type: "button", onclick: () => go({ settle: "" }) }, t.close);
    this.el = h("section", { class: "suggested-view", hidden: true, "aria-label": t.suggested.label }, this.heading, this.said, this.list,
      h("p", { class: "buttons suggested-foot" }, this.accept, this.more, this.close));
    this.tag = "";
    /** @type {Picture[]} */
    this.shown = [];
    /** @type {Set<string>} */
    this.struck = new Set();
    this.total = 0;
    this.turn = 0;
  }

  /** @param {string} tag "": nothing */
  async show(tag) {
    this.el.hidden = !tag;
    if (tag === this.tag) return;
    this.tag = tag;
    if (!tag) return;
    await this.again();
    this.heading.focus();
  }

  /** From the server: after something was settled, undone, or suggested anew. */
  async again() {
    if (!this.tag) return;
    this.shown = [];
    this.struck.clear();
    fill(this.list);
    this.heading.textContent = t.suggested.title(this.tag);
    await this.#load();
  }

  async #load() {
    const turn = ++this.turn;
    try {
      const { total, items } = await api.suggested(this.tag, this.shown.length, PAGE);
      if (turn !== this.turn) return;
      this.total = total;
      this.shown.push(...items);
      this.list.append(...items.map((one) => this.#tile(one)));
      this.#draw();
    } catch (error) {
      if (turn === this.turn) this.said.textContent = messageOf(error);
    }
  }

  /** @param {Picture} picture */
  #tile(picture) {
    const button = h("button", { type: "button", "aria-pressed": "false", "aria-label": t.suggested.not(picture.name, this.tag), title: picture.name },
      h("img", { src: thumbnail(picture, SIDE), alt: "", loading: "lazy" }), icon("close"));
    button.addEventListener("click", () => {
      const off = !this.struck.delete(picture.id);
      if (off) this.struck.add(picture.id);
      button.setAttribute("aria-pressed", String(off));
      this.#draw();
    });
    return h("li", {}, button);
  }

  #draw() {
    const left = this.shown.length - this.struck.size;
    this.accept.hidden = !this.shown.length;
    this.more.hidden = this.shown.length >= this.total;
    fill(this.accept, icon("check"), this.struck.size ? t.suggested.acceptBut(this.struck.size) : t.suggested.acceptAll(left));
    if (!left) fill(this.accept, icon("close"), t.suggested.rejectAll(this.struck.size));
    this.said.textContent = this.total ? t.suggested.how(this.total, this.shown.length, this.struck.size) : t.suggested.none(this.tag);
  }

  async #settle() {
    const { tag } = this;
    const accept = this.shown.map((one) => one.id).filter((id) => !this.struck.has(id));
    const reject = [...this.struck];
    this.accept.disabled = true;
    try {
      const { action } = await api.settleTags({ tag, accept, reject });
      toast(t.suggested.settled(tag, accept.length, reject.length), undoing(action));
      acted("accept"); // the view that shows this asks anew
    } catch (error) {
      complain(error);
    } finally {
      this.accept.disabled = false;
    }
  }
}
