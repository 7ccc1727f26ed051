// Answers that wait: whose they are, and the button that lets the profile learn them.

import { api } from "./api.js";
import { fill, h, icon } from "./dom.js";
import * as known from "./known.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

export class WaitingAnswers {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    this.el = h("section", { class: "waiting-answers", hidden: true, "aria-label": t.waiting.label });
  }

  /** @param {string} profile */
  async show(profile) {
    try {
      const { items } = await api.waiting(profile);
      this.el.hidden = !items.length;
      fill(this.el, h("h2", {}, t.waiting.title),
        h("p", { class: "soft" }, t.waiting.how(profile === "default" ? "" : profile)),
        h("ul", { class: "shares" }, ...items.map((one) => h("li", {},
          h("span", {}, t.waiting.answers(one.answers, one.name)),
          h("button", { type: "button", class: "small", "aria-label": t.waiting.takeInOne(one.answers, one.name), onclick: () => this.#takeIn(one.profile, profile) }, icon("check"), t.waiting.takeIn)))));
    } catch (error) {
      complain(error);
    }
  }

  /** @param {string} answers @param {string} profile */
  async #takeIn(answers, profile) {
    try {
      const { before, items } = await api.takeIn(answers, profile);
      known.forgetAll();
      toast(t.waiting.took(items.map((one) => t.waiting.answers(one.answers, one.name))), { label: t.undo, act: async () => {
        try {
          await api.rollBack(profile, before);
          known.forgetAll();
          this.changed();
        } catch (error) {
          complain(error);
        }
      } });
      this.changed();
    } catch (error) {
      complain(error);
    }
  }
}
