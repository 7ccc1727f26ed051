// A typed search becomes a tag: what was liked gets it, the best others get it suggested.

import { api } from "./api.js";
import { tagField } from "./completion.js";
import { dialog } from "./dialog.js";
import { h, icon } from "./dom.js";
import { counted } from "./format.js";
import * as known from "./known.js";
import { complain, toast } from "./toast.js";

/**
 * @param {string} text what was typed
 * @param {string} profile
 * @param {number} liked
 * @param {() => void} saved
 */
export function openSaveDialog(text, profile, liked, saved) {
  const made = dialog("Save as tag", "save-tag", () => {});
  const { field, input } = tagField({ label: "Tag" });
  input.value = text;
  input.required = true;
  const form = h("form", {},
    h("p", {}, `${counted(liked, "picture")} you marked with + under “${text}” ${liked === 1 ? "gets" : "get"} the tag. It is suggested for up to 50 more; you can accept or reject those under Tags.`),
    field,
    h("p", { class: "buttons" }, h("button", { class: "main" }, icon("tag"), "Save"), h("button", { type: "button", onclick: () => made.close() }, "Cancel")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const done = await api.saveTag({ text, tag: input.value.trim(), profile });
      made.close();
      known.forgetAll();
      saved();
      toast(`Tagged ${counted(done.tagged, "picture")} ${done.tag}, suggested for ${counted(done.suggested, "more", "more")}.`, done.lines.length ? { label: "Undo", act: () => undo(done, saved) } : {});
    } catch (error) {
      complain(error);
    }
  });
  made.body.append(form);
  input.focus();
  input.select();
}

/** @param {import("./types.js").Shapes["SavedOut"]} done @param {() => void} saved */
async function undo(done, saved) {
  try {
    await api.undoTags(done.lines);
    known.forgetAll();
    saved();
    toast(`Tag ${done.tag} taken back.`);
  } catch (error) {
    complain(error);
  }
}
