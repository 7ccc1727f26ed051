// Dialogs: the browser's own, which keep the keyboard inside and close with Escape.

import { h, icon } from "./dom.js";
import { t } from "./texts.js";

/**
 * @param {string} title
 * @param {string} kind a class
 * @param {() => void} closed called once, however it was closed
 */
export function dialog(title, kind, closed) {
  const heading = h("h2", { id: `${kind}-title` }, title);
  const body = h("div", { class: "inside" });
  const el = h("dialog", { class: `dialog ${kind}`, "aria-labelledby": heading.id },
    h("header", { role: "none" }, heading,
      h("button", { type: "button", class: "quiet round", "aria-label": t.close, onclick: () => close() }, icon("close"))),
    body);
  // The browser tells of a close some time after it: a key pressed in between would act on a page
  // that still thinks the dialog open.  So closing is done whole, at once, and only here.
  let shown = true;
  const close = () => {
    if (!shown) return;
    shown = false;
    const toasts = el.querySelector("#toasts");
    if (toasts) document.body.append(toasts);
    el.close();
    el.remove();
    closed();
  };
  el.addEventListener("cancel", (event) => {
    if (event.target !== el) return; // a file chooser inside has one of its own
    event.preventDefault();
    close();
  });
  el.addEventListener("close", close);
  el.addEventListener("click", (event) => {
    if (event.target === el) close(); // the veil around it
  });
  document.body.append(el);
  el.showModal();
  return { el, body, heading, close };
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
        h("button", { type: "button", class: "main", onclick: () => { said = true; made.close(); } }, yes),
        h("button", { type: "button", onclick: () => made.close() }, t.cancel)));
  });
}
