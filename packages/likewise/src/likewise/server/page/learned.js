// What I learned: words or directions that gained and lost, pictures that moved, how good the
// learning is, and every version of it.

import { api, messageOf } from "./api.js";
import { accuracy, claim } from "./accuracy.js";
import { curve } from "./curve.js";
import { confirmed } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { count, percent, when } from "./format.js";
import * as known from "./known.js";
import { Models } from "./models.js";
import { openProfileDialog } from "./profiles.js";
import { asking, current, go, hrefFor } from "./state.js";
import { title } from "./title.js";
import { complain, toast } from "./toast.js";
import { empty } from "./search.js";
import { t } from "./texts.js";

/** @typedef {import("./types.js").Learned} Learned */
/** @typedef {import("./types.js").Line} Line */
/** @typedef {import("./types.js").LearnedWord} LearnedWord */
/** @typedef {import("./types.js").Direction} Direction */
/** @typedef {import("./types.js").Move} Move */
/** @typedef {import("./types.js").Picture} Picture */

const AROUND = 1.7; // a patch is cut with so many times its side, to see what it is part of
const LEAST = 72; // pixels a patch is cut with at least

export class LearnedView {
  constructor() {
    this.profiles = h("select", { id: "profile", onchange: () => go({ profile: this.profiles.value }) });
    this.use = h("button", { type: "button", class: "small", "data-needs": "manage", onclick: () => this.#use() }, icon("check"), t.learned.use);
    this.body = h("div", {});
    this.models = new Models();
    this.el = h("div", { class: "view" },
      h("header", { class: "view-head" }, h("h1", {}, t.learnedTitle),
        h("div", { class: "how" }, h("label", { for: "profile" }, t.learned.profile), this.profiles, this.use,
          h("button", { type: "button", class: "quiet small", "data-needs": "judge", onclick: () => openProfileDialog() }, icon("plus"), t.newProfile))),
      this.models.el, this.body, this.models.versus.el);
    this.turn = 0;
  }

  /** @param {import("./state.js").State} state */
  async show(state) {
    title(t.learnedTitle);
    const turn = ++this.turn;
    this.models.show(state);
    if (!this.body.childElementCount) fill(this.body, h("p", { class: "empty", role: "status" }, t.learned.reading));
    try {
      const [all, about] = await Promise.all([known.similarities.get(), known.collection.get()]);
      const name = state.profile || known.profileFor(state.by, all, about);
      const profiles = all.items.filter((one) => one.learned && one.name !== "default");
      const answers = new Map(profiles.flatMap((one) => (one.answers ? [[one.name, one.answers.person]] : [])));
      // Those that somebody made come first; what only holds answers is told as what it is.
      const names = [...profiles.filter((one) => !one.answers), ...profiles.filter((one) => one.answers)].map((one) => one.name);
      if (!names.includes(name)) names.unshift(name);
      fill(this.profiles, ...names.map((one) => h("option", { value: one }, answers.has(one) ? t.answersIn(one, answers.get(one) ?? null) : one === about.profile ? t.learned.inUse(one) : one)));
      this.profiles.value = name;
      this.use.hidden = name === about.profile;
      const found = await api.learned(name);
      if (turn === this.turn) this.#draw(found);
    } catch (error) {
      if (turn === this.turn) fill(this.body, empty(t.failed, messageOf(error), t.tryAgain, () => this.show(current()), true));
    }
  }

  async #use() {
    try {
      await api.use(this.profiles.value);
      known.forgetAll();
      toast(t.learned.used(this.profiles.value));
      this.show(current());
    } catch (error) {
      complain(error);
    }
  }

  /** @param {Learned} found */
  #draw(found) {
    const { figures } = found;
    if (!found.versions.length) {
      fill(this.body, empty(t.learned.none, t.learned.noneHow, t.learned.start, () => go(asking({ by: found.profile }))));
      return;
    }
    fill(this.body,
      h("dl", { class: "figures" },
        figure(count(figures.judgements), t.learned.judgement(figures.judgements), t.learned.stand),
        figures.interval && figure(percent(figures.agreement), t.learned.right, t.learned.rightHow(t.accuracy.range(figures.interval), figures.units)),
        figures.interval && figure(percent(figures.agreement_plain), t.learned.without, claim(figures)),
        figure(percent(figures.changed), t.learned.changed(figures.units), t.learned.changedHow(figures.units)),
        figures.sparsity > 0 && figure(percent(figures.sparsity), t.learned.ofWords, t.learned.zero)),
      !figures.interval && h("p", { class: "soft" }, accuracy(figures)),
      figures.interval && found.curve.length > 0 && h("section", {}, h("h2", {}, t.learned.better),
        h("p", { class: "soft" }, t.learned.betterHow), curve(found.curve)),
      words(t.learned.more, t.learned.gainedHow, "gained", found.gained),
      words(t.learned.less, t.learned.lostHow, "lost", found.lost),
      // What tells the two ends apart counts for less: they are more similar than before.
      directions(t.learned.more, t.learned.moreHow, "gained", found.directions.filter((one) => one.value < 1)),
      directions(t.learned.less, t.learned.lessHow, "lost", found.directions.filter((one) => one.value > 1)),
      moves(found.moved),
      this.#versions(found));
  }

  /** @param {Learned} found */
  #versions(found) {
    return h("section", {}, h("h2", {}, t.learned.versions),
      h("p", { class: "soft" }, t.learned.versionsHow),
      h("ol", { class: "log", reversed: true },
        ...found.versions.map((line, i) => this.#line(line, i === 0, found)),
        h("li", { class: "start" }, h("span", { class: "number" }, "0"),
          h("div", { class: "what" }, h("b", {}, t.learned.beginning), h("span", { class: "soft" }, t.learned.nothing)),
          this.#back(null, found, false))));
  }

  /**
   * @param {Line} line
   * @param {boolean} newest
   * @param {Learned} found
   */
  #line(line, newest, found) {
    return h("li", { class: line.stands ? "" : "off" }, h("span", { class: "number" }, count(line.version)),
      h("div", { class: "what" }, h("b", {}, told(line, found)), h("span", { class: "soft" }, when(line.made), line.who ? t.access.by(line.who) : "", line.stands ? "" : t.learned.off),
        faces(line)),
      this.#back(line, found, newest));
  }

  /**
   * @param {Line|null} line null: before all of them
   * @param {Learned} found
   * @param {boolean} here
   */
  #back(line, found, here) {
    if (here) return h("span", { class: "here" }, icon("check"), t.learned.now);
    return h("button", { type: "button", class: "small", "aria-label": t.learned.goBackTo(line?.version ?? 0), onclick: () => this.#rollBack(line, found) }, icon("undo"), t.learned.goBack);
  }

  /** @param {Line|null} line @param {Learned} found */
  async #rollBack(line, found) {
    const version = line?.version ?? 0;
    const text = t.learned.askBackHow(found.profile, version);
    if (!(await confirmed(t.learned.askBack(version), text, t.learned.goBack))) return;
    try {
      await api.rollBack(found.profile, line?.number ?? 0);
      known.forgetAll();
      toast(t.learned.back(version), { label: t.undo, act: () => this.#return(found) });
      await this.show(current());
    } catch (error) {
      complain(error);
    }
  }

  /** @param {Learned} found as it was */
  async #return(found) {
    try {
      await api.rollBack(found.profile, found.versions[0]?.number ?? 0);
      known.forgetAll();
      await this.show(current());
    } catch (error) {
      complain(error);
    }
  }
}

/** @param {string} value @param {string} unit @param {string} of */
const figure = (value, unit, of) => h("div", {}, h("dt", {}, unit, " ", h("span", { class: "soft" }, of)), h("dd", {}, value));

/**
 * What a profile was at a position of the log, which counts what was said elsewhere too.
 * @param {number|null} position
 * @param {Learned} found
 * @returns {number|null} null: a version that is not listed any more
 */
function versionAt(position, found) {
  if (!position) return 0;
  return found.versions.find((line) => line.number <= position)?.version ?? (found.versions.at(-1)?.version === 1 ? 0 : null);
}

/** @param {Line} line @param {Learned} found */
function told(line, found) {
  if (line.kind === "undo") return t.learned.undid(versionAt(line.about, found));
  if (line.kind === "rollback") return t.learned.wentBack(versionAt(line.about, found));
  if (line.kind === "merge") return line.answers ? t.learned.tookIn(line.answers, line.person) : t.learned.merged;
  if (line.kind === "takeback") return t.learned.tookBack(line.answers, line.person);
  if (line.kind === "weights") return t.learned.weights;
  if (line.kind === "compare") return t.learned.comparison(line.person);
  const parts = [];
  if (line.liked.length) parts.push(t.learned.liked(line.liked.length));
  if (line.disliked.length) parts.push(t.learned.disliked(line.disliked.length));
  if (line.text) parts.unshift(t.quoted(line.text));
  const against = line.contradicts.length ? t.learned.against(line.contradicts.flatMap((one) => versionAt(one, found) || [])) : "";
  return (parts.join(", ") || t.learned.gone) + against;
}

/** @param {Line} line */
function faces(line) {
  /** @type {[import("./types.js").Picture, string, string][]} */
  const all = [];
  if (line.query) all.push([line.query, "asked", t.learned.asked]);
  for (const picture of line.liked.slice(0, 8)) all.push([picture, "liked", t.learned.moreLike]);
  for (const picture of line.disliked.slice(0, 8)) all.push([picture, "disliked", t.learned.not]);
  if (!all.length) return null;
  return h("div", { class: "faces" }, ...all.map(([picture, kind, word]) =>
    h("a", { class: kind, href: hrefFor(asking({ q: picture.id })), "data-ask": picture.id, title: t.about(word, picture.name) },
      h("img", { src: `${picture.thumbnail}?side=160`, alt: t.about(word, picture.name), loading: "lazy" }),
      kind !== "asked" && icon(kind === "liked" ? "plus" : "minus"))));
}

/**
 * @param {string} title
 * @param {string} text
 * @param {string} kind
 * @param {LearnedWord[]} list
 */
function words(title, text, kind, list) {
  if (!list.length) return null;
  const most = Math.max(...list.map((word) => Math.abs(word.change)), 1e-12);
  return h("section", {}, h("h2", {}, title), h("p", { class: "soft" }, text),
    h("ul", { class: `words ${kind}` }, ...list.map((word) => {
      const bar = h("i");
      bar.style.width = `${(100 * Math.abs(word.change)) / most}%`;
      return h("li", {},
        h("div", { class: "patches" }, ...word.examples.slice(0, 4).map(patch), !word.examples.length && h("p", { class: "soft" }, t.learned.noPatch)),
        h("div", { class: "bar", title: t.learned.weight(word.change, word.weight) }, bar),
        h("p", { class: "soft" }, t.learned.sharedBy(word.frequency)));
    })));
}

/**
 * @param {string} title
 * @param {string} text
 * @param {string} kind
 * @param {Direction[]} list
 */
function directions(title, text, kind, list) {
  if (!list.length) return null;
  const most = Math.max(...list.map((one) => Math.abs(one.value - 1)), 1e-12);
  return h("section", {}, h("h2", {}, title), h("p", { class: "soft" }, text),
    h("ul", { class: `words directions ${kind}` }, ...list.map((one) => {
      const bar = h("i");
      bar.style.width = `${(100 * Math.abs(one.value - 1)) / most}%`;
      return h("li", { title: t.learned.counts(one.value) }, end(t.learned.oneEnd, one.one_end), h("span", { class: "versus-sign", "aria-hidden": "true" }, kind === "gained" ? "≈" : "≠"), end(t.learned.otherEnd, one.other_end), h("div", { class: "bar" }, bar));
    })));
}

/**
 * The pictures at one end of a direction.
 * @param {string} word
 * @param {Picture[]} pictures
 */
const end = (word, pictures) => h("div", { class: "end", role: "group", "aria-label": word },
  h("div", { class: "patches" }, ...pictures.slice(0, 4).map((picture) => small(picture, picture.name)), !pictures.length && h("p", { class: "soft" }, t.learned.noPicture)));

/** @param {Move[]} list */
function moves(list) {
  if (!list.length) return null;
  return h("section", {}, h("h2", {}, t.learned.moved),
    h("p", { class: "soft" }, t.learned.movedHow),
    h("ul", { class: "moves" }, ...list.map((move) => {
      const rose = place(move.after) < place(move.before);
      return h("li", { class: rose ? "gained" : "lost" }, small(move.picture, move.picture.name),
        h("p", {}, h("b", {}, t.learned.rose(rose, placed(move.before), placed(move.after))), h("span", { class: "soft" }, t.learned.when),
          small(move.query, t.about(t.learned.asked, move.query.name))));
    })));
}

/** @param {number|null} at */
const place = (at) => at ?? Infinity;

/** @param {number|null} at */
const placed = (at) => (at === null ? t.learned.farBehind : count(at));

/** @param {Picture} picture @param {string} text */
const small = (picture, text) => h("a", { class: "patch whole", href: hrefFor(asking({ q: picture.id })), "data-ask": picture.id, title: text },
  h("img", { src: `${picture.thumbnail}?side=320`, alt: text, loading: "lazy", decoding: "async" }));

/**
 * The place of a word, cut out of its picture with some of what is around it.
 * @param {import("./types.js").Example} example
 */
function patch({ picture, box }) {
  const { width, height } = picture;
  const [x, y, w, tall] = box ?? [0, 0, width, height];
  const side = Math.min(Math.max(LEAST, Math.max(w, tall) * AROUND), Math.min(width, height));
  const left = Math.min(Math.max(0, x + w / 2 - side / 2), width - side);
  const top = Math.min(Math.max(0, y + tall / 2 - side / 2), height - side);
  // A small place needs the large picture to be seen.
  const sharp = side * 2 >= Math.max(width, height);
  const img = h("img", { src: sharp ? `${picture.thumbnail}?side=640` : picture.image, alt: "", loading: "lazy", decoding: "async" });
  Object.assign(img.style, {
    width: `${(100 * width) / side}%`, height: `${(100 * height) / side}%`,
    left: `${(-100 * left) / side}%`, top: `${(-100 * top) / side}%`,
  });
  const link = h("a", { class: "patch", href: hrefFor(asking({ q: picture.id })), "data-ask": picture.id, "aria-label": t.learned.example(picture.name) }, img);
  if (box) {
    const mark = h("i");
    Object.assign(mark.style, {
      left: `${(100 * (x - left)) / side}%`, top: `${(100 * (y - top)) / side}%`, width: `${(100 * w) / side}%`, height: `${(100 * tall) / side}%`,
    });
    link.append(mark);
  }
  return link;
}
