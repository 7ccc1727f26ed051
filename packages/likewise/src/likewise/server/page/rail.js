// Beside the results: the asked picture with its region, how to rank, the cut-off, what was said.

import { accuracy } from "./accuracy.js";
import { h, icon, fill, settled } from "./dom.js";
import { count } from "./format.js";
import { openProfileDialog } from "./profiles.js";
import { Region } from "./region.js";
import { Several } from "./several.js";
import { asking, current, go, hasPicture, isJudged } from "./state.js";
import { t } from "./texts.js";

/** @typedef {import("./types.js").Similarities} Similarities */
/** @typedef {import("./state.js").State} State */

export class Rail {
  /** @param {{undo: () => void, save: () => void}} links */
  constructor(links) {
    this.region = new Region((region) => go({ region, above: null, why: "", look: "" }));
    this.name = h("b", { class: "name" });
    this.where = h("span", { class: "soft" });
    this.whole = h("button", { type: "button", class: "quiet small", onclick: () => go({ region: null, above: null }) }, icon("close"), t.rail.whole);
    this.part = h("button", { type: "button", class: "quiet small", onclick: () => this.region.start(), "aria-keyshortcuts": "r" }, icon("crop"), t.rail.part);
    this.by = h("select", { id: "by", onchange: () => go({ by: this.by.value, above: null }) });
    this.newProfile = h("button", { type: "button", class: "quiet small", "data-needs": "judge", onclick: () => openProfileDialog() }, icon("plus"), t.newProfile);
    this.cut = h("input", { type: "range", id: "cut", min: "0", max: "100", step: "1", value: "0" });
    this.cutSaid = h("output", { for: "cut" });
    /** @type {{high: number, low: number, query: string}|null} */
    this.range = null;
    const cutLater = settled(() => go({ above: this.#cutValue() }, { replace: true }), 140);
    this.cut.addEventListener("input", () => {
      this.#sayCut(this.#cutValue());
      cutLater();
    });
    this.liked = h("b", { class: "good" });
    this.disliked = h("b", { class: "bad" });
    this.figures = h("p", { class: "soft figures-said" });
    this.fold = h("button", { type: "button", class: "fold small", "aria-expanded": "false", onclick: () => this.#toggle() }, t.rail.fold, icon("filter"));
    this.undoButton = h("button", { type: "button", class: "small", onclick: links.undo, "aria-keyshortcuts": "u" }, icon("undo"), t.undo, h("kbd", { "aria-hidden": "true" }, "u"));
    this.typed = h("b", { class: "name" });
    this.saveButton = h("button", { type: "button", class: "small", "data-needs": "judge", onclick: links.save }, icon("tag"), t.rail.saveTag);
    this.saveSaid = h("p", { class: "soft save-said" });
    this.onlyPicture = h("button", { type: "button", class: "quiet small", onclick: () => go({ text: "", without: "", above: null }) }, icon("close"), t.rail.removeWords);
    this.closeWords = h("button", { type: "button", class: "quiet small", onclick: () => go(asking({})) }, icon("close"), t.closeSearch);
    this.words = h("section", { class: "asked-words", "aria-label": t.rail.words, hidden: true },
      this.typed, h("p", { class: "buttons" }, this.saveButton, this.onlyPicture, this.closeWords), this.saveSaid);
    this.taught = h("section", { class: "taught" },
      h("p", {}, this.liked, t.rail.moreLike, this.disliked, t.rail.notLike), this.figures,
      h("p", { class: "buttons" }, this.undoButton,
        h("a", { class: "button quiet small folded", href: "/?view=learned", "data-view": "learned" }, icon("learned"), t.learnedTitle)));
    this.picture = h("figure", { class: "asked-picture" }, this.region.el,
        h("figcaption", {}, this.name, this.where,
          h("span", { class: "buttons" }, this.part, this.whole,
            h("button", { type: "button", class: "quiet small", onclick: () => this.#closePicture() }, icon("close"), t.closeSearch))));
    this.several = new Several();
    this.ranking = h("div", { class: "field folded" }, h("label", { for: "by" }, t.rail.rankBy), this.by, this.newProfile);
    this.el = h("aside", { class: "rail", "aria-label": t.askedPicture }, this.several.el, this.words, this.picture,
      h("div", { class: "controls" },
        this.fold,
        this.ranking,
        h("div", { class: "field folded" }, h("label", { for: "cut" }, t.rail.cut), this.cutSaid, this.cut),
        this.taught));
  }

  /** Words that were asked together with the picture stay. */
  #closePicture() {
    const { text, without } = current();
    go(asking({ text, without }));
  }

  /** What of a question is there: words, a picture, or both. @param {State} state */
  showAsked(state) {
    const picture = hasPicture(state);
    this.several.show(state);
    this.ranking.hidden = Boolean(state.colours);
    this.taught.hidden = !isJudged(state);
    this.words.hidden = !state.text;
    this.picture.hidden = !picture;
    this.typed.textContent = t.quoted(state.text);
    this.onlyPicture.hidden = !picture;
    this.closeWords.hidden = picture;
    this.saveButton.hidden = picture; // a tag means words alone
    this.saveSaid.hidden = picture;
    this.el.setAttribute("aria-label", picture ? t.askedPicture : t.rail.search);
    this.taught.setAttribute("aria-label", picture ? t.rail.saidPicture : t.rail.saidWords);
    if (!picture) this.region.leave();
  }

  /** On a phone the controls fold away, to leave the screen to the pictures. */
  #toggle() {
    const open = this.el.classList.toggle("open");
    this.fold.setAttribute("aria-expanded", String(open));
  }

  /**
   * The picture that is asked about.
   * @param {State} state
   * @param {import("./types.js").Picture|null} picture null: an upload
   */
  showQuery(state, picture) {
    if (picture) {
      this.region.show(picture.image, picture.width, picture.height, state.region, picture.name);
      this.name.textContent = picture.name;
      this.where.textContent = t.rail.place(picture.folder, t.dated(picture.date, picture.date_source));
    } else {
      const [width, height] = state.size.split("x").map(Number);
      this.region.show(`/api/uploads/${encodeURIComponent(state.up)}/image`, width || 3, height || 2, state.region, t.yourPicture);
      this.name.textContent = t.yourPicture;
      this.where.textContent = width ? t.rail.pixels(width, height) : "";
    }
    this.whole.hidden = !state.region;
    this.part.hidden = Boolean(state.region);
  }

  /**
   * The choice of similarity.
   * @param {Similarities} known
   * @param {State} state
   * @param {string} profile the one that learns
   */
  showSimilarities(known, state, profile) {
    /** @param {import("./types.js").Similarity} one */
    const option = (one) => h("option", { value: one.name }, t.ranking(one.name));
    const named = known.items.filter((one) => one.name !== "default");
    const learned = named.filter((one) => one.learned && !one.answers);
    const answers = named.filter((one) => one.answers);
    const plain = named.filter((one) => !one.learned);
    fill(this.by, h("option", { value: "" }, known.default === "default" ? t.rail.usual : t.rail.usualIs(known.default)),
      learned.length > 0 && h("optgroup", { label: t.rail.profiles }, ...learned.map(option)),
      plain.length > 0 && h("optgroup", { label: t.rail.plain }, ...plain.map(option)),
      answers.length > 0 && h("optgroup", { label: t.rail.answers }, ...answers.map((one) => h("option", { value: one.name }, t.answersIn(one.name, one.answers?.person ?? null)))));
    this.by.value = state.by;
    const figures = (known.items.find((one) => one.name === profile) ?? known.items.find((one) => one.name === "default"))?.figures;
    this.undoButton.disabled = !figures?.judgements;
    this.figures.classList.toggle("folded", Boolean(figures?.judgements));
    this.figures.textContent = !figures?.judgements
      ? t.rail.nothing(profile)
      : t.rail.learned(profile, figures.judgements, accuracy(figures));
  }

  /** @param {{liked: number, disliked: number}} said */
  showSaid(said) {
    this.liked.textContent = count(said.liked);
    this.disliked.textContent = count(said.disliked);
    this.saveButton.disabled = !said.liked;
    this.saveSaid.textContent = said.liked ? "" : t.rail.saveHow;
  }

  /**
   * Scores seen so far give the slider its ends.
   * @param {State} state
   * @param {string} query what is ranked, without the cut-off
   * @param {number|null} high
   * @param {number|null} low
   */
  showCut(state, query, high, low) {
    if (high !== null && low !== null) {
      if (this.range?.query !== query) this.range = { high, low, query };
      this.range.high = Math.max(this.range.high, high);
      this.range.low = Math.min(this.range.low, low);
    }
    if (!this.range) return;
    if (state.above !== null) this.range.low = Math.min(this.range.low, state.above);
    const { high: top, low: bottom } = this.range;
    if (document.activeElement !== this.cut) {
      this.cut.value = state.above === null || top <= bottom ? "0" : String(Math.round((100 * (state.above - bottom)) / (top - bottom)));
    }
    this.cut.disabled = top <= bottom;
    this.#sayCut(state.above);
  }

  #cutValue() {
    const at = Number(this.cut.value);
    if (!this.range || at <= 0) return null;
    const { high, low } = this.range;
    return Number((low + ((high - low) * at) / 100).toPrecision(4));
  }

  /** @param {number|null} above */
  #sayCut(above) {
    this.cutSaid.textContent = above === null ? t.rail.cutOff : t.rail.cutAt(above);
    this.cut.setAttribute("aria-valuetext", this.cutSaid.textContent);
  }
}
