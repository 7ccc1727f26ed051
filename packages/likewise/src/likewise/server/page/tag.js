// Tag: every tag there is, pictures nobody tagged one after the other, all at once, and sidecars.

import { api, messageOf } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { count, percent } from "./format.js";
import { jobBox } from "./job.js";
import * as known from "./known.js";
import { empty } from "./search.js";
import { openSidecars } from "./sidecars.js";
import { asking, current, go, hrefFor } from "./state.js";
import { Suggested } from "./suggested.js";
import { TagPanel } from "./tag-panel.js";
import { t } from "./texts.js";
import { title } from "./title.js";
import { complain } from "./toast.js";

/** @typedef {import("./types.js").Picture} Picture */

const QUEUE = 24;

export class TagView {
  constructor() {
    this.panel = new TagPanel(() => this.#said());
    this.img = h("img", { alt: "" });
    this.name = h("p", { class: "soft" });
    this.left = h("p", { class: "soft", role: "status" });
    this.next = h("button", { type: "button", class: "main", "aria-keyshortcuts": "n", onclick: () => this.#step(1) }, t.tag.next, h("kbd", { "aria-hidden": "true" }, "n"));
    this.prior = h("button", { type: "button", "aria-keyshortcuts": "p", onclick: () => this.#step(-1) }, icon("left"), t.tag.back);
    this.one = h("section", { class: "tag-one" },
      h("div", { class: "tag-picture" }, this.img, this.name, h("p", { class: "buttons" }, this.prior, this.next), this.left), this.panel.el);
    this.all = h("section", {});
    this.above = h("input", { type: "range", id: "tag-above", min: "0.3", max: "0.95", step: "0.05", value: "0.6", oninput: () => this.#shown() });
    this.aboveSaid = h("output", { for: "tag-above" });
    this.apply = h("button", { type: "button", disabled: true, "aria-describedby": "apply-how", onclick: () => this.#start(api.tagAll(Number(this.above.value))) }, icon("tag"), t.tag.apply);
    this.applyHow = h("p", { class: "soft", id: "apply-how" });
    this.suggested = new Suggested();
    this.job = jobBox(["tag", "export"], (done) => this.#done(done));
    this.el = h("div", { class: "view tag-view" }, h("header", { class: "view-head" }, h("h1", {}, t.tag.title)),
      this.suggested.el, this.one, this.all,
      h("section", { "data-needs": "manage" }, h("h2", {}, t.tag.allAtOnce),
        h("p", { class: "soft" }, t.tag.allHow),
        h("div", { class: "in-line" }, h("label", { for: "tag-above" }, t.tag.atLeast), this.above, this.aboveSaid,
          this.apply), this.applyHow),
      h("section", { "data-needs": "manage" }, h("h2", {}, t.tag.export),
        h("p", { class: "soft" }, t.tag.exportHow),
        h("p", {}, h("button", { type: "button", onclick: () => openSidecars((place) => this.#start(api.exportXmp(place))) }, t.tag.write))),
      this.job.el);
    /** @type {Picture[]} */
    this.queue = [];
    /** @type {Set<string>} of the queue, those that have tags by now */
    this.tagged = new Set();
    this.at = 0;
    this.total = 0;
    this.#shown();
    addEventListener("keydown", (event) => this.#key(event));
  }

  async show() {
    title(t.tag.title);
    known.collection.get().then((about) => this.job.running(about.job)).catch(() => {});
    await Promise.all([this.suggested.show(current().settle), this.#tags(), this.#load()]);
  }

  /** Something was done to many pictures, or undone. */
  acted() {
    this.#tags();
    this.suggested.again();
  }

  #shown() {
    this.aboveSaid.textContent = percent(Number(this.above.value));
  }

  async #tags() {
    try {
      const { items } = await api.tags("", 500);
      const open = items.filter((one) => one.sources.suggested);
      const standing = items.filter((one) => one.pictures);
      this.apply.disabled = !standing.length;
      this.applyHow.textContent = standing.length ? "" : t.tag.noTags;
      fill(this.all, h("h2", {}, t.tag.tags(standing.length)),
        h("ul", { class: "tag-cloud" }, ...standing.map((one) => h("li", {},
          h("a", { class: "chip", href: hrefFor({ ...asking({}), tag: one.tag }), "data-tag": one.tag }, one.tag, " ",
            h("span", { class: "soft" }, count(one.pictures), one.sources.suggested ? ` ${t.tag.suggestedToo(one.sources.suggested)}` : ""))))),
        open.length > 0 && h("h3", {}, t.tag.toSettle),
        open.length > 0 && h("ul", { class: "tag-cloud", "aria-label": t.tag.toSettleList }, ...open.map((one) => h("li", {},
          h("button", { type: "button", class: "small", onclick: () => go({ settle: one.tag, look: "" }) }, icon("check"), one.tag, " ", h("span", { class: "soft" }, count(one.sources.suggested ?? 0)))))));
    } catch (error) {
      complain(error);
    }
  }

  async #load() {
    try {
      const { total, items } = await api.untagged(0, QUEUE);
      this.total = total;
      this.queue = items;
      this.tagged.clear();
      const { look } = current();
      this.at = Math.max(0, items.findIndex((one) => one.id === look));
      if (look && !items.some((one) => one.id === look)) this.queue.unshift(await api.picture(look));
      this.#draw();
    } catch (error) {
      fill(this.all, empty(t.failed, messageOf(error), t.tryAgain, () => this.show(), true));
    }
  }

  /** Something was said of the picture shown. */
  async #said() {
    this.#tags();
    const { id } = this.panel;
    try {
      const [{ total }, { tags }] = await Promise.all([api.untagged(0, 1), api.tagsOf(id)]);
      if (Object.values(tags).some((sources) => sources[0] !== "suggested")) this.tagged.add(id);
      else this.tagged.delete(id);
      this.total = total;
      this.#left();
    } catch (error) {
      complain(error);
    }
  }

  #left() {
    this.left.textContent = t.tag.left(this.total);
  }

  #draw() {
    const picture = this.queue[this.at];
    this.one.hidden = !picture || Boolean(current().settle); // one thing at a time
    if (!picture) return;
    this.img.src = picture.image;
    this.img.alt = picture.name;
    this.name.textContent = picture.name;
    this.#left();
    this.prior.disabled = this.at === 0;
    this.panel.show(picture.id);
    if (current().view === "tag") go({ look: picture.id }, { replace: true });
    const following = this.queue[this.at + 1];
    if (following) new Image().src = following.image;
  }

  /** @param {1|-1} step */
  async #step(step) {
    this.at = Math.max(0, this.at + step);
    if (this.at < this.queue.length) {
      this.#draw();
      return;
    }
    try {
      // Those that were passed over stay untagged and come first: look beyond them.
      const seen = new Set(this.queue.map((one) => one.id));
      const { items, total } = await api.untagged(this.queue.filter((one) => !this.tagged.has(one.id)).length, QUEUE);
      this.total = total;
      this.queue.push(...items.filter((one) => !seen.has(one.id)));
      if (this.at >= this.queue.length) {
        this.at = 0;
        this.queue = (await api.untagged(0, QUEUE)).items;
      }
      this.#draw();
    } catch (error) {
      complain(error);
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (current().view !== "tag" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") || current().settle) return;
    if (event.target instanceof HTMLElement && event.target.matches("input:not([type=range]), textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "a") this.panel.accept();
    else if (event.key === "x") this.panel.reject();
    else if (event.key === "n") this.#step(1);
    else if (event.key === "p") this.#step(-1);
    else if (event.key === "e") this.panel.input.focus();
    else if (event.key === "u") this.panel.undo();
    else return;
    event.preventDefault();
  }

  /** @param {Promise<{job: number}>} asked */
  async #start(asked) {
    try {
      this.job.started((await asked).job);
    } catch (error) {
      complain(error);
    }
  }

  /** @param {import("./job.js").EndOf<"tag"|"export">} done */
  #done(done) {
    if (this.el.isConnected) this.show();
    this.suggested.again();
    if (done.what === "tag") return t.tag.applied(done.tagged, done.tags);
    return t.tag.written(done.written, done.unchanged, done.problems);
  }
}

/** Where a tag leads: the pictures that have it. @param {string} tag */
export const goTag = (tag) => go({ ...asking({}), tag });
