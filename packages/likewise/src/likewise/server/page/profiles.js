// A new profile: empty over a built-in similarity, or a copy of another one.

import { api } from "./api.js";
import { dialog } from "./dialog.js";
import { h } from "./dom.js";
import * as known from "./known.js";
import { current, go } from "./state.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

export async function openProfileDialog() {
  let all;
  try {
    all = await known.similarities.get();
  } catch (error) {
    complain(error);
    return;
  }
  const made = dialog(t.newProfile, "profile", () => {});
  const name = h("input", { type: "text", id: "profile-name", required: true, maxlength: "40", autocomplete: "off", pattern: "[\\-_\\p{L}\\p{N}]+", title: t.profiles.letters, placeholder: t.profiles.example });
  const start = h("select", { id: "profile-start" },
    h("optgroup", { label: t.profiles.empty }, ...all.items.filter((one) => !one.learned).map((one) => h("option", { value: `base ${one.name}` }, t.ranking(one.name)))),
    h("optgroup", { label: t.profiles.copy }, ...all.items.filter((one) => one.learned).map((one) => h("option", { value: `copy ${one.name}` }, one.name))));
  const wrong = h("p", { class: "bad", role: "alert" });
  const form = h("form", { method: "dialog" },
    h("p", { class: "soft" }, t.profiles.how),
    h("div", { class: "field" }, h("label", { for: "profile-name" }, t.profiles.name), name),
    h("div", { class: "field" }, h("label", { for: "profile-start" }, t.profiles.begin), start),
    wrong,
    h("p", { class: "buttons" }, h("button", { class: "main" }, t.profiles.create), h("button", { type: "button", onclick: () => made.close() }, t.cancel)));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [kind, of] = [start.value.slice(0, 4), start.value.slice(5)];
    try {
      await api.newProfile({ name: name.value.trim(), base: kind === "base" ? of : null, copy_of: kind === "copy" ? of : null });
    } catch (error) {
      wrong.textContent = error instanceof Error ? error.message : String(error);
      return;
    }
    known.forgetAll();
    made.close();
    toast(t.profiles.ready(name.value.trim()));
    go(current().view === "learned" ? { profile: name.value.trim() } : { by: name.value.trim(), above: null });
  });
  made.body.append(form);
  name.focus();
}
