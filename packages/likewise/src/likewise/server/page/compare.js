// Compare: which of two pictures is closer to a third?  One key an answer, the next question there.

import { api, ApiError, messageOf, thumbnail } from "./api.js";
import { openShareDialog } from "./compare-share.js";
import { WaitingAnswers } from "./compare-waiting.js";
import { fill, h, icon } from "./dom.js";
import { count, percent } from "./format.js";
import { jobBox } from "./job.js";
import * as known from "./known.js";
import { Outbox } from "./outbox.js";
import { may } from "./role.js";
import { empty } from "./search.js";
import { current, go } from "./state.js";
import { t } from "./texts.js";
import { title } from "./title.js";
import { complain, toast } from "./toast.js";
import { working } from "./working.js";

/** @typedef {import("./types.js").Comparison} Comparison */
/** @typedef {import("./types.js").Picture} Picture */
/** @typedef {import("./types.js").CompareProgress} Progress */

const AHEAD = 4; // questions asked for at once; their pictures are fetched before they are shown
const TRIES = 3; // how often more are asked for where what came had been seen
const SIDE = 640;
const GAIN_EVERY = 10; // answers after which what they brought is told

export class CompareView {
  /** @param {import("./types.js").Me} me */
  constructor(me) {
    this.me = me;
    this.whose = h("span", { class: "soft" });
    this.told = h("p", { class: "compare-told", role: "status" });
    this.goal = h("progress", { max: "20", value: "0", "aria-label": t.compare.goal });
    this.goalSaid = h("span", {});
    this.gain = h("p", { class: "compare-gain", role: "status", hidden: true });
    this.body = h("div", { class: "compare-body" });
    this.waiting = new WaitingAnswers(() => this.#report());
    this.drawing = false;
    this.people = h("section", { class: "people", hidden: true });
    this.share = h("button", { type: "button", class: "small", "data-needs": "manage", onclick: () => openShareDialog(this.profile, () => this.#report()) }, icon("share"), t.compare.askOthers);
    this.undo = h("button", { type: "button", class: "quiet small", disabled: true, "aria-keyshortcuts": "u", onclick: () => this.#undo() }, icon("undo"), t.undo);
    this.job = jobBox(["learn map"], (done) => {
      this.drawing = false;
      if (current().view === "compare") this.#report();
      return done.told;
    });
    this.el = h("div", { class: "view compare" },
      h("header", { class: "view-head" }, h("h1", {}, t.compare.which), this.whose,
        h("div", { class: "how" }, this.undo, !me.guest && this.share)),
      h("div", { class: "compare-goal" }, this.goal, this.goalSaid, this.told), this.gain, this.body, this.waiting.el, this.people, this.job.el);
    /** @type {Comparison[]} */
    this.questions = [];
    /** @type {{number: number, question: Comparison}[]} */
    this.answered = [];
    /** Answers go one after the other, however fast the keys. */
    this.outbox = new Outbox();
    this.asking = false;
    this.profile = "default";
    this.seen = new Set();
    addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {import("./state.js").State} state */
  async show(state) {
    title(t.compare.title);
    const about = this.me.guest ? null : await known.collection.get().catch(() => null);
    const profile = state.profile || about?.profile || "default";
    if (profile !== this.profile) {
      // What was asked for one profile is not answered for another.
      this.profile = profile;
      this.questions = [];
      this.answered = [];
      this.undo.disabled = true;
    }
    this.whose.textContent = this.me.guest || profile === "default" ? "" : t.compare.forProfile(profile);
    if (!this.questions.length) await this.#more();
    else this.#draw();
    if (!this.me.guest) this.#report();
  }

  async #more() {
    if (this.asking) return;
    this.asking = true;
    if (!this.questions.length) fill(this.body, h("p", { class: "empty", role: "status" }, t.compare.looking));
    try {
      for (let tries = 0; tries < TRIES && this.questions.length < AHEAD - 1; tries += 1) {
        const profile = this.profile;
        const { questions, progress } = await api.questions(AHEAD, profile, Math.floor(Math.random() * 2 ** 31));
        if (profile !== this.profile) continue; // what was asked for one profile is not answered for another
        const idle = !this.questions.length;
        const waiting = new Set(this.questions.map(keyOf));
        this.questions.push(...questions.filter((one) => !waiting.has(keyOf(one)) && !this.seen.has(keyOf(one))));
        for (const one of this.questions) for (const picture of [one.anchor, one.left, one.right]) preload(picture);
        this.#progress(progress);
        if (idle && this.questions.length) this.#draw();
      }
    } catch (error) {
      if (!this.questions.length) fill(this.body, empty(t.compare.noQuestion, messageOf(error), t.tryAgain, () => this.#more(), true));
      else complain(error);
    } finally {
      this.asking = false;
      if (!this.questions.length && this.body.querySelector('p[role="status"]')) this.#draw();
    }
  }

  #draw() {
    const question = this.questions[0];
    if (!question && this.asking) {
      fill(this.body, h("p", { class: "empty", role: "status" }, t.compare.looking));
      return;
    }
    if (!question) {
      fill(this.body, empty(t.compare.noMore, t.compare.noMoreWhy, t.compare.again, () => { this.seen.clear(); this.#more(); }));
      return;
    }
    const { anchor, left, right } = question;
    const side = document.activeElement instanceof HTMLElement && this.body.contains(document.activeElement) ? (document.activeElement.classList.contains("right") ? ".right" : ".left") : "";
    fill(this.body,
      h("figure", { class: "anchor" }, shown(anchor), h("figcaption", {}, t.compare.closerTo)),
      h("div", { class: "choice" },
        this.#choice(left, "left", "←"), this.#choice(right, "right", "→")),
      h("p", { class: "buttons" }, h("button", { type: "button", class: "quiet", "aria-keyshortcuts": "0", onclick: () => this.#skip() }, t.compare.skip, h("kbd", { "aria-hidden": "true" }, "0"))));
    // Who answers by keyboard or touch goes on from the same place.
    if (side) /** @type {HTMLElement|null} */ (this.body.querySelector(side))?.focus({ preventScroll: true });
  }

  /** @param {Picture} picture @param {"left"|"right"} side @param {string} key */
  #choice(picture, side, key) {
    return h("button", { type: "button", class: `pick ${side}`, "aria-label": t.compare.choice(side, picture.name), onclick: () => this.#answer(side) },
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
  #answer(side) {
    const question = this.questions[0];
    if (!question) return;
    const [nearer, farther] = side === "left" ? [question.left, question.right] : [question.right, question.left];
    const said = { anchor: question.anchor.id, nearer: nearer.id, farther: farther.id, profile: this.profile, once: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
    this.#next();
    this.#send(said, question);
  }

  /**
   * @param {Parameters<typeof api.compare>[0]} said
   * @param {Comparison} question
   */
  async #send(said, question) {
    try {
      // A reply can be lost on its way: the same answer is sent once more, and counts once.
      const { number, progress } = await this.outbox.add(() => api.compare(said).catch((error) => {
        if (error instanceof ApiError && error.status) throw error;
        return api.compare(said);
      }));
      this.answered.push({ number, question });
      this.undo.disabled = false;
      this.#progress(progress);
      this.#reached(progress);
    } catch (error) {
      this.seen.delete(keyOf(question));
      this.questions.unshift(question); // an answer is not lost: it is asked again
      this.#draw();
      complain(error);
    }
  }

  #skip() {
    if (this.questions.length) this.#next();
  }

  #next() {
    const done = this.questions.shift();
    if (done) this.seen.add(keyOf(done));
    this.#draw();
    if (this.questions.length < 3) this.#more();
  }

  async #undo() {
    try {
      const done = await this.outbox.add(async () => {
        const last = this.answered.at(-1); // in its turn: what was answered before has its number
        if (!last) return null;
        const { progress } = await api.uncompare(last.number, this.profile);
        this.answered.pop();
        return { last, progress };
      }, { undoes: true });
      if (!done) return;
      this.undo.disabled = !this.answered.length;
      this.questions.unshift(done.last.question);
      this.#progress(done.progress);
      this.#draw();
    } catch (error) {
      complain(error);
    }
  }

  /** @param {Progress} progress */
  #progress({ yours, all, since, goal }) {
    const said = [t.compare.answers(yours)];
    if (all > yours) said.push(t.compare.withOthers(all));
    this.told.textContent = this.me.guest ? t.compare.guest(this.me.name, said.join(" · ")) : said.join(" · ");
    this.goal.max = goal;
    this.goal.value = Math.min(since, goal);
    const left = goal - since;
    this.goalSaid.textContent = left > 0 ? t.compare.goalLeft(left, Boolean(this.me.guest)) : this.drawing ? t.compare.drawing : t.compare.goalReached;
  }

  /** A round number of answers: what they brought, and a new map. @param {Progress} progress */
  #reached(progress) {
    if (progress.yours % GAIN_EVERY === 0) {
      this.#tellGain(progress);
      if (!this.me.guest) this.#report(true);
    }
    // While other work is under way it waits: the next answer asks again.
    if (!this.me.guest && !this.drawing && !working.on && progress.since >= progress.goal) this.#learn();
  }

  /** @param {Progress} progress */
  #tellGain({ yours, all, agreement, plain, gain, tested, goal }) {
    this.gain.hidden = false;
    if (agreement === null || plain === null || !gain) {
      this.gain.textContent = t.compare.unmeasured(yours, all < goal ? goal : null);
      return;
    }
    const [low, high] = gain;
    const verdict = Math.round(100 * low) > 0 ? "better" : Math.round(100 * high) < 0 ? "worse" : "unclear";
    this.gain.textContent = t.compare.gain(yours, agreement, plain, tested, t.accuracy.claim(verdict, gain));
  }

  /** @param {boolean} tell the gain too */
  async #report(tell = false) {
    this.waiting.show(this.profile);
    try {
      const { people, repeated, progress } = await api.compareReport(this.profile);
      this.#progress(progress);
      if (tell) this.#tellGain(progress);
      this.people.hidden = !people.length;
      fill(this.people, h("h2", {}, t.compare.who),
        h("p", { class: "soft" }, repeated ? t.compare.repeated(repeated.questions, repeated.agreement) : t.compare.notRepeated),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t.compare.table }, h("table", { class: "table" }, h("thead", {}, h("tr", {}, ...t.compare.columns.map((one) => h("th", { scope: "col" }, one)))),
          h("tbody", {}, ...people.map((one) => h("tr", {}, h("th", { scope: "row" }, one.name || t.compare.you),
            h("td", {}, count(one.answers)), h("td", {}, one.agreement === null ? "–" : percent(one.agreement)), h("td", {}, one.with_others === null ? "–" : percent(one.with_others))))))));
      if (people.reduce((sum, one) => sum + one.answers, 0) >= 5) {
        this.people.append(h("p", { "data-needs": "manage" }, h("button", { type: "button", onclick: () => this.#learn() }, icon("map"), t.compare.draw)));
      }
    } catch (error) {
      complain(error);
    }
  }

  async #learn() {
    if (!may("manage")) return; // the map is drawn when somebody who may asks for it
    this.drawing = true;
    this.goalSaid.textContent = t.compare.drawing;
    try {
      const { job } = await api.learnModel({ kind: "map", name: "map", profile: this.profile });
      this.job.started(job);
      toast(t.compare.drawing, { label: t.compare.show, act: () => go({ view: "map", map: "map" }) });
    } catch (error) {
      complain(error);
      this.drawing = false;
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
