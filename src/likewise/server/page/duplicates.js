// Near-duplicates: a group a row, the one to keep first; the others can be hidden, and shown again.

import { api, messageOf, thumbnail } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { bytes, count, counted, percent } from "./format.js";
import { jobBox } from "./job.js";
import { libraryTabs } from "./library-tabs.js";
import * as live from "./live.js";
import { Look } from "./look.js";
import { mark, onMarked } from "./marks.js";
import { empty } from "./search.js";
import { hrefFor, open } from "./state.js";
import { title } from "./title.js";
import { complain } from "./toast.js";

/** @typedef {import("./types.js").DuplicateGroup} Group */

const AT_ONCE = 60; // groups drawn at a time

export class DuplicatesView {
  constructor() {
    this.said = h("span", { class: "soft", role: "status" });
    this.find = h("button", { type: "button", class: "small main", onclick: () => this.#find() }, icon("search"), h("span", {}, "Find duplicates"));
    this.all = h("button", { type: "button", class: "small", hidden: true, onclick: () => this.#hideRest(this.groups) }, icon("hide"), h("span", {}, "Keep the best of all groups"));
    this.rule = h("p", { class: "soft" });
    this.list = h("ol", { class: "duplicate-list" });
    this.state = h("div", { class: "state" });
    this.more = h("p", { class: "buttons", hidden: true }, h("button", { type: "button", onclick: () => this.#draw(this.drawn + AT_ONCE) }, "Show more groups"));
    this.look = new Look({ neighbour: () => null });
    this.job = jobBox(["duplicates"], (done) => (done.groups ? `${counted(done.groups, "group")} of duplicates.` : "No duplicates."));
    this.el = h("div", { class: "duplicates-view" },
      h("header", { class: "library-head" }, h("div", { class: "what" }, h("h1", {}, "Duplicates"), this.said), libraryTabs("duplicates"), h("div", { class: "how" }, this.all, this.find)),
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
    title("Duplicates");
    this.look.show(state);
    if (before?.view !== "duplicates") await this.#load();
  }

  async #load() {
    try {
      const { looked, groups, rule } = await api.duplicates();
      this.groups = groups;
      this.said.textContent = looked === null ? "" : `${counted(groups.length, "group")} among ${counted(looked, "picture")}`;
      this.rule.textContent = groups.length ? `Kept of each group: ${rule}. Another one is kept when you choose it. Hidden pictures stay on your disk and can be shown again in the library.` : "";
      this.all.hidden = !groups.length;
      this.find.lastElementChild?.replaceChildren(looked === null ? "Find duplicates" : "Look again");
      fill(this.state, !groups.length && (looked === null
        ? empty("Which pictures do you have twice?", "Copies are found by their pixels: saved again, made smaller, cropped by up to a tenth, or mirrored. Thousands of pictures take some minutes.")
        : empty("No duplicates.", "Every picture here is there once, or its copies are hidden.")));
      this.#draw(AT_ONCE);
    } catch (error) {
      fill(this.state, empty("That did not work.", messageOf(error), "Try again", () => this.#load(), true));
    }
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
      h("div", { class: "duplicate-group-head" }, h("h2", {}, `${counted(group.pictures.length, "picture")}`),
        h("button", { type: "button", class: "small", "aria-label": `Keep the best of group ${i + 1}, hide the rest`, onclick: () => this.#hideRest([group]) }, icon("hide"), "Keep the best, hide the rest")),
      h("ul", { class: "copies" }, ...group.pictures.map((one) => {
        const keep = one === best;
        const img = h("img", { alt: "", loading: "lazy", src: thumbnail(one, 200) });
        return h("li", { class: keep ? "keep" : "" },
          h("a", { href: hrefFor({ look: one.id }), "aria-label": `Look at ${one.name}`, onclick: (/** @type {MouseEvent} */ event) => {
            if (event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            open({ look: one.id });
          } }, img),
          h("span", { class: "name" }, one.name),
          h("span", { class: "soft" }, `${count(one.width)} × ${count(one.height)}, ${bytes(one.bytes)}${one.mirrored ? ", mirrored" : ""}${one === group.pictures[0] ? "" : `, ${percent(one.score)} the same`}`),
          h("span", { class: "soft" }, one.folder),
          keep ? h("b", {}, icon("check"), " Kept") : h("button", { type: "button", class: "quiet small", "aria-label": `Keep ${one.name} instead`, onclick: () => {
            this.kept.set(group.pictures[0].id, one.id);
            this.#draw(this.drawn);
          } }, "Keep this one"));
      })));
  }
}
