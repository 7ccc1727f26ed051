// The search view: the collection, or what is like the asked picture.

import { aborted, api, ApiError, messageOf } from "./api.js";
import { fill, h, icon, settled } from "./dom.js";
import { clearFilters, countFilters, filtersOf } from "./filters.js";
import { count } from "./format.js";
import { Grid, PAGE } from "./grid.js";
import { Judge } from "./judge.js";
import * as known from "./known.js";
import { Rail } from "./rail.js";
import { ReasonsBar, struck } from "./reasons.js";
import { openSaveDialog } from "./save-tag.js";
import { Selecting } from "./selecting.js";
import { selection } from "./selection.js";
import * as settings from "./settings.js";
import { askedOf, asking, current, go, hasPicture, hasQuery, hrefFor, isJudged, open } from "./state.js";
import { t } from "./texts.js";
import { title } from "./title.js";
import { complain } from "./toast.js";
import { Toolbar } from "./toolbar.js";
import { pick } from "./upload.js";
import { Viewer } from "./viewer.js";
import { Why } from "./why.js";
import { working } from "./working.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./grid.js").Source & {by: string, profile: string|null, learned: {liked: number, disliked: number}, ms: number, hint: string|null, behind: number, away: string|null, high: number|null, low: number|null}} Answer */

const KEPT = 8; // answers the back button finds without asking
const AGAIN = 5000; // milliseconds after which an answer that lacks pictures is asked for again

/** What is asked of the server, apart from the cut-off. @param {State} state */
const rankedKey = (state) => JSON.stringify([state.q, state.up, state.text, state.without, state.region, state.by, state.like, state.colours]);

/** @param {State} state */
const answerKey = (state) => JSON.stringify([rankedKey(state), state.sort, state.order, state.above, filtersOf(state)]);

const STILL = 1000; // milliseconds after a move of the pointer in which pictures stay where they are

export class SearchView {
  constructor() {
    this.grid = new Grid({
      href: (item) => hrefFor(asking({ q: item.id })),
      ask: (item) => this.#ask(item.id),
      look: (item) => open({ look: item.id }),
      why: (item) => open({ why: item.id }),
      judge: (item, verdict) => this.judge.judge(item, verdict),
    });
    this.grid.onError = complain;
    this.profile = "default";
    this.judge = new Judge({
      asked: () => askedOf(current()),
      profile: () => this.profile,
      ranked: () => this.answer?.profile === this.profile,
      again: () => this.refresh(),
      rankByProfile: () => go({ by: this.profile, above: null }),
    });
    this.rail = new Rail({
      undo: () => this.judge.undo(),
      save: () => openSaveDialog(current().text, this.profile, this.answer?.learned.liked ?? 0, () => this.refresh()),
    });
    this.reasons = new ReasonsBar();
    this.toolbar = new Toolbar(() => this.selecting.turn(!this.selecting.on));
    this.selecting = new Selecting(this.grid, (on) => this.toolbar.selecting(on));
    this.grid.onTile = (tile) => this.selecting.markOne(tile);
    this.look = new Viewer({
      view: "search",
      neighbour: (step) => this.#neighbour(step),
      find: (id) => this.grid.item(this.grid.indexOf(id)),
      judge: (item, verdict) => this.judge.judge(item, verdict),
    });
    this.why = new Why((id) => this.grid.item(this.grid.indexOf(id)));
    this.invitation = h("section", { class: "invitation", "aria-label": t.search.ask },
      h("div", {}, h("p", { class: "big" }, t.search.askBig),
        h("p", { class: "soft" }, t.search.askHow)),
      h("button", { type: "button", class: "main", onclick: pick }, icon("picture"), t.search.pick));
    this.state = h("div", { class: "state" });
    working.onTurn((on) => {
      if (!on) this.#changed(); // the last ones came
      else if (this.answer && !this.answer.total) this.#empty(current());
    });
    this.pointedAt = -STILL; // when the pointer last moved over the pictures
    this.grid.el.addEventListener("pointermove", () => {
      this.pointedAt = performance.now();
    }, { passive: true });
    this.news = h("button", { type: "button", class: "news main", hidden: true, onclick: () => this.#showNews() }, t.search.changed);
    this.results = h("section", { class: "results", "aria-label": t.search.results }, this.toolbar.el, this.reasons.el, this.news, this.state, this.grid.el);
    this.el = h("div", { class: "search" }, this.invitation, this.rail.el, this.results);
    /** @type {Answer|null} */
    this.answer = null;
    this.key = "";
    /** @type {Map<string, Answer>} */
    this.kept = new Map();
    this.aborter = new AbortController();
    this.byKeyboard = false;
    this.changed = settled(() => this.#changed(), 700, 2000);
  }

  /** @param {string} id */
  #ask(id) {
    // Who came by keyboard goes on by keyboard, from the best answer.
    this.byKeyboard = this.grid.el.contains(document.activeElement) && this.grid.el.querySelector("a:focus-visible") !== null;
    go(asking({ q: id }));
  }

  /** @param {1|-1} step @returns {Promise<string|null>} */
  async #neighbour(step) {
    const at = this.grid.indexOf(current().look);
    const { source } = this.grid;
    const next = at + step;
    if (at < 0 || !source || next < 0 || next >= source.total) return null;
    const page = Math.floor(next / PAGE);
    if (!source.pages.has(page)) await source.fetch(page);
    return this.grid.item(next)?.id ?? null;
  }

  /**
   * @param {State} state
   * @param {State|null} before
   * @param {number|null} scroll where the page was, on the way back
   */
  async show(state, before, scroll) {
    const asked = hasQuery(state);
    this.el.classList.toggle("with-query", asked);
    this.rail.el.hidden = !asked;
    this.invitation.hidden = asked;
    this.grid.el.classList.toggle("dates", state.dates);
    this.toolbar.show(state);
    this.look.show(state);
    this.why.show(state);
    this.rail.showAsked(state);
    if (hasPicture(state)) this.#showQuery(state);
    this.#showKnown(state);
    const key = answerKey(state);
    if (key === this.key && this.answer) {
      if (scroll !== null) scrollTo(0, scroll);
      this.grid.render();
      return;
    }
    const same = sameQuestion(state, before);
    const kept = this.kept.get(key);
    this.key = key;
    if (kept && scroll !== null) {
      this.#live(); // what was still on its way belongs to the page that was left
      this.#present(kept, state, { move: false, scroll });
      return;
    }
    if (same && this.answer) {
      await this.#load(state, { move: true, scroll });
    } else {
      this.#wait();
      if (scroll === null) scrollTo(0, 0);
      await this.#load(state, { move: false, scroll: scroll ?? 0 });
    }
  }

  /** The order again, from the server: after a judgement, or when something changed. */
  async refresh() {
    this.kept.clear();
    known.forgetAll();
    const state = current();
    this.key = answerKey(state);
    this.news.hidden = true;
    this.#showKnown(state);
    await this.#load(state, { move: true, scroll: null });
  }

  /** Pictures are marked otherwise now. @param {Map<string, import("./marks.js").Change>|null} states null: some, as the server knows */
  marked(states) {
    if (!states) {
      if (current().view !== "search") this.key = ""; // whoever comes back here asks anew
      return;
    }
    for (const answer of this.kept.values()) {
      for (const items of answer.pages.values()) for (const item of items) Object.assign(item, states.get(item.id) ?? {});
    }
    for (const tile of this.grid.tiles.values()) {
      Object.assign(tile.item, states.get(tile.item.id) ?? {});
      tile.showMarks();
    }
  }

  /** Tiles have another size, or other figures are shown. */
  layAgain() {
    if (this.answer) this.#present(this.answer, current(), { move: false, scroll: null });
  }

  get waiting() {
    return this.answer === null;
  }

  /** Go on from the field among the answers. */
  focusFirst() {
    this.byKeyboard = false;
    if (this.answer?.total) this.grid.focus(0);
  }

  #wait() {
    this.answer = null;
    this.reasons.el.hidden = true;
    this.grid.clear();
    fill(this.state, h("div", { class: "skeleton", role: "status", "aria-label": t.loading },
      ...Array.from({ length: 18 }, (_, i) => h("i", { class: `s${i % 5}` }))));
    this.toolbar.say("…");
  }

  /** End what was asked for before; what is asked from now on ends with the next call. */
  #live() {
    this.aborter.abort();
    this.aborter = new AbortController();
    return this.aborter.signal;
  }

  /**
   * @param {State} state
   * @param {{move: boolean, scroll: number|null}} how
   */
  async #load(state, how) {
    const signal = this.#live();
    this.results.setAttribute("aria-busy", "true");
    try {
      const made = await this.#answer(state, signal);
      if (signal.aborted) return;
      this.#present(made, state, how);
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      this.#fail(error);
    } finally {
      if (!signal.aborted) this.results.removeAttribute("aria-busy");
    }
  }

  /**
   * @param {State} state
   * @param {AbortSignal} signal
   * @returns {Promise<Answer>}
   */
  async #answer(state, signal) {
    const asked = hasQuery(state);
    /**
     * @param {number} page
     * @param {AbortSignal} live
     * @returns {Promise<import("./types.js").Shapes["SearchOut"]|import("./types.js").Shapes["PageOut"]>}
     */
    const ask = (page, live) => (asked
      ? api.search({ ...askedOf(state), without: struck(state), by: state.by || "default", limit: PAGE, offset: page * PAGE, above: state.above, where: filtersOf(state), sort: state.sort === "date" ? "date" : "score" }, live)
      : api.pictures({ offset: page * PAGE, limit: PAGE, sort: state.sort === "score" ? "date" : state.sort || "date", order: state.order || "desc", ...filtersOf(state) }, live));
    const first = await ask(0, signal);
    const ranked = "by" in first ? first : null;
    /** @type {Answer} */
    const made = {
      total: first.total,
      asked,
      judged: isJudged(state),
      own: state.q,
      pages: new Map([[0, first.items]]),
      fetch: async (page) => {
        // An answer is kept longer than its first request lives: each page has the signal of its time.
        const more = await ask(page, this.aborter.signal);
        made.pages.set(page, more.items);
        if ("scores" in more) {
          made.low = least(made.low, more.scores.lowest);
          this.rail.showCut(current(), rankedKey(state), made.high, made.low);
        }
      },
      by: ranked?.by ?? "",
      profile: ranked?.profile ?? null,
      learned: ranked?.learned ?? { liked: 0, disliked: 0 },
      ms: ranked?.ms ?? 0,
      hint: ranked?.hint ?? null,
      behind: ranked?.behind ?? 0,
      away: ranked?.away ?? null,
      high: ranked?.scores.highest ?? null,
      low: ranked?.scores.lowest ?? null,
    };
    if (made.away) setTimeout(this.changed, AGAIN); // asked again by itself, until all are searched
    return made;
  }

  /**
   * @param {Answer} made
   * @param {State} state
   * @param {{move: boolean, scroll: number|null}} how
   */
  #present(made, state, how) {
    this.answer = made;
    this.news.hidden = true;
    this.kept.delete(this.key);
    if (!made.away) this.kept.set(this.key, made);
    if (this.kept.size > KEPT) this.kept.delete([...this.kept.keys()][0]);
    fill(this.state);
    this.results.removeAttribute("aria-busy");
    this.grid.el.setAttribute("aria-label", state.text ? t.search.forWords(state.text) : made.asked ? t.search.likeAsked : t.search.ofCollection);
    this.reasons.show(state, made.pages.get(0) ?? [], made.hint);
    this.grid.show(made, how);
    if (made.asked) {
      this.rail.showSaid(made.learned);
      this.rail.showCut(state, rankedKey(state), made.high, made.low);
      const most = made.total >= 10000 ? t.search.most : count(made.total);
      const by = state.colours ? "colour" : !state.text ? "picture" : hasPicture(state) ? "both" : "words";
      this.toolbar.say(!made.total ? t.search.none : state.above === null ? t.search.found(most, made.total === 1, by) : t.search.foundAbove(made.total), made.away ? t.search.away : made.behind ? t.search.learning(made.behind) : settings.developer ? t.search.took(made.ms) : "");
    } else {
      this.toolbar.say(t.pictures(made.total));
    }
    const bare = !made.total && !made.asked && !countFilters(state);
    this.invitation.hidden = made.asked || bare; // nothing is there to click or to compare with
    if (!made.total) this.#empty(state);
    if (this.byKeyboard) this.focusFirst();
  }

  /** @param {State} state */
  #empty(state) {
    const filtered = countFilters(state) > 0;
    if (state.above !== null) {
      fill(this.state, empty(t.search.noneAbove, t.search.noneAboveWhy, t.search.showAll, () => go({ above: null })));
    } else if (filtered) {
      fill(this.state, empty(t.search.filtered, t.search.filteredWhy, t.search.clearFilters, clearFilters));
    } else if (state.text && !hasPicture(state)) {
      fill(this.state, empty(t.search.noneFor(state.text), state.without ? t.search.noneForStruck : t.search.noneForHow, t.closeSearch, () => go(asking({}))));
    } else if (hasQuery(state)) {
      fill(this.state, empty(t.search.alone, t.search.aloneWhy, t.addFolder, addFolder));
    } else if (working.on) {
      fill(this.state, empty(t.search.reading, t.search.readingHow));
    } else {
      fill(this.state, empty(t.search.empty, t.search.emptyHow, t.addFolder, addFolder));
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    this.answer = null;
    this.grid.clear();
    this.toolbar.say(t.search.none);
    const lost = error instanceof ApiError && (error.kind === "unknown_upload" || error.kind === "unknown_picture");
    if (lost) {
      this.rail.el.hidden = true;
      this.el.classList.remove("with-query");
    }
    // A date that is none: what can be done about it is in the filters.
    const filtered = error instanceof ApiError && error.status === 422 && countFilters(current()) > 0;
    fill(this.state, lost
      ? empty(t.search.lost, messageOf(error), t.search.back, () => go(asking({})), true)
      : filtered ? empty(t.failed, messageOf(error), t.search.clearFilters, clearFilters, true)
      : empty(t.failed, messageOf(error), t.tryAgain, () => this.refresh(), true));
  }

  // -- what stands beside the grid ----------------------------------------------------------

  /** @param {State} state */
  async #showQuery(state) {
    if (!state.q) {
      this.rail.showQuery(state, null);
      return;
    }
    try {
      const at = this.grid.indexOf(state.q);
      const picture = this.grid.item(at) ?? await api.picture(state.q);
      if (current().q === state.q) this.rail.showQuery(current(), picture);
    } catch {
      // The search says what is wrong with it.
    }
  }

  /** @param {State} state */
  async #showKnown(state) {
    try {
      const [all, about] = await Promise.all([known.similarities.get(), known.collection.get()]);
      this.profile = known.profileFor(state.by, all, about);
      this.rail.showSimilarities(all, state, this.profile);
      this.toolbar.showFolders(about.folders);
      working.know(about.job);
      if (current().view === "search") title(state.text ? t.search.titleWords(state.text, about.name) : hasQuery(state) ? t.search.titleLike(about.name) : about.name);
    } catch {
      // The pictures' own request fails too, and says so.
    }
  }

  // -- others ---------------------------------------------------------------------------------

  /** Pictures came or went, or another tab judged: shown at once where nobody is disturbed. */
  async #changed() {
    this.kept.clear();
    known.forgetAll();
    const state = current();
    if (state.view !== "search") this.key = ""; // whoever comes back here asks anew
    if (state.view !== "search" || this.judge.busy) return;
    try {
      // Mostly it is this page's own doing, and nothing is new.
      const made = await this.#answer(state, this.aborter.signal);
      if (answerKey(current()) !== this.key || this.judge.busy) return;
      this.#showKnown(state);
      if (alike(made, this.answer)) {
        this.news.hidden = true;
        if (!made.total) this.#empty(state);
        return;
      }
      // At its top the grid grows by itself; for whoever is deeper it holds still.
      if (scrollY >= 200 || this.#inUse() || document.querySelector("dialog[open]")) {
        this.news.hidden = false;
        return;
      }
      if (performance.now() - this.pointedAt < STILL) {
        this.changed(); // about to click: pictures must not slip away under the pointer
        return;
      }
      this.#present(made, state, { move: true, scroll: null });
    } catch {
      // Who loses the server is told by the stream of events.
    }
  }

  /** Whether pictures of the grid are selected, or the keyboard stands on one. */
  #inUse() {
    return selection.size > 0 || this.grid.el.querySelector("a:focus-visible") !== null;
  }

  #showNews() {
    this.news.hidden = true;
    this.refresh();
  }
}

/** Whether only order, filters or the way of ranking changed: pictures then glide. @param {State} state @param {State|null} before */
function sameQuestion(state, before) {
  return before !== null && before.view === "search" && state.q === before.q && state.up === before.up && state.text === before.text && state.like === before.like && state.colours === before.colours && hasQuery(state) === hasQuery(before);
}

/** Whether two answers begin with the same pictures. @param {Answer} one @param {Answer|null} other */
function alike(one, other) {
  /** @param {Answer|null} answer */
  const told = (answer) => JSON.stringify([answer?.total, !answer?.away, answer?.pages.get(0)?.map((item) => [item.id, item.verdict])]);
  return told(one) === told(other);
}

function addFolder() {
  go({ view: "collection" });
  document.getElementById("add-folder")?.focus();
}

/** @param {number|null} a @param {number|null} b */
const least = (a, b) => (a === null ? b : b === null ? a : Math.min(a, b));

/**
 * @param {string} title
 * @param {string} text
 * @param {string} [label] of a button, where something can be done about it
 * @param {() => void} [act]
 * @param {boolean} [bad]
 */
export function empty(title, text, label, act, bad = false) {
  return h("div", { class: bad ? "empty bad" : "empty", role: bad ? "alert" : "status" },
    icon(bad ? "alert" : "picture"), h("h2", {}, title), h("p", {}, text), label ? h("button", { type: "button", class: "main", onclick: act }, label) : null);
}
