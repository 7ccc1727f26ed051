// What I learned: words or directions that gained and lost, pictures that moved, how good the
// learning is, and every version of it.

import { api, messageOf } from "./api.js";
import { accuracy, claim, range } from "./accuracy.js";
import { curve } from "./curve.js";
import { confirmed } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { count, counted, percent, when } from "./format.js";
import * as known from "./known.js";
import { Models } from "./models.js";
import { openProfileDialog } from "./profiles.js";
import { asking, current, go, hrefFor } from "./state.js";
import { title } from "./title.js";
import { complain, toast } from "./toast.js";
import { empty } from "./search.js";

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
    this.use = h("button", { type: "button", class: "small", onclick: () => this.#use() }, icon("check"), "Use by default");
    this.body = h("div", {});
    this.models = new Models();
    this.el = h("div", { class: "view" },
      h("header", { class: "view-head" }, h("h1", {}, "What I learned"),
        h("div", { class: "how" }, h("label", { for: "profile" }, "Profile"), this.profiles, this.use,
          h("button", { type: "button", class: "quiet small", onclick: () => openProfileDialog() }, icon("plus"), "New profile"))),
      this.models.el, this.body, this.models.versus.el);
    this.turn = 0;
  }

  /** @param {import("./state.js").State} state */
  async show(state) {
    title("What I learned");
    const turn = ++this.turn;
    this.models.show(state);
    if (!this.body.childElementCount) fill(this.body, h("p", { class: "empty", role: "status" }, "Reading what was learned…"));
    try {
      const [all, about] = await Promise.all([known.similarities.get(), known.collection.get()]);
      const name = state.profile || known.profileFor(state.by, all, about);
      const names = all.items.filter((one) => one.learned && one.name !== "default").map((one) => one.name);
      if (!names.includes(name)) names.unshift(name);
      fill(this.profiles, ...names.map((one) => h("option", { value: one }, one === about.profile ? `${one} (in use)` : one)));
      this.profiles.value = name;
      this.use.hidden = name === about.profile;
      const found = await api.learned(name);
      if (turn === this.turn) this.#draw(found);
    } catch (error) {
      if (turn === this.turn) fill(this.body, empty("That did not work.", messageOf(error), "Try again", () => this.show(current()), true));
    }
  }

  async #use() {
    try {
      await api.use(this.profiles.value);
      known.forgetAll();
      toast(`${this.profiles.value} is now what ranks by default.`);
      this.show(current());
    } catch (error) {
      complain(error);
    }
  }

  /** @param {Learned} found */
  #draw(found) {
    const { figures } = found;
    if (!found.versions.length) {
      fill(this.body, empty("Nothing yet.", "Ask about a picture, then press + on results that should be higher and − on those that should not be there. What changes will be told here.", "Start searching", () => go(asking({ by: found.profile }))));
      return;
    }
    fill(this.body,
      h("dl", { class: "figures" },
        figure(count(figures.judgements), figures.judgements === 1 ? "judgement" : "judgements", "that stand"),
        figures.interval && figure(`${percent(figures.agreement)}`, "accuracy", `${range(figures.interval)}, ${figures.units === "directions" ? "when told only by the other judgements" : "before being told"}`),
        figures.interval && figure(percent(figures.agreement_plain), "without learning", claim(figures)),
        figure(percent(figures.changed), `of the ${figures.units}`, figures.units === "directions" ? "count otherwise" : "moved"),
        figures.sparsity > 0 && figure(percent(figures.sparsity), "of the words", "count no more")),
      !figures.interval && h("p", { class: "soft" }, accuracy(figures)),
      figures.interval && found.curve.length > 0 && h("section", {}, h("h2", {}, "Getting better?"),
        h("p", { class: "soft" }, "Each judgement is a test first and a lesson afterwards: the share of comparisons that were right before I was told."), curve(found.curve)),
      words("More alike now", "What the pictures of a row share makes pictures more alike than before.", "gained", found.gained),
      words("Less alike now", "What the pictures of a row share counts for less than before.", "lost", found.lost),
      directions("More alike now", "The pictures at the two ends of a row are more alike than before: what tells them apart counts for less.", "gained", found.directions.filter((one) => one.value < 1)),
      directions("Less alike now", "The pictures at the two ends of a row are less alike than before: what tells them apart counts for more.", "lost", found.directions.filter((one) => one.value > 1)),
      moves(found.moved),
      this.#versions(found));
  }

  /** @param {Learned} found */
  #versions(found) {
    return h("section", {}, h("h2", {}, "Versions"),
      h("p", { class: "soft" }, "Every line is a version one can go back to. Nothing is deleted: going back is a line of its own, and can be undone the same way."),
      h("ol", { class: "log", reversed: true },
        ...found.versions.map((line, i) => this.#line(line, i === 0, found)),
        h("li", { class: "start" }, h("span", { class: "number" }, "0"),
          h("div", { class: "what" }, h("b", {}, "The beginning"), h("span", { class: "soft" }, "nothing learned")),
          this.#back(0, found, false))));
  }

  /**
   * @param {Line} line
   * @param {boolean} newest
   * @param {Learned} found
   */
  #line(line, newest, found) {
    return h("li", { class: line.stands ? "" : "off" }, h("span", { class: "number" }, line.number),
      h("div", { class: "what" }, h("b", {}, told(line)), h("span", { class: "soft" }, when(line.made), line.stands ? "" : " · does not count any more"),
        faces(line)),
      this.#back(line.number, found, newest));
  }

  /**
   * @param {number} position
   * @param {Learned} found
   * @param {boolean} here
   */
  #back(position, found, here) {
    if (here) return h("span", { class: "here" }, icon("check"), "now");
    return h("button", { type: "button", class: "small", "aria-label": `Go back to version ${position}`, onclick: () => this.#rollBack(position, found) }, icon("undo"), "Go back");
  }

  /** @param {number} position @param {Learned} found */
  async #rollBack(position, found) {
    const text = position ? `${found.profile} will rank as it did after line ${position}. What was said later is kept, and you can return to it.` : `${found.profile} will rank as if nothing had been said. What was said is kept, and you can return to it.`;
    if (!(await confirmed(position ? `Go back to version ${position}?` : "Go back to the beginning?", text, "Go back"))) return;
    try {
      await api.rollBack(found.profile, position);
      known.forgetAll();
      toast(position ? `Back at version ${position}.` : "Back at the beginning.", { label: "Undo", act: () => this.#return(found) });
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

/** @param {Line} line */
function told(line) {
  if (line.kind === "undo") return `Took back ${line.about}`;
  if (line.kind === "rollback") return line.about ? `Went back to version ${line.about}` : "Went back to the beginning";
  if (line.kind === "merge") return line.answers ? `Took in ${counted(line.answers, "answer")} of ${line.person ?? "yours"}` : `Took in what another profile had learned by version ${line.about}`;
  if (line.kind === "weights") return "What was learned elsewhere came in whole";
  if (line.kind === "compare") return `${line.person ?? "You"} compared: the first is nearer than the second`;
  const parts = [];
  if (line.liked.length) parts.push(`${count(line.liked.length)} more like it`);
  if (line.disliked.length) parts.push(`${count(line.disliked.length)} not`);
  if (line.text) parts.unshift(`“${line.text}”`);
  const against = line.contradicts.length ? `, against ${line.contradicts.join(", ")}` : "";
  return (parts.join(", ") || "About pictures that have left") + against;
}

/** @param {Line} line */
function faces(line) {
  /** @type {[import("./types.js").Picture, string, string][]} */
  const all = [];
  if (line.query) all.push([line.query, "asked", "Asked about"]);
  for (const picture of line.liked.slice(0, 8)) all.push([picture, "liked", "More like it"]);
  for (const picture of line.disliked.slice(0, 8)) all.push([picture, "disliked", "Not"]);
  if (!all.length) return null;
  return h("div", { class: "faces" }, ...all.map(([picture, kind, word]) =>
    h("a", { class: kind, href: hrefFor(asking({ q: picture.id })), "data-ask": picture.id, title: `${word}: ${picture.name}` },
      h("img", { src: `${picture.thumbnail}?side=160`, alt: `${word}: ${picture.name}`, loading: "lazy" }),
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
        h("div", { class: "patches" }, ...word.examples.slice(0, 4).map(patch), !word.examples.length && h("p", { class: "soft" }, "no picture left that shows it")),
        h("div", { class: "bar", title: `${word.change > 0 ? "+" : "−"}${Math.abs(word.change).toPrecision(2)} to weight ${word.weight.toPrecision(2)}` }, bar),
        h("p", { class: "soft" }, `shared by ${counted(word.frequency, "picture")}`));
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
      return h("li", { title: `counts ${one.value.toFixed(2)} times` }, end("one end", one.one_end), h("span", { class: "versus-sign", "aria-hidden": "true" }, kind === "gained" ? "≈" : "≠"), end("other end", one.other_end), h("div", { class: "bar" }, bar));
    })));
}

/**
 * The pictures at one end of a direction.
 * @param {string} word
 * @param {Picture[]} pictures
 */
const end = (word, pictures) => h("div", { class: "end", role: "group", "aria-label": word },
  h("div", { class: "patches" }, ...pictures.slice(0, 4).map((picture) => small(picture, picture.name)), !pictures.length && h("p", { class: "soft" }, "no picture left")));

/** @param {Move[]} list */
function moves(list) {
  if (!list.length) return null;
  return h("section", {}, h("h2", {}, "Pictures that moved most"),
    h("p", { class: "soft" }, "Places among the answers without learning, and now. What was said about the very picture asked about is left out: this is what I do for every picture."),
    h("ul", { class: "moves" }, ...list.map((move) => {
      const rose = place(move.after) < place(move.before);
      return h("li", { class: rose ? "gained" : "lost" }, small(move.picture, move.picture.name),
        h("p", {}, h("b", {}, `${rose ? "Up" : "Down"} from ${placed(move.before)} to ${placed(move.after)}`), h("span", { class: "soft" }, "when asked about"),
          small(move.query, `Asked about: ${move.query.name}`)));
    })));
}

/** @param {number|null} at */
const place = (at) => at ?? Infinity;

/** @param {number|null} at */
const placed = (at) => (at === null ? "far behind" : count(at));

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
  const link = h("a", { class: "patch", href: hrefFor(asking({ q: picture.id })), "data-ask": picture.id, "aria-label": `An example, in ${picture.name}` }, img);
  if (box) {
    const mark = h("i");
    Object.assign(mark.style, {
      left: `${(100 * (x - left)) / side}%`, top: `${(100 * (y - top)) / side}%`, width: `${(100 * w) / side}%`, height: `${(100 * tall) / side}%`,
    });
    link.append(mark);
  }
  return link;
}
