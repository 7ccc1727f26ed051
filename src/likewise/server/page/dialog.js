// Dialogs: the browser's own, which keep the keyboard inside and close with Escape.

import { h, icon } from "./dom.js";

/**
 * @param {string} title
 * @param {string} kind a class
 * @param {() => void} closed called once, however it was closed
 */
export function dialog(title, kind, closed) {
  const heading = h("h2", { id: `${kind}-title` }, title);
  const body = h("div", { class: "inside" });
  const el = h("dialog", { class: `dialog ${kind}`, "aria-labelledby": heading.id },
    h("header", {}, heading,
      h("button", { type: "button", class: "quiet round", "aria-label": "Close", onclick: () => el.close() }, icon("close"))),
    body);
  el.addEventListener("close", () => {
    el.remove();
    closed();
  });
  el.addEventListener("click", (event) => {
    if (event.target === el) el.close(); // the veil around it
  });
  document.body.append(el);
  el.showModal();
  return { el, body, heading };
}

/**
 * Ask before doing something; resolves to whether it was wanted.
 * @param {string} title
 * @param {string} text
 * @param {string} yes
 * @returns {Promise<boolean>}
 */
export function confirmed(title, text, yes) {
  return new Promise((answer) => {
    let said = false;
    const made = dialog(title, "confirm", () => answer(said));
    made.body.append(
      h("p", {}, text),
      h("p", { class: "buttons" },
        h("button", { type: "button", class: "main", onclick: () => { said = true; made.el.close(); } }, yes),
        h("button", { type: "button", onclick: () => made.el.close() }, "Leave it")));
  });
}
