// The collection: what is in it, adding to it with progress, what could not be used, its health.

import { api, messageOf } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { bytes, count, counted, duration } from "./format.js";
import * as known from "./known.js";
import * as live from "./live.js";
import { complain, toast } from "./toast.js";
import { empty } from "./search.js";

const PROBLEMS = 100;
const SPEAKING = 5000; // milliseconds between two words on progress to a screen reader

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
    this.bar = h("progress", { "aria-label": "Progress" });
    this.stage = h("b", {});
    this.detail = h("span", { class: "soft" });
    this.job = h("div", { class: "job", hidden: true }, h("p", {}, this.stage, " ", this.detail), this.bar);
    this.spoken = h("p", { class: "spoken", role: "status" });
    this.spokenAt = -SPEAKING;
    this.about = h("div", {});
    this.problems = h("section", { class: "problems", hidden: true });
    this.health = h("div", { role: "status" });
    this.verifyButton = h("button", { type: "button", onclick: () => this.#verify() }, icon("check"), "Verify every byte");
    this.title = h("h1", {}, "Collection");
    this.el = h("div", { class: "view" }, h("header", { class: "view-head" }, this.title),
      h("section", {}, h("h2", {}, "Add pictures"), this.form, this.job, this.spoken),
      this.about, this.problems,
      h("section", {}, h("h2", {}, "Health"), h("p", { class: "soft" }, "Compares every file of the collection with its checksum. It takes a while on a large one."), this.verifyButton, this.health));
    this.shown = 0;
    live.on("progress", (data) => this.#progress(data));
    live.on("done", (data) => this.#done(data));
    live.on("failed", (data) => this.#failed(data));
  }

  async show() {
    document.title = "Collection · Likewise";
    try {
      const about = await known.collection.get();
      this.#draw(about);
      if (about.job && this.job.hidden) this.#running(about.job.what === "add" ? "Adding pictures" : about.job.what, "");
      if (!about.job && !this.job.classList.contains("ended")) this.#idle();
      await this.#showProblems(about.problems);
    } catch (error) {
      fill(this.about, empty("That did not work.", messageOf(error), "Try again", () => { known.forgetAll(); this.show(); }, true));
    }
  }

  /** @param {import("./types.js").Collection} about */
  #draw(about) {
    this.title.textContent = about.name;
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
    this.shown = 0;
    const load = async () => {
      try {
        const page = await api.problems(this.shown, PROBLEMS);
        this.shown += page.items.length;
        list.append(...page.items.map((one) => h("li", {}, h("code", {}, one.path), h("span", {}, one.problem))));
        more.hidden = this.shown >= page.total;
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
      this.job.classList.remove("ended");
      this.#running("Starting", "");
    } catch (error) {
      complain(error);
    }
  }

  /** @param {string} stage @param {string} detail */
  #running(stage, detail) {
    this.job.hidden = false;
    this.job.classList.remove("ended");
    this.stage.textContent = stage;
    this.detail.textContent = detail;
    this.#speak(`${stage} ${detail}`, false);
    this.bar.hidden = false;
    this.addButton.disabled = true;
    this.syncButton.disabled = true;
  }

  /** Numbers run on for the eye; the ear gets one now and then. @param {string} text @param {boolean} last */
  #speak(text, last) {
    if (!last && performance.now() - this.spokenAt < SPEAKING) return;
    this.spokenAt = performance.now();
    this.spoken.textContent = text;
  }

  #idle() {
    this.job.hidden = true;
    this.addButton.disabled = false;
    this.syncButton.disabled = false;
  }

  /** @param {live.Progress} data */
  #progress(data) {
    const problems = data.problems ? `, ${counted(data.problems, "file")} skipped` : "";
    this.#running(data.stage.charAt(0).toUpperCase() + data.stage.slice(1), data.total ? `${count(data.done)} of ${count(data.total)}${problems}` : `${count(data.done)}${problems}`);
    if (data.total) {
      this.bar.max = data.total;
      this.bar.value = data.done;
    } else {
      this.bar.removeAttribute("value");
    }
  }

  /** @param {live.Done} data */
  #done(data) {
    if (data.what !== "add" && data.what !== "sync") {
      this.#idle(); // told by the view that asked for it
      return;
    }
    const parts = [`${counted(data.added, "picture")} added`];
    if (data.skipped) parts.push(`${counted(data.skipped, "file")} skipped`);
    if (data.removed) parts.push(`${count(data.removed)} removed`);
    this.#ended("Done.", `${parts.join(", ")} in ${duration(data.seconds)}.`);
    toast(`${parts.join(", ")}.`);
  }

  /** @param {live.Failed} data */
  #failed(data) {
    this.#ended("It stopped.", data.message);
    toast(data.message, { bad: true });
  }

  /** @param {string} stage @param {string} detail */
  #ended(stage, detail) {
    this.#idle();
    this.job.hidden = false;
    this.job.classList.add("ended");
    this.stage.textContent = stage;
    this.detail.textContent = detail;
    this.#speak(`${stage} ${detail}`, true);
    this.bar.hidden = true;
    known.forgetAll();
    if (this.el.isConnected) this.show();
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
