// Writing XMP sidecars: how many and where is said first, another folder can be chosen.

import { api, messageOf } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, settled } from "./dom.js";
import { count, counted } from "./format.js";

const NAMED = 5; // folders that are named

/** @param {(place: string) => void} write */
export function openSidecars(write) {
  let turn = 0; // of what is being counted; -1: nobody waits for it
  const made = dialog("Write sidecars", "sidecars", () => {
    turn = -1;
  });
  const beside = h("input", { type: "radio", name: "xmp-where", id: "xmp-beside", value: "beside", checked: true });
  const below = h("input", { type: "radio", name: "xmp-where", id: "xmp-below", value: "below" });
  const folder = h("input", { type: "text", id: "xmp-folder", "aria-label": "Folder for the sidecars", placeholder: "/home/me/Sidecars", autocomplete: "off", spellcheck: "false" });
  const plan = h("div", { class: "plan", role: "status" });
  const go = h("button", { class: "main", disabled: true }, "Write");
  const form = h("form", {},
    h("p", { class: "soft" }, "Small XMP files with the tags, which other programs read. Pictures are never changed; what another program wrote into a sidecar stays."),
    h("p", { class: "check" }, beside, h("label", { for: "xmp-beside" }, "Beside the pictures")),
    h("p", { class: "check" }, below, h("label", { for: "xmp-below" }, "In another folder"), folder),
    plan,
    h("p", { class: "buttons" }, go, h("button", { type: "button", onclick: () => made.close() }, "Cancel")));
  made.body.append(form);

  const place = () => (below.checked ? folder.value.trim() : "beside");
  const look = async () => {
    const mine = ++turn;
    go.disabled = true;
    go.textContent = "Write";
    if (!place()) {
      fill(plan, h("p", { class: "soft" }, "Name a folder of this machine."));
      return;
    }
    fill(plan, h("p", { class: "soft" }, "Counting…"));
    try {
      const found = await api.planXmp(place());
      if (mine !== turn) return;
      const files = found.new + found.changed;
      fill(plan, ...told(found));
      go.disabled = !files;
      if (files) go.textContent = `Write ${counted(files, "file")}`;
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
  const kept = found.problems ? ` ${counted(found.problems, "file")} cannot be written and will be left alone.` : "";
  if (!files) return [h("p", {}, `Nothing to write: ${counted(found.unchanged, "sidecar")} up to date.${kept}`)];
  const changes = found.changed ? ` and ${counted(found.changed, "changed one")}` : "";
  const rest = found.n_folders - Math.min(NAMED, found.folders.length);
  return [
    h("p", {}, h("b", {}, `${counted(found.new, "new file")}${changes}`), ` in ${counted(found.n_folders, "folder")}. Undo takes them back.${kept}`),
    h("ul", { class: "paths" }, ...found.folders.slice(0, NAMED).map((one) => h("li", {}, h("code", {}, one.folder), h("span", { class: "soft" }, count(one.files)))),
      rest > 0 && h("li", { class: "soft" }, `and ${counted(rest, "more folder")}`)),
  ];
}
