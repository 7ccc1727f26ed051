// What a person thinks of pictures: stars, favourites, hidden ones, albums.  Every change is told
// with a button that takes it back.

import { api } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { counted } from "./format.js";
import { complain, toast } from "./toast.js";

/** @typedef {import("./types.js").Shapes["MarkState"]} MarkState */
/** @typedef {{stars?: number, favourite?: boolean, hidden?: boolean}} Change */

const AT_ONCE = 5000; // pictures in one request

/** @type {((states: Map<string, Change>) => void)[]} */
const listeners = [];

/** Be told how pictures are marked from now on. @param {(states: Map<string, Change>) => void} listener */
export const onMarked = (listener) => void listeners.push(listener);

/** @param {Map<string, Change>} states */
function tell(states) {
  for (const listener of listeners) listener(states);
}

/** @param {string[]} pictures @param {Change} change */
export async function mark(pictures, change) {
  if (!pictures.length) return;
  try {
    /** @type {MarkState[]} */
    const before = [];
    for (let first = 0; first < pictures.length; first += AT_ONCE) {
      before.push(...(await api.mark({ pictures: pictures.slice(first, first + AT_ONCE), ...change })).before);
    }
    tell(new Map(pictures.map((id) => [id, change])));
    if (!before.length) {
      toast("That is so already.");
      return;
    }
    toast(said(before.length, change), { label: "Undo", act: () => restore(before) });
  } catch (error) {
    complain(error);
  }
}

/** @param {MarkState[]} before */
export async function restore(before) {
  try {
    for (let first = 0; first < before.length; first += AT_ONCE) {
      await api.restoreMarks({ before: before.slice(first, first + AT_ONCE) });
    }
    tell(new Map(before.map((one) => [one.picture, one])));
    toast("Taken back.");
  } catch (error) {
    complain(error);
  }
}

/** @param {number} n @param {Change} change */
function said(n, { stars, favourite, hidden }) {
  const what = counted(n, "picture");
  if (stars !== undefined) return stars ? `${what}: ${counted(stars, "star")}.` : `${what}: no stars.`;
  if (favourite !== undefined) return favourite ? `${what} among your favourites.` : `${what} no longer among your favourites.`;
  return hidden ? `${what} hidden.` : `${what} shown again.`;
}

/** Choose an album or name a new one. @param {string[]} pictures */
export async function askForAlbum(pictures) {
  if (!pictures.length) return;
  const made = dialog("Add to an album", "album-dialog", () => {});
  const input = h("input", { type: "text", id: "album-name", maxlength: "100", autocomplete: "off", required: true });
  const list = h("div", { class: "buttons" });
  /** @param {string} name */
  const put = async (name) => {
    made.close();
    await addToAlbum(name, pictures);
  };
  const form = h("form", {}, list,
    h("div", { class: "field" }, h("label", { for: "album-name" }, "New album"), input),
    h("p", { class: "buttons" }, h("button", { class: "main" }, "Create"), h("button", { type: "button", onclick: () => made.close() }, "Cancel")));
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
    let isNew = false;
    for (let first = 0; first < pictures.length; first += AT_ONCE) {
      const done = await api.addToAlbum(album, pictures.slice(first, first + AT_ONCE));
      came.push(...done.pictures);
      isNew ||= done.made;
    }
    tell(new Map());
    toast(came.length ? `${counted(came.length, "picture")} in “${album}”.` : `They are in “${album}” already.`,
      came.length || isNew ? { label: "Undo", act: () => takeBack(album, came, isNew) } : {});
  } catch (error) {
    complain(error);
  }
}

/** @param {string} album @param {string[]} came @param {boolean} isNew */
async function takeBack(album, came, isNew) {
  try {
    if (isNew) await api.deleteAlbum(album);
    else await api.takeFromAlbum(album, came);
    tell(new Map());
    toast("Taken back.");
  } catch (error) {
    complain(error);
  }
}

/** @param {string} album @param {string[]} pictures */
export async function takeFromAlbum(album, pictures) {
  try {
    const { pictures: left } = await api.takeFromAlbum(album, pictures);
    tell(new Map());
    toast(`${counted(left.length, "picture")} taken out of “${album}”.`, left.length ? { label: "Undo", act: () => addToAlbum(album, left) } : {});
  } catch (error) {
    complain(error);
  }
}

/** Buttons that act on pictures, wherever some are selected. @param {() => string[]} pictures */
export function markButtons(pictures) {
  const stars = h("select", { "aria-label": "Stars for the selected pictures", class: "small" },
    h("option", { value: "" }, "Stars"), ...[5, 4, 3, 2, 1].map((n) => h("option", { value: String(n) }, "★".repeat(n))), h("option", { value: "0" }, "none"));
  stars.addEventListener("change", () => {
    if (stars.value) mark(pictures(), { stars: Number(stars.value) });
    stars.value = "";
  });
  /** @param {string} name @param {string} label @param {() => void} act */
  const button = (name, label, act) => h("button", { type: "button", class: "small", title: label, "aria-label": label, onclick: act }, icon(name));
  return h("span", { class: "mark-buttons", role: "group", "aria-label": "Mark the selected pictures" },
    button("heart", "Favourite", () => mark(pictures(), { favourite: true })), stars,
    button("album", "Add to an album", () => askForAlbum(pictures())),
    button("hide", "Hide", () => mark(pictures(), { hidden: true })));
}
