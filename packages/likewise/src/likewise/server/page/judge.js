// Saying what is alike: more like this, not this, and taking it back.  Every judgement is on disk
// before the server answers; the order that follows from it is then asked for.  Whoever presses fast
// and leaves the page has still said it all (outbox.js).

import { api } from "./api.js";
import { Outbox } from "./outbox.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

/** @typedef {import("./types.js").Item} Item */
/** @typedef {import("./types.js").Verdict} Verdict */

export class Judge {
  /**
   * @param {object} links
   * @param {() => import("./types.js").Asked} links.asked
   * @param {() => string} links.profile the one that learns
   * @param {() => boolean} links.ranked whether the order shown is that profile's
   * @param {() => Promise<void>} links.again fetch the new order and show it
   * @param {() => void} links.rankByProfile
   */
  constructor(links) {
    this.links = links;
    this.outbox = new Outbox();
    this.waiting = 0;
    /** @type {Promise<void>} one after the other, in the order in which they were said */
    this.line = Promise.resolve();
    this.owed = false; // whether a new order is still to be shown
    /** @type {Set<string>} judgements on their way: said twice they count once */
    this.under = new Set();
    /** @type {Map<string, {number: number, verdict: Verdict}>} said on this page, by query and picture */
    this.said = new Map();
  }

  get busy() {
    return this.waiting > 0;
  }

  /** @param {Item} item */
  #key(item) {
    return JSON.stringify([this.links.profile(), this.links.asked(), item.id]);
  }

  /**
   * @param {Item} item
   * @param {Verdict} verdict
   */
  async judge(item, verdict) {
    const key = this.#key(item);
    const way = `${verdict} ${key}`;
    if (this.under.has(way)) return;
    if (item.verdict === verdict) {
      const known = this.said.get(key);
      if (known?.verdict === verdict) await this.undo(known.number);
      else toast(t.judge.already(item.name));
      return;
    }
    // What it is about is settled now: the page may be elsewhere when its turn comes.
    const asked = this.links.asked();
    const profile = this.links.profile();
    this.under.add(way);
    // What was merely on show is not sent: each press is an answer of its own, and a good picture
    // above the chosen one that needs no help must not count as passed over.
    const list = verdict === "liked" ? { liked: [item.id] } : { disliked: [item.id] };
    const sent = this.outbox.add(() => api.judge({ ...asked, ...list, shown: null, profile }));
    sent.catch(() => {}); // told when its turn comes
    await this.#inTurn(async () => {
      const made = await sent;
      this.said.set(key, { number: made.judgement, verdict });
      await this.#again();
      const said = t.judge.said(verdict, item.name);
      const so = made.learned ? t.judge.so(made.learned.judgements) : "";
      const against = made.contradicts.length ? t.judge.against : "";
      if (this.links.ranked()) {
        toast(t.judge.learned(said, `${so}${against}`), { label: t.undo, act: () => this.undo(made.judgement, profile) });
      } else {
        toast(t.judge.elsewhere(said, profile, against), { label: t.judge.rankBy(profile), act: this.links.rankByProfile });
      }
    });
    this.under.delete(way);
  }

  /**
   * @param {number|null} [number] null: the last one of the profile
   * @param {string} [profile]
   */
  async undo(number = null, profile = this.links.profile()) {
    const sent = this.outbox.add(() => api.undo(number, profile), { undoes: true });
    sent.catch(() => {});
    await this.#inTurn(async () => {
      const { judgement } = await sent;
      for (const [key, one] of this.said) if (one.number === judgement) this.said.delete(key);
      await this.#again();
      toast(t.judge.undone);
    });
  }

  /** Pictures move once, after the last of several quick judgements. */
  async #again() {
    this.owed = this.waiting > 1;
    if (!this.owed) await this.links.again();
  }

  /**
   * What is said while another judgement is on its way waits for it; none is dropped.
   * @param {() => Promise<void>} action
   */
  #inTurn(action) {
    this.waiting += 1;
    this.line = this.line.then(async () => {
      await action().catch(complain);
      // The last one may have failed: those before it still changed the order.
      if (this.owed && this.waiting === 1) await this.#again().catch(complain);
      this.waiting -= 1;
    });
    return this.line;
  }
}
