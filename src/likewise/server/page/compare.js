// Compare: which of two pictures is closer to a third?  One key an answer, the next question there.

import { api, messageOf, thumbnail } from "./api.js";
import { openShareDialog } from "./compare-share.js";
import { fill, h, icon } from "./dom.js";
import { count, counted, percent } from "./format.js";
import { empty } from "./search.js";
import { current, go } from "./state.js";
import { complain, toast } from "./toast.js";

/** @typedef {import("./types.js").Comparison} Comparison */
/** @typedef {import("./types.js").Picture} Picture */
/** @typedef {import("./types.js").CompareProgress} Progress */

const AHEAD = 4; // questions asked for at once; their pictures are fetched before they are shown
const SIDE = 640;

export class CompareView {
  /** @param {import("./types.js").Me} me */
  constructor(me) {
    this.me = me;
    this.told = h("p", { class: "compare-told", role: "status" });
    this.body = h("div", { class: "compare-body" });
    this.people = h("section", { class: "people", hidden: true });
    this.share = h("button", { type: "button", class: "small", onclick: () => openShareDialog(() => this.#report()) }, icon("share"), "Ask others");
    this.undo = h("button", { type: "button", class: "quiet small", disabled: true, "aria-keyshortcuts": "u", onclick: () => this.#undo() }, icon("undo"), "Undo");
    this.el = h("div", { class: "view compare" },
      h("header", { class: "view-head" }, h("h1", {}, "Which is closer?"),
        h("div", { class: "how" }, this.undo, !me.guest && this.share)),
      this.told, this.body, this.people);
    /** @type {Comparison[]} */
    this.questions = [];
    /** @type {{number: number, question: Comparison}[]} */
    this.answered = [];
    this.busy = false;
    this.asking = false;
    this.seen = new Set();
    addEventListener("keydown", (event) => this.#key(event));
  }

  async show() {
    document.title = "Compare · Likewise";
    if (!this.questions.length) await this.#more();
    else this.#draw();
    if (!this.me.guest) this.#report();
  }

  async #more() {
    if (this.asking) return;
    this.asking = true;
    if (!this.questions.length) fill(this.body, h("p", { class: "empty", role: "status" }, "Looking for a question that teaches…"));
    try {
      const { questions, progress } = await api.questions(AHEAD, current().profile);
      const waiting = new Set(this.questions.map(keyOf));
      this.questions.push(...questions.filter((one) => !waiting.has(keyOf(one)) && !this.seen.has(keyOf(one))));
      for (const one of this.questions) for (const picture of [one.anchor, one.left, one.right]) preload(picture);
      this.#progress(progress);
      this.#draw();
    } catch (error) {
      if (!this.questions.length) fill(this.body, empty("That did not work.", messageOf(error), "Try again", () => this.#more(), true));
      else complain(error);
    } finally {
      this.asking = false;
    }
  }

  #draw() {
    const question = this.questions[0];
    if (!question) {
      fill(this.body, empty("No more questions now.", "Three pictures are needed for a question; add more of them, or come back when a new map was learned.", "Ask again", () => { this.seen.clear(); this.#more(); }));
      return;
    }
    const { anchor, left, right } = question;
    fill(this.body,
      h("figure", { class: "anchor" }, shown(anchor), h("figcaption", {}, "is closer to")),
      h("div", { class: "choice" },
        this.#choice(left, "left", "←"), this.#choice(right, "right", "→")),
      h("p", { class: "buttons" }, h("button", { type: "button", class: "quiet", "aria-keyshortcuts": "0", onclick: () => this.#skip() }, "Cannot say, skip", h("kbd", { "aria-hidden": "true" }, "0"))));
  }

  /** @param {Picture} picture @param {"left"|"right"} side @param {string} key */
  #choice(picture, side, key) {
    return h("button", { type: "button", class: `pick ${side}`, "aria-label": `Closer: the ${side} one, ${picture.name}`, onclick: () => this.#answer(side) },
      shown(picture), h("kbd", { "aria-hidden": "true" }, key));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (current().view !== "compare" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.target instanceof HTMLElement && event.target.matches("input, textarea, select")) return;
    if (event.key === "ArrowLeft") this.#answer("left");
    else if (event.key === "ArrowRight") this.#answer("right");
    else if (event.key === "0") this.#skip();
    else if (event.key === "u") this.#undo();
    else return;
    event.preventDefault();
  }

  /** @param {"left"|"right"} side */
  async #answer(side) {
    const question = this.questions[0];
    if (!question || this.busy) return;
    this.busy = true;
    const [nearer, farther] = side === "left" ? [question.left, question.right] : [question.right, question.left];
    this.#next();
    try {
      const { number, progress } = await api.compare({ anchor: question.anchor.id, nearer: nearer.id, farther: farther.id, profile: current().profile || "default" });
      this.answered.push({ number, question });
      this.undo.disabled = false;
      this.#progress(progress);
    } catch (error) {
      this.questions.unshift(question); // an answer is not lost: it is asked again
      this.#draw();
      complain(error);
    } finally {
      this.busy = false;
    }
  }

  #skip() {
    if (this.questions.length && !this.busy) this.#next();
  }

  #next() {
    const done = this.questions.shift();
    if (done) this.seen.add(keyOf(done));
    if (this.questions.length) this.#draw();
    if (this.questions.length < 2) this.#more();
  }

  async #undo() {
    const last = this.answered.at(-1);
    if (!last || this.busy) return;
    this.busy = true;
    try {
      const { progress } = await api.uncompare(last.number, current().profile || "default");
      this.answered.pop();
      this.undo.disabled = !this.answered.length;
      this.questions.unshift(last.question);
      this.#progress(progress);
      this.#draw();
    } catch (error) {
      complain(error);
    } finally {
      this.busy = false;
    }
  }

  /** @param {Progress} progress */
  #progress({ yours, all, agreement, tested }) {
    const said = [counted(yours, "answer")];
    if (all > yours) said.push(`${count(all)} with those of others`);
    if (agreement !== null) said.push(`a map that had not heard them agrees with ${percent(agreement)} of ${count(tested)}`);
    this.told.textContent = `${this.me.guest ? `${this.me.name}: ` : ""}${said.join(" · ")}`;
  }

  async #report() {
    try {
      const { people, repeated } = await api.compareReport(current().profile || "default");
      this.people.hidden = !people.length;
      fill(this.people, h("h2", {}, "Who said what"),
        h("p", { class: "soft" }, repeated ? `Where two people answered the same question (${counted(repeated.questions, "time")}), they agreed ${percent(repeated.agreement)}.` : "No question was answered by two people yet."),
        h("table", { class: "table" }, h("thead", {}, h("tr", {}, ...["Who", "Answers", "Agree with the map", "Agree with others"].map((one) => h("th", { scope: "col" }, one)))),
          h("tbody", {}, ...people.map((one) => h("tr", {}, h("th", { scope: "row" }, one.name || "you"),
            h("td", {}, count(one.answers)), h("td", {}, one.agreement === null ? "–" : percent(one.agreement)), h("td", {}, one.with_others === null ? "–" : percent(one.with_others)))))));
      if (people.reduce((sum, one) => sum + one.answers, 0) >= 5) {
        this.people.append(h("p", {}, h("button", { type: "button", onclick: () => this.#learn() }, icon("map"), "Draw the map from these")));
      }
    } catch (error) {
      complain(error);
    }
  }

  async #learn() {
    try {
      await api.learnModel({ kind: "map", name: "map" });
      toast("The map is being drawn.", { label: "Show it", act: () => go({ view: "map" }) });
    } catch (error) {
      complain(error);
    }
  }
}

/** @param {Comparison} question */
const keyOf = ({ anchor, left, right }) => [anchor.id, ...[left.id, right.id].sort()].join(" ");

/** @param {Picture} picture */
const address = (picture) => thumbnail(picture, SIDE);

/** @param {Picture} picture */
function preload(picture) {
  new Image().src = address(picture);
}

/** @param {Picture} picture */
const shown = (picture) => h("img", { src: address(picture), alt: picture.name, width: picture.width, height: picture.height });
