// What a person thinks of pictures: stars, favourites, hidden ones, albums.  Every change is told
// with a button that takes it back; those of several pictures are bulk actions (actions.js).

import { onActed, undoing } from "./actions.js";
import { api } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { selection } from "./selection.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

/** @typedef {import("./types.js").Shapes["MarkState"]} MarkState */
/** @typedef {{stars?: number, favourite?: boolean, hidden?: boolean}} Change */

const AT_ONCE = 5000; // pictures in one request

/** @typedef {Map<string, Change>|null} States null: some pictures, as the server knows */

/** @type {((states: States) => void)[]} */
const listeners = [];

/** Be told how pictures are marked from now on. @param {(states: States) => void} listener */
export const onMarked = (listener) => void listeners.push(listener);

/** @param {States} states */
function tell(states) {
  for (const listener of listeners) listener(states);
}

onActed((kind) => {
  if (kind === "mark") tell(null);
  else if (kind === "album") tell(new Map());
});

/** @param {string[]} pictures @param {Change} change @returns {Promise<boolean>} whether that worked */
export async function mark(pictures, change) {
  if (!pictures.length) return false;
  try {
    /** @type {MarkState[]} */
    const before = [];
    const actions = [];
    for (let first = 0; first < pictures.length; first += AT_ONCE) {
      const done = await api.mark({ pictures: pictures.slice(first, first + AT_ONCE), ...change });
      before.push(...done.before);
      actions.push(done.action);
    }
    tell(new Map(pictures.map((id) => [id, change])));
    const isBulk = actions.every((one) => one !== null);
    if (before.length) toast(t.marks.said(before.length, change), isBulk ? undoing(...actions) : { label: t.undo, act: () => restore(before) });
    else toast(t.selection.nothing);
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

/** @param {MarkState[]} before */
export async function restore(before) {
  try {
    for (let first = 0; first < before.length; first += AT_ONCE) {
      await api.restoreMarks({ before: before.slice(first, first + AT_ONCE) });
    }
    tell(new Map(before.map((one) => [one.picture, one])));
    toast(t.marks.undone);
  } catch (error) {
    complain(error);
  }
}

/**
 * Choose an album or name a new one.
 * @param {string[]} pictures
 * @param {() => void} [done]
 */
export async function askForAlbum(pictures, done = () => {}) {
  if (!pictures.length) return;
  const made = dialog(t.marks.toAlbum, "album-dialog", () => {});
  const input = h("input", { type: "text", id: "album-name", maxlength: "100", autocomplete: "off", required: true });
  const list = h("div", { class: "buttons" });
  /** @param {string} name */
  const put = async (name) => {
    made.close();
    if (await addToAlbum(name, pictures)) done();
  };
  const form = h("form", {}, list,
    h("div", { class: "field" }, h("label", { for: "album-name" }, t.marks.newAlbum), input),
    h("p", { class: "buttons" }, h("button", { class: "main" }, t.profiles.create), h("button", { type: "button", onclick: () => made.close() }, t.cancel)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) put(input.value.trim());
  });
  made.body.append(form);
  input.focus();
  try {
    const { items } = await api.albums();
    fill(list, ...items.map((one) => h("button", { type: "button", onclick: () => put(one.name) }, icon("album"), one.name)));
  } catch (error) {
    complain(error);
  }
}

/** @param {string} album @param {string[]} pictures */
async function addToAlbum(album, pictures) {
  try {
    /** @type {string[]} */
    const came = [];
    const actions = [];
    let isNew = false;
    for (let first = 0; first < pictures.length; first += AT_ONCE) {
      const done = await api.addToAlbum(album, pictures.slice(first, first + AT_ONCE));
      came.push(...done.pictures);
      actions.push(done.action);
      isNew ||= done.made;
    }
    tell(new Map());
    const isBulk = actions.every((one) => one !== null);
    const more = isBulk ? undoing(...actions) : came.length || isNew ? { label: t.undo, act: () => takeBack(album, came, isNew) } : {};
    toast(t.marks.inAlbum(came.length, album), more);
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

/** @param {string} album @param {string[]} came @param {boolean} isNew */
async function takeBack(album, came, isNew) {
  try {
    if (isNew) await api.deleteAlbum(album);
    else await api.takeFromAlbum(album, came);
    tell(new Map());
    toast(t.marks.undone);
  } catch (error) {
    complain(error);
  }
}

/** @param {string} album @param {string[]} pictures */
export async function takeFromAlbum(album, pictures) {
  try {
    const { pictures: left, action } = await api.takeFromAlbum(album, pictures);
    tell(new Map());
    toast(t.marks.outOfAlbum(left.length, album), action !== null ? undoing(action) : left.length ? { label: t.undo, act: () => addToAlbum(album, left) } : {});
  } catch (error) {
    complain(error);
  }
}

/** Buttons that act on what is selected; a bulk action ends the selection. */
export function markButtons() {
  /** @param {Change} change */
  const change = async (change) => {
    if (await mark(selection.ids(), change)) selection.clear();
  };
  const stars = h("select", { "aria-label": t.marks.starsFor, class: "small" },
    h("option", { value: "" }, t.library.stars), ...[5, 4, 3, 2, 1].map((n) => h("option", { value: String(n) }, "★".repeat(n))), h("option", { value: "0" }, t.marks.noStars));
  stars.addEventListener("change", () => {
    if (stars.value) change({ stars: Number(stars.value) });
    stars.value = "";
  });
  /** @param {string} name @param {string} label @param {() => void} act */
  const button = (name, label, act) => h("button", { type: "button", class: "small", title: label, "aria-label": label, onclick: act }, icon(name));
  return h("span", { class: "mark-buttons", role: "group", "aria-label": t.marks.group },
    button("heart", t.marks.favourite, () => change({ favourite: true })), stars,
    button("album", t.marks.toAlbum, () => askForAlbum(selection.ids(), () => selection.clear())),
    button("hide", t.marks.hide, () => change({ hidden: true })));
}

/** What is thought of one picture, where it is looked at. */
export class PictureMarks {
  /** @param {() => Promise<void>} goOn to another picture: this one is about to be hidden */
  constructor(goOn) {
    this.goOn = goOn;
    this.id = "";
    /** @type {import("./types.js").Shapes["AboutOut"]|null} */
    this.about = null;
    this.heart = h("button", { type: "button", class: "small", title: t.marks.keyed(t.marks.favourite, "v"), "aria-label": t.marks.favourite, onclick: () => this.key("v") }, icon("heart"));
    this.stars = h("select", { class: "small", "aria-label": t.library.stars }, h("option", { value: "0" }, t.marks.noStars),
      ...[1, 2, 3, 4, 5].map((n) => h("option", { value: String(n) }, "★".repeat(n))));
    this.stars.addEventListener("change", () => mark([this.id], { stars: Number(this.stars.value) }));
    this.album = h("button", { type: "button", class: "small", title: t.marks.keyed(t.marks.toAlbum, "b"), "aria-label": t.marks.toAlbum, onclick: () => this.key("b") }, icon("album"));
    this.hide = h("button", { type: "button", class: "small", title: t.marks.keyed(t.marks.hide, "h"), "aria-label": t.marks.hide, onclick: () => this.key("h") }, icon("hide"));
    this.albums = h("span", { class: "soft" });
    this.el = h("p", { class: "mark-buttons", role: "group", "aria-label": t.marks.one }, this.heart, this.stars, this.album, this.hide, this.albums);
    onMarked(() => {
      if (this.el.isConnected) this.show(this.id);
    });
  }

  /** @param {string} id */
  async show(id) {
    if (id !== this.id) this.about = null;
    this.id = id;
    try {
      const about = await api.about(id);
      if (this.id !== id) return;
      this.about = about;
      this.heart.setAttribute("aria-pressed", String(about.favourite));
      this.hide.setAttribute("aria-pressed", String(about.hidden));
      this.stars.value = String(about.stars);
      this.albums.textContent = about.albums.join(", ");
    } catch {
      // The picture itself says what is wrong.
    }
  }

  /** @param {boolean} hidden */
  async #hide(hidden) {
    const { id } = this;
    if (hidden) await this.goOn(); // while it still has neighbours
    await mark([id], { hidden });
  }

  /** @param {string} key @returns {boolean} whether it means something here */
  key(key) {
    const { about } = this;
    if (!about) return false;
    if (key === "v") mark([this.id], { favourite: !about.favourite });
    else if (key === "h") this.#hide(!about.hidden);
    else if (key === "b") askForAlbum([this.id]);
    else if (/^[1-5]$/.test(key)) mark([this.id], { stars: Number(key) });
    else return false;
    return true;
  }
}
