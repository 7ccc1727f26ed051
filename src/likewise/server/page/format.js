// Numbers, dates and counts as people read them.

const whole = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const moment = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
});

/** @param {number} n */
export const count = (n) => whole.format(n);

/**
 * "1 picture", "2 pictures".
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/**
 * A score in few figures: scales differ from one similarity to the next.
 * @param {number} value
 */
export function score(value) {
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 0.1 || size === 0) return value.toFixed(2);
  return value.toPrecision(2);
}

/** @param {number|null} share */
export const percent = (share) => (share === null ? "–" : `${Math.round(share * 100)}\u00a0%`);

/** @param {number} n */
export function bytes(n) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (n >= 1000 && at < units.length - 1) {
    n /= 1000;
    at += 1;
  }
  return `${at && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[at]}`;
}

/** @param {string|null|undefined} iso */
export function date(iso) {
  const time = iso ? new Date(iso) : null;
  return time && !Number.isNaN(time.getTime()) ? day.format(time) : "no date";
}

const monthly = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" });

/** "July 2019", in the browser's language. @param {string} month such as 2019-07 */
export function monthName(month) {
  const time = new Date(`${month}-01T00:00:00Z`);
  return Number.isNaN(time.getTime()) ? month : monthly.format(time);
}

/** @param {string} iso */
export function when(iso) {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : moment.format(time);
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
