// Writing XMP sidecars: how many and where is said first, another folder can be chosen.

import { api, messageOf } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, settled } from "./dom.js";
import { count } from "./format.js";
import { t } from "./texts.js";

const NAMED = 5; // folders that are named

/** @param {(place: string) => void} write */
export function openSidecars(write) {
  let turn = 0; // of what is being counted; -1: nobody waits for it
  const made = dialog(t.sidecars.title, "sidecars", () => {
    turn = -1;
  });
  const beside = h("input", { type: "radio", name: "xmp-where", id: "xmp-beside", value: "beside", checked: true });
  const below = h("input", { type: "radio", name: "xmp-where", id: "xmp-below", value: "below" });
  const folder = h("input", { type: "text", id: "xmp-folder", "aria-label": t.sidecars.folder, placeholder: t.sidecars.example, autocomplete: "off", spellcheck: "false" });
  const plan = h("div", { class: "plan", role: "status" });
  const go = h("button", { class: "main", disabled: true }, t.sidecars.write);
  const form = h("form", {},
    h("p", { class: "soft" }, t.tag.exportHow),
    h("p", { class: "check" }, beside, h("label", { for: "xmp-beside" }, t.sidecars.beside)),
    h("p", { class: "check" }, below, h("label", { for: "xmp-below" }, t.sidecars.below), folder),
    plan,
    h("p", { class: "buttons" }, go, h("button", { type: "button", onclick: () => made.close() }, t.cancel)));
  made.body.append(form);

  const place = () => (below.checked ? folder.value.trim() : "beside");
  const look = async () => {
    const mine = ++turn;
    go.disabled = true;
    go.textContent = t.sidecars.write;
    if (!place()) {
      fill(plan, h("p", { class: "soft" }, t.sidecars.name));
      return;
    }
    fill(plan, h("p", { class: "soft" }, t.sidecars.counting));
    try {
      const found = await api.planXmp(place());
      if (mine !== turn) return;
      const files = found.new + found.changed;
      fill(plan, ...told(found));
      go.disabled = !files;
      if (files) go.textContent = t.sidecars.writeN(files);
    } catch (error) {
      if (mine === turn) fill(plan, h("p", { class: "bad" }, messageOf(error)));
    }
  };
  const later = settled(look, 300);
  beside.addEventListener("change", look);
  below.addEventListener("change", () => {
    folder.focus();
    look();
  });
  folder.addEventListener("input", () => {
    below.checked = true;
    go.disabled = true; // what is said is of another folder
    turn += 1;
    later();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (go.disabled) return;
    const where = place();
    made.close();
    write(where);
  });
  look();
}

/** What would be done, in words. @param {import("./types.js").Shapes["SidecarPlanOut"]} found */
function told(found) {
  const files = found.new + found.changed;
  if (!files) return [h("p", {}, t.sidecars.nothing(found.unchanged, found.problems))];
  const rest = found.n_folders - Math.min(NAMED, found.folders.length);
  return [
    h("p", {}, h("b", {}, t.sidecars.files(found.new, found.changed)), t.sidecars.where(found.n_folders, found.problems)),
    h("ul", { class: "paths" }, ...found.folders.slice(0, NAMED).map((one) => h("li", {}, h("code", {}, one.folder), h("span", { class: "soft" }, count(one.files)))),
      rest > 0 && h("li", { class: "soft" }, t.sidecars.moreFolders(rest))),
  ];
}
