// The collection: what is in it, adding to it with progress, what could not be used, its health.

import { api, messageOf } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { bytes, count, counted, duration } from "./format.js";
import * as known from "./known.js";
import * as live from "./live.js";
import { go, viewing } from "./state.js";
import { title } from "./title.js";
import { complain, toast } from "./toast.js";
import { empty } from "./search.js";
import { lacksWords, WORDS_COST, WORDS_USE } from "./visual-words.js";
import { working } from "./working.js";

const PROBLEMS = 100;
const OURS = ["add", "sync", "describe"]; // the work this view tells the end of

export class CollectionView {
  constructor() {
    this.folder = h("input", { type: "text", id: "add-folder", required: true, placeholder: "/home/me/Pictures", autocomplete: "off", spellcheck: "false" });
    this.addButton = h("button", { class: "main" }, icon("plus"), "Add");
    this.syncButton = h("button", { type: "button", onclick: () => this.#start(api.sync()) }, "Look again");
    this.form = h("form", { class: "add" }, h("label", { for: "add-folder" }, "A folder on this machine"), this.folder, this.addButton, this.syncButton,
      h("p", { class: "soft" }, "Pictures stay where they are: I only remember what they look like. Look again follows what changed in folders that were added."));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#start(api.add(this.folder.value.trim()));
    });
    this.stage = h("b", {});
    this.detail = h("span", { class: "soft" });
    this.job = h("div", { class: "job", hidden: true, role: "status" }, h("p", {}, this.stage, " ", this.detail));
    this.describeButton = h("button", { type: "button", onclick: () => this.#start(api.describe()) }, icon("why"), "Describe by visual words too");
    this.describing = h("section", { hidden: true }, h("h2", {}, "Visual words"),
      h("p", { class: "soft" }, `${WORDS_USE} ${WORDS_COST}`), this.describeButton);
    this.about = h("div", {});
    this.problems = h("section", { class: "problems", hidden: true, tabindex: "-1", "aria-label": "Skipped files" });
    this.health = h("div", { role: "status" });
    this.verifyButton = h("button", { type: "button", onclick: () => this.#verify() }, icon("check"), "Verify every byte");
    this.title = h("h1", {}, "Collection");
    this.el = h("div", { class: "view" }, h("header", { class: "view-head" }, this.title),
      h("section", {}, h("h2", {}, "Add pictures"), this.form, this.job),
      this.about, this.describing, this.problems,
      h("section", {}, h("h2", {}, "Health"), h("p", { class: "soft" }, "Compares every file of the collection with its checksum. It takes a while on a large one."), this.verifyButton, this.health));
    working.onTurn((on) => this.#busy(on));
    live.on("done", (data) => this.#done(data));
    live.on("failed", (data) => this.#failed(data));
  }

  async show() {
    title("Collection");
    try {
      const about = await known.collection.get();
      this.#draw(about);
      await this.#showProblems(about.problems);
    } catch (error) {
      fill(this.about, empty("That did not work.", messageOf(error), "Try again", () => { known.forgetAll(); this.show(); }, true));
    }
  }

  /** @param {import("./types.js").Collection} about */
  #draw(about) {
    this.title.textContent = about.name;
    this.describing.hidden = !about.pictures || !lacksWords(about);
    this.#busy(working.on);
    fill(this.about,
      h("dl", { class: "figures" },
        h("div", {}, h("dt", {}, about.pictures === 1 ? "picture" : "pictures"), h("dd", {}, count(about.pictures))),
        h("div", {}, h("dt", {}, about.problems === 1 ? "file skipped" : "files skipped"), h("dd", {}, count(about.problems))),
        h("div", {}, h("dt", {}, "on disk"), h("dd", {}, bytes(about.bytes))),
        h("div", {}, h("dt", {}, "learning profile"), h("dd", {}, about.profile))),
      about.hint && h("p", { class: "hint" }, about.hint),
      about.folders.length > 0 && h("section", {}, h("h2", {}, "Folders"), h("ul", { class: "paths" }, ...about.folders.map((path) => h("li", {}, icon("folder"), h("code", {}, path))))),
      about.spaces.length > 0 && h("section", {}, h("h2", {}, "Ways of looking"),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of ways of looking" }, h("table", {},
          h("thead", {}, h("tr", {}, ...["Space", "Kind", "Pictures", "Width", "Generation", "Size"].map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, ...about.spaces.map((space) => h("tr", {}, h("th", { scope: "row" }, space.name), h("td", {}, space.kind), h("td", {}, count(space.pictures)), h("td", {}, count(space.width)), h("td", {}, space.generation), h("td", {}, space.bytes ? bytes(space.bytes) : "in the catalog"))))))));
  }

  /** @param {number} total */
  async #showProblems(total) {
    this.problems.hidden = !total;
    if (!total) return;
    const list = h("ul", { class: "paths reasons" });
    const more = h("button", { type: "button", hidden: true }, "Show more");
    fill(this.problems, h("h2", {}, `${counted(total, "file")} skipped`),
      h("p", { class: "soft" }, "These could not be used. Mend or remove them, then Look again."), list, more);
    let shown = 0;
    const load = async () => {
      try {
        const page = await api.problems(shown, PROBLEMS);
        shown += page.items.length;
        list.append(...page.items.map((one) => h("li", {}, h("code", {}, one.path), h("span", {}, one.problem))));
        more.hidden = shown >= page.total;
      } catch (error) {
        complain(error);
      }
    };
    more.addEventListener("click", load);
    await load();
  }

  // -- long work ------------------------------------------------------------------------------

  /** @param {Promise<{job: number}>} asked */
  async #start(asked) {
    try {
      await asked;
      this.job.hidden = true; // what it says is of the one before
      known.collection.forget();
      working.ask();
    } catch (error) {
      complain(error);
    }
  }

  /** @param {boolean} on one thing at a time: what would be refused cannot be pressed */
  #busy(on) {
    for (const button of [this.addButton, this.syncButton, this.describeButton]) button.disabled = on;
  }

  /** @param {live.Done} data */
  #done(data) {
    if (data.what === "describe") {
      this.#ended("Done.", `${counted(data.pictures, "picture")} described by visual words too, in ${duration(data.seconds)}.`);
      toast(`${counted(data.pictures, "picture")} described by visual words too.`);
    }
    if (data.what !== "add" && data.what !== "sync") return; // told by the view that asked for it
    const parts = [`${counted(data.added, "picture")} added`];
    if (data.skipped) parts.push(`${counted(data.skipped, "file")} skipped`);
    if (data.removed) parts.push(`${count(data.removed)} removed`);
    this.#ended("Done.", `${parts.join(", ")} in ${duration(data.seconds)}.`);
    toast(`${parts.join(", ")}.`, data.skipped ? { label: "Show skipped files", act: () => this.goToProblems() } : {});
  }

  /** @param {live.Failed} data */
  #failed(data) {
    if (!OURS.includes(data.what)) return; // told by the view that asked for it
    const told = data.stopped ? "What was done by then is kept." : data.message;
    this.#ended(data.stopped ? "Stopped." : "It failed.", told);
    toast(data.stopped ? `Stopped. ${told}` : told, { bad: !data.stopped });
  }

  /** @param {string} stage @param {string} detail */
  #ended(stage, detail) {
    this.job.hidden = false;
    this.stage.textContent = stage;
    this.detail.textContent = detail;
    known.forgetAll();
    if (this.el.isConnected) this.show();
  }

  /** What could not be used, from wherever one is. */
  async goToProblems() {
    go(viewing("collection"));
    await this.show();
    this.problems.scrollIntoView({ block: "start" });
    this.problems.focus({ preventScroll: true });
  }

  async #verify() {
    this.verifyButton.disabled = true;
    fill(this.health, h("p", { class: "soft" }, "Reading…"));
    try {
      const { wrong } = await api.verify();
      fill(this.health, wrong.length
        ? h("ul", { class: "paths reasons bad" }, ...wrong.map((text) => h("li", {}, text)))
        : h("p", { class: "good" }, icon("check"), " Every byte is as it was written."));
    } catch (error) {
      fill(this.health, h("p", { class: "bad" }, messageOf(error)));
    } finally {
      this.verifyButton.disabled = false;
    }
  }
}
