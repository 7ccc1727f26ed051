// Answers that wait: whose they are, and the button that lets the profile learn them.

import { api } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { counted } from "./format.js";
import * as known from "./known.js";
import { complain, toast } from "./toast.js";

/** @param {string} name */
const whose = (name) => (name ? `of ${name}` : "of yours");

export class WaitingAnswers {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    this.el = h("section", { class: "waiting-answers", hidden: true, "aria-label": "Answers that wait" });
  }

  /** @param {string} profile */
  async show(profile) {
    try {
      const { items } = await api.waiting(profile);
      this.el.hidden = !items.length;
      fill(this.el, h("h2", {}, "Not taken in yet"),
        h("p", { class: "soft" }, `These answers draw the map. They change no search result until you take them in${profile === "default" ? "" : ` to ${profile}`}.`),
        h("ul", { class: "shares" }, ...items.map((one) => h("li", {},
          h("span", {}, `${counted(one.answers, "answer")} ${whose(one.name)}`),
          h("button", { type: "button", class: "small", "aria-label": `Take in ${counted(one.answers, "answer")} ${whose(one.name)}`, onclick: () => this.#takeIn(one.profile, profile) }, icon("check"), "Take in")))));
    } catch (error) {
      complain(error);
    }
  }

  /** @param {string} answers @param {string} profile */
  async #takeIn(answers, profile) {
    try {
      const { before, items } = await api.takeIn(answers, profile);
      known.forgetAll();
      const told = items.map((one) => `${counted(one.answers, "answer")} ${whose(one.name)}`).join(", ");
      toast(`Taken in: ${told}.`, { label: "Undo", act: async () => {
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
