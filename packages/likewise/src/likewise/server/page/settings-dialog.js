// Settings: how large tiles are, light or dark, what is for developers, and who is signed in.

import { account } from "./access-keys.js";
import { dialog } from "./dialog.js";
import { h, need } from "./dom.js";
import * as settings from "./settings.js";
import { t } from "./texts.js";
import { chosen, setTheme, THEMES } from "./themes.js";

/** @param {() => void} changed called when pictures are to be laid out anew */
export function openSettings(changed) {
  const made = dialog(t.settings.title, "settings", () => {});
  const tiles = h("select", { id: "set-tiles", onchange: () => {
    settings.change({ tiles: settings.SIZES.find((one) => one === tiles.value) ?? "medium" });
    changed();
  } }, ...settings.SIZES.map((one) => h("option", { value: one }, t.settings.sizes[one])));
  tiles.value = settings.tiles;
  const theme = h("select", { id: "set-theme", onchange: () => setTheme(THEMES.find((one) => one === theme.value) ?? "auto") },
    ...THEMES.map((one) => h("option", { value: one }, t.settings.themes[one])));
  theme.value = chosen();
  const developer = h("input", { type: "checkbox", id: "set-developer", onchange: () => {
    settings.change({ developer: developer.checked });
    changed();
  } });
  developer.checked = settings.developer;
  made.body.append(
    h("div", { class: "field" }, h("label", { for: "set-tiles" }, t.settings.tiles), tiles),
    h("div", { class: "field" }, h("label", { for: "set-theme" }, t.settings.theme), theme),
    h("div", { class: "field" }, h("span", {}, t.settings.language), h("p", { class: "soft" }, t.settings.languageHow(navigator.language, new Date()))),
    h("p", { class: "tick" }, developer, h("label", { for: "set-developer" }, t.settings.developer)),
    h("p", { class: "soft" }, t.settings.kept), account());
}

/** @param {() => void} changed */
export function listen(changed) {
  need("#settings").addEventListener("click", () => openSettings(changed));
}
