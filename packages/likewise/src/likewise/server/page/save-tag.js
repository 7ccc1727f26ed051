// A typed search becomes a tag: what was liked gets it, the best others get it suggested.

import { api } from "./api.js";
import { tagField } from "./completion.js";
import { dialog } from "./dialog.js";
import { h, icon } from "./dom.js";
import * as known from "./known.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

/**
 * @param {string} text what was typed
 * @param {string} profile
 * @param {number} liked
 * @param {() => void} saved
 */
export function openSaveDialog(text, profile, liked, saved) {
  const made = dialog(t.rail.saveTag, "save-tag", () => {});
  const { field, input } = tagField({ label: t.saveTag.tag });
  input.value = text;
  input.required = true;
  const form = h("form", {},
    h("p", {}, t.saveTag.how(liked, text)),
    field,
    h("p", { class: "buttons" }, h("button", { class: "main" }, icon("tag"), t.save), h("button", { type: "button", onclick: () => made.close() }, t.cancel)));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const done = await api.saveTag({ text, tag: input.value.trim(), profile });
      made.close();
      known.forgetAll();
      saved();
      toast(t.saveTag.done(done.tagged, done.tag, done.suggested), done.lines.length ? { label: t.undo, act: () => undo(done, saved) } : {});
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
    toast(t.saveTag.undone(done.tag));
  } catch (error) {
    complain(error);
  }
}
