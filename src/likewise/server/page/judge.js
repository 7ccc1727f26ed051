// Saying what is alike: more like this, not this, and taking it back.  Every judgement is on disk
// before the server answers; the order that follows from it is then asked for.

import { api } from "./api.js";
import { counted } from "./format.js";
import { toast } from "./toast.js";

/** @typedef {import("./types.js").Item} Item */
/** @typedef {import("./types.js").Verdict} Verdict */

export class Judge {
  /**
   * @param {object} links
   * @param {() => import("./types.js").Query} links.query
   * @param {() => string} links.profile the one that learns
   * @param {() => boolean} links.ranked whether the order shown is that profile's
   * @param {() => Promise<void>} links.again fetch the new order and show it
   * @param {() => void} links.rankByProfile
   */
  constructor(links) {
    this.links = links;
    this.busy = false;
    /** @type {Map<string, {number: number, verdict: Verdict}>} said on this page, by query and picture */
    this.said = new Map();
  }

  /** @param {Item} item */
  #key(item) {
    return JSON.stringify([this.links.profile(), this.links.query(), item.id]);
  }

  /**
   * @param {Item} item
   * @param {Verdict} verdict
   */
  async judge(item, verdict) {
    if (this.busy) return;
    if (item.verdict === verdict) {
      const known = this.said.get(this.#key(item));
      if (known?.verdict === verdict) await this.undo(known.number);
      else toast(`${item.name} is already marked. u takes back the last judgement.`);
      return;
    }
    await this.#alone(async () => {
      // What was merely on show is not sent: each press is an answer of its own, and a good picture
      // above the chosen one that needs no help must not count as passed over.
      const list = verdict === "liked" ? { liked: [item.id] } : { disliked: [item.id] };
      const made = await api.judge({ query: this.links.query(), ...list, shown: null, profile: this.links.profile() });
      this.said.set(this.#key(item), { number: made.judgement, verdict });
      await this.links.again();
      const what = verdict === "liked" ? "More like" : "Not";
      const so = made.learned ? ` ${counted(made.learned.judgements, "judgement")} so far.` : "";
      const against = made.contradicts.length ? " This goes against something said before; the newer one counts." : "";
      if (this.links.ranked()) {
        toast(`${what} ${item.name}.${so}${against}`, { label: "Undo", act: () => this.undo(made.judgement) });
      } else {
        toast(`${what} ${item.name}: learned by ${this.links.profile()}, which is not what ranks here.${against}`, { label: `Rank by ${this.links.profile()}`, act: this.links.rankByProfile });
      }
    });
  }

  /** @param {number|null} [number] null: the last one of the profile */
  async undo(number = null) {
    await this.#alone(async () => {
      const { judgement } = await api.undo(number, this.links.profile());
      for (const [key, one] of this.said) if (one.number === judgement) this.said.delete(key);
      await this.links.again();
      toast(`Took back judgement ${judgement}.`);
    });
  }

  /** @param {() => Promise<void>} action */
  async #alone(action) {
    if (this.busy) return;
    this.busy = true;
    try {
      await action();
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), { bad: true });
    } finally {
      this.busy = false;
    }
  }
}
