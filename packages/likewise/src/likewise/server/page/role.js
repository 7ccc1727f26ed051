// Who looks at the page, and what they may do: the server refuses the rest, and the page hides it.

/** @typedef {import("./types.js").Me} Me */
/** @typedef {"look"|"judge"|"manage"} Role */

/** @type {Me["role"][]} each may do what those before it may */
const ROLES = ["guest", "look", "judge", "manage"];

/** @type {Me} */
export let me = { guest: false, name: "", role: "manage" };

/** Known before anything is drawn: roles.css hides by it what carries data-needs. @param {Me} found */
export function setMe(found) {
  me = found;
  document.documentElement.dataset.role = found.role;
}

/** @param {Role} role */
export const may = (role) => ROLES.indexOf(me.role) >= ROLES.indexOf(role);
