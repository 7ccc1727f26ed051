// Metrics and maps beside profiles: what each is worth, learn now, and two of them side by side.

import { api, messageOf } from "./api.js";
import { confirmed } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { count, percent, when } from "./format.js";
import { jobBox } from "./job.js";
import * as known from "./known.js";
import { current, go, hrefFor } from "./state.js";
import { t } from "./texts.js";
import { complain } from "./toast.js";
import { Versus } from "./versus.js";

/** @typedef {import("./types.js").Model} Model */

export class Models {
  constructor() {
    this.list = h("div", {});
    this.space = h("select", { id: "learn-space" });
    this.job = jobBox(["learn metric", "learn map"], (done) => this.#done(done));
    this.versus = new Versus();
    this.el = h("div", { class: "models" },
      h("section", {}, h("h2", {}, t.models.title),
        h("p", { class: "soft" }, t.models.how),
        this.list,
        h("div", { class: "in-line" }, h("label", { for: "learn-space" }, t.models.from), this.space,
          h("button", { type: "button", onclick: () => this.#learn("metric") }, icon("learned"), t.models.learnMetric),
          h("button", { type: "button", onclick: () => this.#learn("map") }, icon("map"), t.models.drawMap)),
        this.job.el));
  }

  /** @param {import("./state.js").State} state */
  async show(state) {
    try {
      const [all, similarities, about] = await Promise.all([api.models(), known.similarities.get(), known.collection.get()]);
      this.job.running(about.job);
      const dense = about.spaces.filter((space) => space.kind === "dense").map((space) => space.name);
      const chosen = this.space.value;
      fill(this.space, h("option", { value: "" }, t.models.best), ...dense.map((name) => h("option", { value: name }, t.ranking(name))));
      if (dense.includes(chosen)) this.space.value = chosen;
      const profiles = similarities.items.filter((one) => one.learned && (one.name !== "default" || about.profile === "default"));
      fill(this.list, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t.models.table }, h("table", {},
        h("thead", {}, h("tr", {}, ...t.models.columns.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {},
          ...profiles.map((one) => h("tr", {}, h("th", { scope: "row" }, one.answers ? t.answersIn(one.name, one.answers.person) : one.name), h("td", {}, t.models.kinds.profile), h("td", {}, count(one.figures?.judgements ?? 0)),
            h("td", {}, one.figures?.interval ? t.accuracy.within(one.figures.agreement, one.figures.interval) : one.figures ? t.accuracy.after(one.figures.needed) : "–"), h("td", {}, one.figures?.interval ? percent(one.figures.agreement_plain) : "–"), h("td", {}, t.models.always), h("td", {}))),
          ...all.items.map((one) => this.#row(one))))));
      await this.versus.show(state, similarities.items.map((one) => one.name));
    } catch (error) {
      fill(this.list, h("p", { class: "bad", role: "alert" }, messageOf(error)));
    }
  }

  /** @param {Model} one */
  #row(one) {
    return h("tr", { title: one.told }, h("th", { scope: "row" }, one.name),
      h("td", {}, t.models.kinds[one.kind], one.stale ? t.models.stale : one.learned ? "" : t.models.nothing),
      h("td", {}, count(Number(one.figures.pairs ?? one.figures.comparisons ?? 0)), one.since ? h("span", { class: "soft" }, t.models.since(one.since)) : ""),
      h("td", {}, percent(one.agreement)), h("td", {}, percent(one.agreement_plain)), h("td", {}, when(one.made)),
      h("td", {}, h("span", { class: "buttons" },
        one.kind === "map" && h("a", { class: "button small", href: hrefFor({ view: "map", map: one.name }), onclick: (/** @type {Event} */ event) => { event.preventDefault(); go({ view: "map", map: one.name, at: "" }); } }, t.models.show),
        h("button", { type: "button", class: "small", "aria-label": t.models.relearnOne(one.name), onclick: () => this.#learn(one.kind, one.name, one.space, one.profile) }, t.models.relearn),
        h("button", { type: "button", class: "small", "aria-label": t.models.deleteOne(one.name), onclick: () => this.#forget(one) }, icon("close"), t.models.delete))));
  }

  /** @param {"metric"|"map"} kind @param {string} [name] @param {string} [space] @param {string} [profile] */
  async #learn(kind, name = kind, space = this.space.value, profile = "") {
    try {
      const { job } = await api.learnModel({ kind, name, space: space || null, profile: profile || current().profile || "default" });
      this.job.started(job);
    } catch (error) {
      complain(error);
    }
  }

  /** @param {import("./job.js").EndOf<"learn map">} done */
  #done(done) {
    known.forgetAll();
    if (this.el.isConnected) this.show(current());
    return done.told;
  }

  /** @param {Model} one */
  async #forget(one) {
    if (!(await confirmed(t.models.askDelete(one.name), t.models.askDeleteHow, t.models.delete))) return;
    try {
      await api.forgetModel(one.name);
      known.forgetAll();
      await this.show(current());
    } catch (error) {
      complain(error);
    }
  }
}
