// Long work: one line under the top of every view, and the same words in the title of the tab.

import { api } from "./api.js";
import { h, icon, need } from "./dom.js";
import { count, decimal, duration } from "./format.js";
import * as known from "./known.js";
import * as live from "./live.js";
import { t } from "./texts.js";
import { titleOfWork } from "./title.js";
import { complain } from "./toast.js";

/** @typedef {import("./live.js").Progress} Progress */

const ADDING = "adding pictures"; // the stage whose pictures can be searched as they come
const SPEAKING = 5000; // milliseconds between two words on progress to a screen reader

/** @param {string} text */
const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** "1,240 of 3,068 searchable, 4 min left"; of other stages with their name. @param {Progress} data */
export function howFar(data) {
  const counted = data.total ? t.work.of(data.done, data.total) : count(data.done);
  const said = data.stage === ADDING ? t.work.searchable(counted) : t.work.stage(upper(data.stage), counted);
  return data.left ? t.work.left(said, duration(data.left)) : said;
}

/** What stands behind it in soft letters. @param {Progress} data */
function more(data) {
  const parts = [];
  if (data.rate) parts.push(t.work.rate(decimal(data.rate, data.rate >= 10 ? 0 : 1)));
  if (data.problems) parts.push(t.work.skipped(data.problems));
  if (data.note) parts.push(data.note);
  return parts.join(", ");
}

class Working {
  constructor() {
    this.said = h("b", {});
    this.detail = h("span", { class: "soft" });
    this.bar = h("progress", { "aria-label": t.work.progress });
    this.stop = h("button", { type: "button", class: "quiet small", onclick: () => this.#stop() }, icon("close"), t.work.stop);
    this.spoken = h("p", { class: "spoken", role: "status" });
    this.spokenAt = -SPEAKING;
    // The line itself is no live region: it changes all the time.
    this.el = h("section", { class: "working", hidden: true, "aria-label": t.work.label },
      h("p", {}, this.said, " ", this.detail), this.stop, this.bar, this.spoken);
    this.job = 0;
    this.ended = 0; // the newest job that has ended
    /** @type {Progress|null} */
    this.last = null;
    /** @type {((on: boolean) => void)[]} */
    this.listeners = [];
  }

  get on() {
    return !this.el.hidden;
  }

  /** @param {(on: boolean) => void} listener told when work began or ended */
  onTurn(listener) {
    this.listeners.push(listener);
  }

  /** Begin to listen, and put the line in its place. */
  listen() {
    need("#main").before(this.el);
    live.on("progress", (data) => this.#progress(data));
    for (const event of /** @type {const} */ (["done", "failed"])) {
      live.on(event, (data) => {
        this.ended = Math.max(this.ended, data.job);
        this.#turn(false);
      });
    }
    live.on("lost", () => {
      this.ended = 0; // a server that is started again counts its jobs from one
      this.#turn(false);
    });
    live.on("joined", () => {
      known.collection.forget();
      this.ask();
    });
  }

  /** Another program may have begun something. */
  ask() {
    known.collection.get().then((about) => this.know(about.job), () => {});
  }

  /** What the collection says is under way: 0 is the work of another program. @param {import("./types.js").Running|null} job */
  know(job) {
    if (!job) this.#turn(false); // its end was not heard
    if (!job || (job.job && job.job <= this.ended)) return;
    if (job.progress) this.#progress(job.progress);
    else if (!this.on || job.job !== this.job) this.#show(job.job, t.work.names[job.what] ?? upper(job.what), "");
  }

  /** @param {Progress} data */
  #progress(data) {
    if (data.job <= this.ended) return;
    // Two ways lead here, and what was asked for can be older than what was told.
    const { last } = this;
    if (last && last.job === data.job && last.stage === data.stage && last.done > data.done) return;
    this.#show(data.job, howFar(data), more(data));
    this.last = data;
    if (data.total) [this.bar.max, this.bar.value] = [data.total, data.done];
  }

  /** @param {number} job @param {string} said @param {string} detail */
  #show(job, said, detail) {
    if (job !== this.job) {
      this.stop.disabled = false;
      this.last = null;
    }
    this.job = job;
    this.stop.hidden = !job; // another program's cannot be stopped from here
    this.said.textContent = said;
    this.detail.textContent = this.stop.disabled ? t.work.stopping : detail;
    this.bar.removeAttribute("value");
    titleOfWork(said);
    this.#turn(true);
    this.#speak(said);
  }

  /** Numbers run on for the eye; the ear gets one now and then. @param {string} text */
  #speak(text) {
    if (performance.now() - this.spokenAt < SPEAKING) return;
    this.spokenAt = performance.now();
    this.spoken.textContent = text;
  }

  /** @param {boolean} on */
  #turn(on) {
    if (this.on === on) return;
    this.el.hidden = !on;
    document.body.classList.toggle("busy", on);
    if (!on) {
      titleOfWork("");
      this.last = null;
      this.job = 0;
      this.spoken.textContent = "";
      this.spokenAt = -SPEAKING;
      this.stop.disabled = false;
    }
    for (const listener of this.listeners) listener(on);
  }

  async #stop() {
    this.stop.disabled = true;
    this.detail.textContent = t.work.stopping;
    try {
      await api.stop(this.job);
    } catch (error) {
      this.stop.disabled = false;
      complain(error);
    }
  }
}

export const working = new Working();
