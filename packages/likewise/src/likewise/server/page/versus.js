// Two similarities side by side on the same question.

import { api, messageOf } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { asking, go, hasPicture, hrefFor, queryOf } from "./state.js";
import { t } from "./texts.js";
import { pick } from "./upload.js";

/** @typedef {import("./state.js").State} State */

const SHOWN = 18;

export class Versus {
  constructor() {
    this.left = h("select", { "aria-label": t.versus.left, onchange: () => go({ left: this.left.value }, { replace: true }) });
    this.right = h("select", { "aria-label": t.versus.right, onchange: () => go({ right: this.right.value }, { replace: true }) });
    this.sides = [h("ol", { class: "versus-hits" }), h("ol", { class: "versus-hits" })];
    this.asked = h("div", { class: "versus-asked" });
    this.said = h("p", { class: "soft", role: "status" });
    this.el = h("section", { class: "versus" }, h("h2", {}, t.versus.title), this.asked, this.said,
      h("div", { class: "versus-sides" }, h("div", {}, this.left, this.sides[0]), h("div", {}, this.right, this.sides[1])));
    this.turn = 0;
  }

  /** @param {State} state @param {string[]} names */
  async show(state, names) {
    for (const [select, wanted, usual] of /** @type {[HTMLSelectElement, string, string][]} */ ([[this.left, state.left, "default"], [this.right, state.right, names.at(-1) ?? "default"]])) {
      // A list that is the same stays: changing it would take the keyboard away.
      if ([...select.options].map((one) => one.value).join("\n") !== names.join("\n")) fill(select, ...names.map((name) => h("option", { value: name }, name === "default" ? t.rail.usual : t.ranking(name))));
      select.value = names.includes(wanted) ? wanted : usual;
    }
    if (!hasPicture(state)) {
      fill(this.asked, h("p", { class: "buttons" }, h("button", { type: "button", onclick: async () => this.#any() }, icon("picture"), t.versus.any), h("button", { type: "button", class: "quiet", onclick: pick }, t.versus.pick)));
      this.said.textContent = t.versus.how;
      for (const side of this.sides) fill(side);
      return;
    }
    await this.#rank(state);
  }

  async #any() {
    const { items } = await api.pictures({ limit: 200, sort: "added" });
    const one = items[Math.floor(Math.random() * items.length)];
    if (one) go({ q: one.id, up: "", region: null });
  }

  /** @param {State} state */
  async #rank(state) {
    const turn = ++this.turn;
    const source = state.q ? `/api/pictures/${encodeURIComponent(state.q)}/thumbnail?side=320` : `/api/uploads/${encodeURIComponent(state.up)}/image`;
    fill(this.asked, h("img", { src: source, alt: t.askedPicture }), h("button", { type: "button", class: "small", onclick: () => this.#any() }, t.versus.another));
    try {
      const found = await Promise.all([this.left.value, this.right.value].map((by) => api.search({ query: queryOf(state), by, limit: SHOWN })));
      if (turn !== this.turn) return;
      const [ones, others] = found.map((answer) => answer.items.map((item) => item.id));
      const both = ones.filter((id) => others.includes(id)).length;
      this.said.textContent = t.versus.same(both, ones.length);
      found.forEach((answer, i) => fill(this.sides[i], ...answer.items.map((item, place) => {
        const there = (i ? ones : others).indexOf(item.id);
        const moved = there < 0 ? t.versus.only : there === place ? t.versus.here : t.versus.there(there + 1);
        return h("li", { class: there < 0 ? "only" : "" }, h("a", { href: hrefFor(asking({ q: item.id })), "data-ask": item.id, title: t.versus.named(item.name, moved) },
          h("img", { src: `${item.thumbnail}?side=320`, alt: t.versus.hit(place + 1, item.name, moved), loading: "lazy" })));
      })));
    } catch (error) {
      if (turn === this.turn) this.said.textContent = messageOf(error);
    }
  }
}
