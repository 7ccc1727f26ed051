// Light, dark, or as the system has it; the choice is kept in this browser (see theme.js).

import { fill, icon, need } from "./dom.js";
import { t } from "./texts.js";

const KEY = "likewise.theme";
export const THEMES = /** @type {const} */ (["auto", "light", "dark"]);
const ICONS = { auto: "auto", light: "sun", dark: "moon" };

/** @returns {"auto"|"light"|"dark"} */
export function chosen() {
  const theme = document.documentElement.dataset.theme;
  return theme === "light" || theme === "dark" ? theme : "auto";
}

export function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(chosen()) + 1) % THEMES.length]);
}

/** @param {typeof THEMES[number]} next */
export function setTheme(next) {
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  document.dispatchEvent(new Event("likewise-theme")); // a canvas has no style sheet
  try {
    if (next === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  showTheme();
}

export function showTheme() {
  const button = need("#theme");
  const name = chosen();
  fill(button, icon(ICONS[name]));
  const text = t.themes.label(name);
  button.setAttribute("aria-label", text);
  button.title = text;
}

export function listen() {
  need("#theme").addEventListener("click", nextTheme);
  showTheme();
}
