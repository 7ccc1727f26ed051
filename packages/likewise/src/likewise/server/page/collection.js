// The collection: what is in it, adding to it with progress, what could not be used, its health.

import { api, messageOf } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { bytes, count, duration } from "./format.js";
import * as known from "./known.js";
import * as live from "./live.js";
import { may } from "./role.js";
import { go, viewing } from "./state.js";
import { title } from "./title.js";
import { complain, toast } from "./toast.js";
import { empty } from "./search.js";
import { t } from "./texts.js";
import { lacksWords } from "./visual-words.js";
import { working } from "./working.js";

const PROBLEMS = 100;
const OURS = ["add", "sync", "describe"]; // the work this view tells the end of

export class CollectionView {
  constructor() {
    this.folder = h("input", { type: "text", id: "add-folder", required: true, placeholder: t.collection.example, autocomplete: "off", spellcheck: "false" });
    this.addButton = h("button", { class: "main" }, icon("plus"), t.collection.addButton);
    this.syncButton = h("button", { type: "button", onclick: () => this.#start(api.sync()) }, t.collection.rescan);
    this.form = h("form", { class: "add" }, h("label", { for: "add-folder" }, t.collection.folder), this.folder, this.addButton, this.syncButton,
      h("p", { class: "soft" }, t.collection.how));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#start(api.add(this.folder.value.trim()));
    });
    this.stage = h("b", {});
    this.detail = h("span", { class: "soft" });
    this.job = h("div", { class: "job", hidden: true, role: "status" }, h("p", {}, this.stage, " ", this.detail));
    this.describeButton = h("button", { type: "button", onclick: () => this.#start(api.describe()) }, icon("why"), t.visualWords.describe);
    this.describing = h("section", { hidden: true, "data-needs": "manage" }, h("h2", {}, t.visualWords.title),
      h("p", { class: "soft" }, `${t.visualWords.use} ${t.visualWords.cost}`), this.describeButton);
    this.about = h("div", {});
    this.problems = h("section", { class: "problems", hidden: true, tabindex: "-1", "aria-label": t.collection.skippedFiles });
    this.health = h("div", { role: "status" });
    this.verifyButton = h("button", { type: "button", onclick: () => this.#verify() }, icon("check"), t.collection.verify);
    this.title = h("h1", {}, t.collection.title);
    this.el = h("div", { class: "view" }, h("header", { class: "view-head" }, this.title),
      h("section", { "data-needs": "manage" }, h("h2", {}, t.collection.add), this.form, this.job),
      this.about, this.describing, this.problems,
      h("section", { "data-needs": "manage" }, h("h2", {}, t.collection.health), h("p", { class: "soft" }, t.collection.healthHow), this.verifyButton, this.health));
    working.onTurn((on) => this.#busy(on));
    live.on("done", (data) => this.#done(data));
    live.on("failed", (data) => this.#failed(data));
  }

  async show() {
    title(t.collection.title);
    try {
      const about = await known.collection.get();
      this.#draw(about);
      await this.#showProblems(about.problems);
    } catch (error) {
      fill(this.about, empty(t.failed, messageOf(error), t.tryAgain, () => { known.forgetAll(); this.show(); }, true));
    }
  }

  /** @param {import("./types.js").Collection} about */
  #draw(about) {
    this.title.textContent = about.name;
    this.describing.hidden = !about.pictures || !lacksWords(about);
    this.#busy(working.on);
    fill(this.about,
      h("dl", { class: "figures" },
        h("div", {}, h("dt", {}, t.collection.pictures(about.pictures)), h("dd", {}, count(about.pictures))),
        h("div", {}, h("dt", {}, t.collection.skipped(about.problems)), h("dd", {}, count(about.problems))),
        h("div", {}, h("dt", {}, t.collection.onDisk), h("dd", {}, bytes(about.bytes))),
        h("div", {}, h("dt", {}, t.collection.profile), h("dd", {}, about.profile))),
      about.hint && h("p", { class: "hint" }, about.hint),
      about.folders.length > 0 && h("section", {}, h("h2", {}, t.collection.folders), h("ul", { class: "paths" }, ...about.folders.map((path) => h("li", {}, icon("folder"), h("code", {}, path))))),
      about.spaces.length > 0 && h("section", {}, h("h2", {}, t.collection.spaces),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t.collection.spacesTable }, h("table", {},
          h("thead", {}, h("tr", {}, ...t.collection.columns.map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, ...about.spaces.map((space) => h("tr", {}, h("th", { scope: "row" }, t.ranking(space.name)), h("td", {}, space.kind), h("td", {}, count(space.pictures)), h("td", {}, count(space.width)), h("td", {}, space.generation), h("td", {}, space.bytes ? bytes(space.bytes) : t.collection.inCatalog))))))));
  }

  /** @param {number} total */
  async #showProblems(total) {
    this.problems.hidden = !total || !may("manage");
    if (this.problems.hidden) return;
    const list = h("ul", { class: "paths reasons" });
    const more = h("button", { type: "button", hidden: true }, t.collection.showMore);
    fill(this.problems, h("h2", {}, t.collection.skippedTitle(total)),
      h("p", { class: "soft" }, t.collection.skippedHow), list, more);
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
      this.#ended(t.collection.done, t.collection.describedIn(data.pictures, duration(data.seconds)));
      toast(t.collection.described(data.pictures));
    }
    if (data.what !== "add" && data.what !== "sync") return; // told by the view that asked for it
    const parts = [t.collection.added(data.added)];
    if (data.skipped) parts.push(t.collection.skippedN(data.skipped));
    if (data.videos) parts.push(t.collection.videos(data.videos));
    if (data.removed) parts.push(t.collection.removed(data.removed));
    this.#ended(t.collection.done, t.collection.endedIn(parts, duration(data.seconds)));
    toast(t.collection.ended(parts), data.skipped ? { label: t.collection.showSkipped, act: () => this.goToProblems() } : {});
  }

  /** @param {live.Failed} data */
  #failed(data) {
    if (!OURS.includes(data.what)) return; // told by the view that asked for it
    const told = data.stopped ? t.collection.kept : data.message;
    this.#ended(data.stopped ? t.collection.stopped : t.collection.failed, told);
    toast(data.stopped ? t.collection.stoppedKept : told, { bad: !data.stopped });
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
    fill(this.health, h("p", { class: "soft" }, t.collection.verifying));
    try {
      const { wrong } = await api.verify();
      fill(this.health, wrong.length
        ? h("ul", { class: "paths reasons bad" }, ...wrong.map((text) => h("li", {}, text)))
        : h("p", { class: "good" }, icon("check"), t.collection.healthy));
    } catch (error) {
      fill(this.health, h("p", { class: "bad" }, messageOf(error)));
    } finally {
      this.verifyButton.disabled = false;
    }
  }
}
