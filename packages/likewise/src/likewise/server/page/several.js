// A question that is not one picture: several pictures together, or colours.

import { api } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, icon, need } from "./dom.js";
import { selection } from "./selection.js";
import { asking, coloursOf, current, go, likeOf } from "./state.js";
import { t } from "./texts.js";

const MOST = 100; // pictures of one question
const COLOURS = 5;

/** Searches with what is selected. */
export function findTogether() {
  return h("button", { type: "button", class: "small", onclick: () => {
    const ids = selection.ids().slice(0, MOST);
    selection.clear();
    go(asking(ids.length === 1 ? { q: ids[0] } : { like: ids.join(",") }));
  } }, icon("search"), t.several.find);
}

/** Beside the answers: what was asked with, each of which can be taken out. */
export class Several {
  constructor() {
    this.el = h("section", { class: "several", hidden: true, "aria-label": t.several.title });
    this.shown = "";
  }

  /** @param {import("./state.js").State} state */
  async show(state) {
    const like = likeOf(state);
    const colours = coloursOf(state);
    this.el.hidden = !like.length && !colours.length;
    const key = `${state.like} ${state.colours}`;
    if (this.el.hidden || key === this.shown) return;
    this.shown = key;
    if (colours.length) this.#colours(colours);
    else await this.#pictures(like, key);
  }

  /** @param {string[]} ids @param {string} key */
  async #pictures(ids, key) {
    const pictures = (await Promise.all(ids.map((id) => api.picture(id).catch(() => null)))).filter((one) => one !== null);
    if (key !== this.shown) return;
    fill(this.el, h("h2", {}, t.several.pictures(ids.length)), h("p", { class: "soft" }, t.several.how), h("p", { class: "soft" }, t.several.unjudged(false)),
      h("ul", { class: "together" }, ...pictures.map((picture) => h("li", {},
        h("img", { src: `${picture.thumbnail}?side=160`, alt: picture.name }),
        h("button", { type: "button", class: "round", "aria-label": t.several.remove(picture.name), onclick: () => this.#without(ids, picture.id) }, icon("close"))))),
      closing());
  }

  /** @param {string[]} ids @param {string} id */
  #without(ids, id) {
    const left = ids.filter((one) => one !== id);
    go(asking(left.length === 1 ? { q: left[0] } : left.length ? { like: left.join(",") } : {}));
  }

  /** @param {string[]} colours */
  #colours(colours) {
    fill(this.el, h("h2", {}, t.several.colours(colours.length)), h("p", { class: "soft" }, t.several.coloursHow), h("p", { class: "soft" }, t.several.unjudged(true)),
      h("ul", { class: "together" }, ...colours.map((colour) => h("li", {},
        spot(colour),
        h("button", { type: "button", class: "round", "aria-label": t.several.remove(nameOf(colour)), onclick: () => go(asking({ colours: colours.filter((one) => one !== colour).join(",") })) }, icon("close"))))),
      h("p", { class: "buttons" }, h("button", { type: "button", class: "small", onclick: openColours }, icon("palette"), t.several.change)), closing());
  }
}

const closing = () => h("p", { class: "buttons" }, h("button", { type: "button", class: "quiet small", onclick: () => go(asking({})) }, icon("close"), t.closeSearch));

/** @param {string} colour rrggbb */
function spot(colour) {
  const el = h("span", { class: "spot", role: "img", "aria-label": nameOf(colour) });
  el.style.background = `#${colour}`;
  return el;
}

/** @param {string} colour rrggbb */
const nameOf = (colour) => t.several.palette.find(([code]) => code === colour)?.[1] ?? `#${colour}`;

/** Choose one colour or a few. */
export function openColours() {
  const made = dialog(t.several.byColour, "colours", () => {});
  const chosen = new Set(coloursOf(current()));
  const own = h("input", { type: "color", id: "own-colour", value: "#8844aa" });
  const search = h("button", { class: "main" }, icon("search"), t.shell.search);
  const said = h("p", { class: "soft", role: "status" });
  const list = h("div", { class: "palette", role: "group", "aria-label": t.several.choose });
  const show = () => {
    const codes = [...new Set([...t.several.palette.map(([code]) => code), ...chosen])];
    fill(list, ...codes.map((code) => {
      const button = h("button", { type: "button", "aria-pressed": String(chosen.has(code)), "aria-label": nameOf(code), title: nameOf(code), onclick: () => {
        if (!chosen.delete(code) && chosen.size < COLOURS) chosen.add(code);
        show();
        list.querySelectorAll("button")[codes.indexOf(code)].focus();
      } }, chosen.has(code) && icon("check"));
      button.style.background = `#${code}`;
      return button;
    }));
    said.textContent = t.several.chosen(chosen.size);
    search.disabled = !chosen.size;
  };
  own.addEventListener("change", () => {
    if (chosen.size < COLOURS) chosen.add(own.value.slice(1).toLowerCase());
    show();
  });
  made.body.append(h("form", { onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    made.close();
    go(asking({ colours: [...chosen].join(",") }));
  } }, h("p", { class: "soft" }, t.several.coloursHow), list,
  h("div", { class: "in-line" }, h("label", { for: "own-colour" }, t.several.other), own), said,
  h("p", { class: "buttons" }, search, h("button", { type: "button", onclick: () => made.close() }, t.cancel))));
  show();
}

export function listen() {
  need("#colour").addEventListener("click", openColours);
}
