// Who is signed in, and keys for other people: made, shown once, revoked, and all of one taken back.

import { acted, undoing } from "./actions.js";
import { api } from "./api.js";
import { confirmed, dialog } from "./dialog.js";
import { fill, h, icon, need } from "./dom.js";
import { when } from "./format.js";
import * as known from "./known.js";
import { may, me } from "./role.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

/** @typedef {import("./types.js").Shapes["KeyOut"]} Key */

/** @type {Key["role"][]} */
const ROLES = ["look", "judge", "manage"];

/** A letter at the top for whoever is not the owner. @param {() => void} open the settings */
export function showWho(open) {
  if (!me.name || me.role === "guest") return;
  const badge = need("#who");
  const said = t.access.signedInAs(me.name, me.role);
  badge.textContent = [...me.name][0].toUpperCase();
  badge.title = said;
  badge.setAttribute("aria-label", said);
  badge.hidden = false;
  badge.addEventListener("click", open);
}

/** The part of the settings that says who this is. */
export function account() {
  const role = me.role === "guest" ? "look" : me.role;
  return h("section", { class: "account" }, h("h3", {}, t.access.title),
    h("p", {}, me.name ? t.access.signedInAs(me.name, role) : t.access.owner),
    h("p", { class: "buttons" },
      may("manage") && h("button", { type: "button", onclick: () => openKeys() }, icon("share"), t.access.keys),
      me.name !== "" && h("button", { type: "button", onclick: signOut }, t.access.signOut)));
}

async function signOut() {
  try {
    await fetch("/sign-out", { method: "POST", credentials: "same-origin" });
  } catch {
    // The page that comes next says that nobody answers.
  }
  location.assign("/");
}

export async function openKeys() {
  const made = dialog(t.access.keys, "access-keys", () => {});
  const name = h("input", { type: "text", id: "key-name", maxlength: "40", required: true, autocomplete: "off" });
  const role = h("select", { id: "key-role" }, ...ROLES.map((one) => h("option", { value: one }, t.access.roles[one])));
  const shown = h("div", { role: "status" });
  const list = h("ul", { class: "key-list", "aria-label": t.access.working });
  const form = h("form", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); add(); } },
    h("p", { class: "soft" }, t.access.how),
    h("div", { class: "field" }, h("label", { for: "key-name" }, t.access.name), name),
    h("div", { class: "field" }, h("label", { for: "key-role" }, t.access.may), role),
    h("p", { class: "buttons" }, h("button", { class: "main" }, icon("plus"), t.access.make)));
  made.body.append(form, shown, list);
  name.focus();

  const add = async () => {
    try {
      const { secret, key } = await api.addKey({ name: name.value.trim(), role: ROLES.find((one) => one === role.value) ?? "look" });
      const field = h("input", { type: "text", readonly: true, value: secret, spellcheck: "false", "aria-label": t.access.keyOf(key.name) });
      fill(shown, h("div", { class: "new-key" }, h("p", {}, t.access.once(key.name)), field,
        h("p", { class: "buttons" }, h("button", { type: "button", class: "main small", onclick: () => copy(field) }, icon("copy"), t.access.copy))));
      name.value = "";
      field.select();
      await show();
    } catch (error) {
      complain(error);
    }
  };

  const show = async () => {
    try {
      const { items } = await api.keys();
      fill(list, ...items.toReversed().map(row));
    } catch (error) {
      complain(error);
    }
  };

  /** @param {Key} one */
  const row = (one) => h("li", { class: one.revoked ? "gone" : "" },
    h("div", {}, h("b", {}, one.name), h("span", { class: "soft" }, t.access.roles[one.role]),
      h("span", { class: "soft" }, one.revoked ? t.access.closed(when(one.revoked)) : t.access.about(when(one.made), one.maker, one.used ? when(one.used) : ""))),
    h("span", { class: "buttons" },
      h("button", { type: "button", class: "small", "aria-label": t.access.takeBackOf(one.name), onclick: () => takeBack(one) }, icon("undo"), t.access.takeBack),
      !one.revoked && h("button", { type: "button", class: "small", "aria-label": t.access.revokeOf(one.name), onclick: () => revoke(one) }, icon("close"), t.share.revoke)));

  /** @param {Key} one */
  const revoke = async (one) => {
    try {
      await api.revokeKey(one.id);
      fill(shown);
      toast(t.access.revoked(one.name));
      await show();
    } catch (error) {
      complain(error);
    }
  };

  /** @param {Key} one */
  const takeBack = async (one) => {
    if (!(await confirmed(t.access.askTakeBack(one.name), t.access.takeBackHow, t.access.takeBack))) return;
    try {
      const done = await api.takeBackKey(one.id);
      known.forgetAll();
      acted("takeback");
      toast(t.access.tookBack(done.judgements, done.tags, one.name), undoing(done.action));
    } catch (error) {
      complain(error);
    }
  };
  await show();
}

/** @param {HTMLInputElement} field */
async function copy(field) {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    toast(t.share.copied);
  } catch {
    toast(t.share.copyByHand);
  }
}
