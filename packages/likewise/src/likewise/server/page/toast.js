// Short messages at the edge of the page; the region is live, so that screen readers say them too.

import { aborted, messageOf } from "./api.js";
import { h, icon, need } from "./dom.js";
import { t } from "./texts.js";

/**
 * @typedef {object} ToastMore
 * @property {string} [label] of a button
 * @property {() => void} [act] what it does
 * @property {boolean} [bad] a failure: it stays longer
 * @property {string} [about] what it is about, for who knows that it holds no more
 */

/**
 * @param {string} message
 * @param {ToastMore} [more]
 */
export function toast(message, { label, act, bad = false, about = "" } = {}) {
  const place = need("#toasts");
  // Beside an open dialog nothing can be clicked or is read out: inside it is.
  (document.querySelector("dialog[open]") ?? document.body).append(place);
  const gone = () => el.remove();
  const el = h("div", { class: bad ? "toast bad" : "toast", "data-about": about || null },
    bad && icon("alert"),
    h("span", {}, message),
    label && act && h("button", { type: "button", onclick: () => { gone(); act(); } }, label),
    h("button", { type: "button", class: "quiet round", "aria-label": t.dismiss, onclick: gone }, icon("close")));
  while (place.children.length > 1) place.firstElementChild?.remove();
  place.append(el);
  // Whoever points at it, or stands on it with the keyboard, is about to use it.
  const fade = () => (el.matches(":hover, :focus-within") ? setTimeout(fade, 2000) : gone());
  setTimeout(fade, bad ? 12000 : label ? 8000 : 5000); // who is offered something needs a moment to read it
}

/** What it offered is done, or cannot be done any more. @param {string} about */
export function withdraw(about) {
  for (const el of document.querySelectorAll(".toast")) if (el instanceof HTMLElement && el.dataset.about === about) el.remove();
}

/**
 * @param {unknown} error
 * @param {string} [about] what it happened to
 */
export function complain(error, about = "") {
  if (aborted(error)) return; // the page itself wanted no more of it
  toast(about ? t.about(about, messageOf(error)) : messageOf(error), { bad: true });
}
