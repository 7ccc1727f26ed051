// What was done to many pictures at once: Undo in its toast, and a list of the recent ones.

import { api, messageOf } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { when } from "./format.js";
import { may, me } from "./role.js";
import { t } from "./texts.js";
import { complain, toast, withdraw } from "./toast.js";

/** @typedef {import("./types.js").Shapes["ActionOut"]} Action */

const SHOWN = 50;

/** @type {((kind: string) => void)[]} */
const listeners = [];

/** Whoever shows what an action changes. @param {(kind: string) => void} listener */
export const onActed = (listener) => void listeners.push(listener);

/** Something was done, or undone. @param {string} kind */
export function acted(kind) {
  for (const listener of listeners) listener(kind);
}

/** @param {unknown} one @returns {one is number} */
const isAction = (one) => typeof one === "number";

/**
 * What a toast offers after an action; nothing where there was none.
 * @param {...unknown} actions their numbers
 * @returns {import("./toast.js").ToastMore}
 */
export function undoing(...actions) {
  const some = actions.filter(isAction);
  return some.length ? { label: t.undo, act: () => undo(some), about: offerOf(some) } : {};
}

/** What a notice is about that offers to undo. @param {number[]} actions */
const offerOf = (actions) => `undo ${actions.join()}`;

/** Take actions back, the last one first. @param {number[]} actions */
export async function undo(actions) {
  withdraw(offerOf(actions)); // it may still be offered in the notice of what was done
  try {
    let restored = 0;
    let left = 0;
    let kind = "";
    for (const action of actions.toReversed()) {
      const done = await api.undoAction(action);
      restored += done.restored;
      left += done.left;
      kind = done.action.kind;
    }
    acted(kind);
    toast(t.actions.undone(kind, restored, left));
  } catch (error) {
    complain(error);
  }
}

/** The list of recent actions, over whatever view. */
export async function openActions() {
  const made = dialog(t.shell.actions, "actions", () => {});
  const list = h("ul", { class: "action-list" });
  const said = h("p", { class: "soft", role: "status" }, t.loadingNow);
  made.body.append(said, list);
  const load = async () => {
    try {
      const { items } = await api.actions(SHOWN);
      said.textContent = items.length ? t.actions.how : t.actions.none;
      fill(list, ...items.map((one) => row(one, load)));
    } catch (error) {
      said.textContent = messageOf(error);
    }
  };
  await load();
}

/** @param {Action} one @param {() => Promise<void>} again */
function row(one, again) {
  const button = h("button", { type: "button", class: "small", "aria-label": t.actions.undo(one.what) }, icon("undo"), t.undo);
  button.addEventListener("click", async () => {
    button.disabled = true;
    await undo([one.id]);
    await again();
  });
  return h("li", { class: one.undone ? "undone" : "" },
    h("div", {}, h("b", {}, one.what),
      h("span", { class: "soft" }, t.actions.about(one.kind, one.pictures, when(one.made), one.who))),
    one.undone ? h("span", { class: "soft" }, t.actions.isUndone) : (may("manage") || (may("judge") && one.key !== null && one.who === me.name)) && button);
}
