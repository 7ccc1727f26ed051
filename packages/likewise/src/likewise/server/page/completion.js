// A field for a tag that completes what there is.

import { api } from "./api.js";
import { fill, h, settled } from "./dom.js";
import { t } from "./texts.js";

let made = 0;

/**
 * @param {{label: string, placeholder?: string}} how
 * @returns {{field: HTMLElement, input: HTMLInputElement}} the list belongs to the field: append both as one
 */
export function tagField({ label, placeholder = "" }) {
  const id = `tags-known-${++made}`;
  const list = h("datalist", { id });
  const input = h("input", { type: "text", list: id, "aria-label": label, placeholder, maxlength: "200", autocomplete: "off", spellcheck: "false" });
  const look = settled(async () => {
    try {
      const { items } = await api.tags(input.value.trim().slice(0, 200), 12);
      fill(list, ...items.map((one) => h("option", { value: one.tag }, t.completion.pictures(one.pictures))));
    } catch {
      // Without completion one can still type.
    }
  }, 120);
  input.addEventListener("input", () => look());
  input.addEventListener("focus", () => look());
  return { field: h("span", { class: "tag-field" }, input, list), input };
}
