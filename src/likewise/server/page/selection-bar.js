// At the foot of the page while pictures are selected: tag them all at once.

import { api } from "./api.js";
import { tagField } from "./completion.js";
import { h, icon } from "./dom.js";
import { counted } from "./format.js";
import { markButtons } from "./marks.js";
import { selection } from "./selection.js";
import { complain, toast } from "./toast.js";

const AT_ONCE = 5000; // pictures in one request

/** @param {() => void} changed */
export function selectionBar(changed) {
  const said = h("b", { role: "status" });
  const { field, input } = tagField({ label: "Tag for the selected pictures", placeholder: "tag them" });
  const add = h("button", { class: "main small" }, icon("tag"), "Tag");
  const remove = h("button", { type: "button", class: "small", onclick: () => say(true) }, "Take it off");
  const clear = h("button", { type: "button", class: "quiet small", onclick: () => selection.clear() }, icon("close"), "Select none");
  const form = h("form", { class: "selection-bar", hidden: true, "aria-label": "Selected pictures" }, said, field, add, remove, markButtons(() => selection.ids()), clear);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    say(false);
  });

  /** @param {boolean} off */
  const say = async (off) => {
    const tag = input.value.trim();
    const pictures = selection.ids();
    if (!tag) {
      input.focus();
      return;
    }
    try {
      /** @type {number[]} */
      const lines = [];
      for (let first = 0; first < pictures.length; first += AT_ONCE) {
        const some = pictures.slice(first, first + AT_ONCE);
        lines.push(...(await api.tagMany(off ? { pictures: some, remove: [tag] } : { pictures: some, add: [tag] })).lines);
      }
      input.value = "";
      const what = off ? `Took “${tag}” off ${counted(pictures.length, "picture")}.` : `Tagged ${counted(pictures.length, "picture")} “${tag}”.`;
      toast(lines.length ? what : "That had been said before.", lines.length ? { label: "Undo", act: () => undo(lines) } : {});
      changed();
    } catch (error) {
      complain(error);
    }
  };

  /** @param {number[]} lines */
  const undo = async (lines) => {
    try {
      for (const line of lines.toReversed()) await api.undoTags([line]);
      changed();
    } catch (error) {
      complain(error);
    }
  };

  selection.onChange(() => {
    form.hidden = !selection.size;
    said.textContent = `${counted(selection.size, "picture")} selected`;
  });
  return form;
}
