// The texts of index.html, from the one file that has them all.

import { t } from "./texts.js";

const ATTRIBUTES = [["label", "aria-label"], ["title", "title"], ["placeholder", "placeholder"]];

/** Write every text that index.html marks with data-text, data-label, data-title or data-placeholder. */
export function dressShell() {
  /** @type {Record<string, string>} */
  const texts = t.shell;
  for (const el of document.querySelectorAll("[data-text]")) el.textContent = texts[el.getAttribute("data-text") ?? ""];
  for (const [name, attribute] of ATTRIBUTES) {
    for (const el of document.querySelectorAll(`[data-${name}]`)) el.setAttribute(attribute, texts[el.getAttribute(`data-${name}`) ?? ""]);
  }
}
