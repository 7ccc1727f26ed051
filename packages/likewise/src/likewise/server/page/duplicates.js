// Near-duplicates: a group a row, the one to keep first; the others can be hidden, and shown again.

import { api, messageOf, thumbnail } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { bytes, percent } from "./format.js";
import { jobBox } from "./job.js";
import { libraryTabs } from "./library-tabs.js";
import * as live from "./live.js";
import { mark, onMarked } from "./marks.js";
import { empty } from "./search.js";
import { current, hrefFor, open } from "./state.js";
import { t } from "./texts.js";
import { title } from "./title.js";
import { complain } from "./toast.js";
import { Viewer } from "./viewer.js";

/** @typedef {import("./types.js").DuplicateGroup} Group */

const AT_ONCE = 60; // groups drawn at a time

export class DuplicatesView {
  constructor() {
    this.said = h("span", { class: "soft", role: "status" });
    this.find = h("button", { type: "button", class: "small main", "data-needs": "manage", onclick: () => this.#find() }, icon("search"), h("span", {}, t.duplicates.find));
    this.all = h("button", { type: "button", class: "small", hidden: true, "data-needs": "judge", onclick: () => this.#hideRest(this.groups) }, icon("hide"), h("span", {}, t.duplicates.keepAll));
    this.rule = h("p", { class: "soft" });
    this.list = h("ol", { class: "duplicate-list" });
    this.state = h("div", { class: "state" });
    this.more = h("p", { class: "buttons", hidden: true }, h("button", { type: "button", onclick: () => this.#draw(this.drawn + AT_ONCE) }, t.collection.showMore));
    this.look = new Viewer({ view: "duplicates", neighbour: (step) => this.#neighbour(step), find: () => null, judge: async () => {} });
    this.job = jobBox(["duplicates"], (done) => t.duplicates.found(done.groups));
    this.el = h("div", { class: "duplicates-view" },
      h("header", { class: "library-head" }, h("div", { class: "what" }, h("h1", {}, t.duplicates.title), this.said), libraryTabs("duplicates"), h("div", { class: "how" }, this.all, this.find)),
      this.rule, this.job.el, this.state, this.list, this.more);
    /** @type {Group[]} */
    this.groups = [];
    /** @type {Map<string, string>} the picture to keep of a group, by its first, where a person chose another */
    this.kept = new Map();
    this.drawn = AT_ONCE;
    live.on("done", (done) => {
      if (done.what === "duplicates" && this.el.isConnected) this.#load();
    });
    onMarked(() => {
      if (this.el.isConnected) this.#load();
    });
  }

  /** @param {import("./state.js").State} state @param {import("./state.js").State|null} before */
  async show(state, before) {
    title(t.duplicates.title);
    this.look.show(state);
    if (before?.view !== "duplicates") await this.#load();
  }

  async #load() {
    try {
      const { looked, groups, rule } = await api.duplicates();
      this.groups = groups;
      this.said.textContent = looked === null ? "" : t.duplicates.among(groups.length, looked);
      this.rule.textContent = groups.length ? t.duplicates.rule(rule) : "";
      this.all.hidden = !groups.length;
      this.find.lastElementChild?.replaceChildren(looked === null ? t.duplicates.find : t.duplicates.again);
      fill(this.state, !groups.length && (looked === null
        ? empty(t.duplicates.ask, t.duplicates.askHow)
        : empty(t.duplicates.none, t.duplicates.noneHow)));
      this.#draw(AT_ONCE);
    } catch (error) {
      fill(this.state, empty(t.failed, messageOf(error), t.tryAgain, () => this.#load(), true));
    }
  }

  /** From copy to copy, group by group. @param {1|-1} step */
  async #neighbour(step) {
    const all = this.groups.flatMap((group) => group.pictures);
    const at = all.findIndex((one) => one.id === current().look);
    return at < 0 ? null : all[at + step]?.id ?? null;
  }

  async #find() {
    try {
      const { job } = await api.findDuplicates();
      this.job.started(job);
    } catch (error) {
      complain(error);
    }
  }

  /** @param {Group} group */
  #best(group) {
    const chosen = this.kept.get(group.pictures[0].id);
    return group.pictures.find((one) => one.id === chosen) ?? group.pictures[0];
  }

  /** @param {Group[]} groups */
  #hideRest(groups) {
    mark(groups.flatMap((group) => group.pictures.filter((one) => one !== this.#best(group)).map((one) => one.id)), { hidden: true });
  }

  /** @param {number} n groups */
  #draw(n) {
    this.drawn = n;
    fill(this.list, ...this.groups.slice(0, n).map((group, i) => this.#group(group, i)));
    this.more.hidden = this.groups.length <= n;
  }

  /** @param {Group} group @param {number} i */
  #group(group, i) {
    const best = this.#best(group);
    return h("li", {},
      h("div", { class: "duplicate-group-head" }, h("h2", {}, t.pictures(group.pictures.length)),
        h("button", { type: "button", class: "small", "aria-label": t.duplicates.keepOf(i + 1), onclick: () => this.#hideRest([group]) }, icon("hide"), t.duplicates.keepBest)),
      h("ul", { class: "copies" }, ...group.pictures.map((one) => {
        const keep = one === best;
        const img = h("img", { alt: "", loading: "lazy", src: thumbnail(one, 200) });
        return h("li", { class: keep ? "keep" : "" },
          h("a", { href: hrefFor({ look: one.id }), "aria-label": t.duplicates.look(one.name), onclick: (/** @type {MouseEvent} */ event) => {
            if (event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            open({ look: one.id });
          } }, img),
          h("span", { class: "name" }, one.name),
          h("span", { class: "soft" }, t.duplicates.about(one.width, one.height, bytes(one.bytes), one.mirrored, one === group.pictures[0] ? "" : percent(one.score))),
          h("span", { class: "soft" }, one.folder),
          keep ? h("b", {}, icon("check"), t.duplicates.kept) : h("button", { type: "button", class: "quiet small", "aria-label": t.duplicates.keepInstead(one.name), onclick: () => {
            this.kept.set(group.pictures[0].id, one.id);
            this.#draw(this.drawn);
          } }, t.duplicates.keepThis));
      })));
  }
}
