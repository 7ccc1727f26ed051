// Numbers, dates and sizes as the browser's language writes them.  No word of any language is here:
// those are in texts.js.

const whole = new Intl.NumberFormat();
const share = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const moment = new Intl.DateTimeFormat(undefined, {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
});

/** @param {number} n */
export const count = (n) => whole.format(n);

const decimals = [0, 1, 2, 3].map((places) => new Intl.NumberFormat(undefined, { minimumFractionDigits: places, maximumFractionDigits: places }));
const few = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 2 });

/**
 * @param {number} value
 * @param {number} places behind the point, 3 at most
 */
export const decimal = (value, places) => decimals[places].format(value);

const fine = new Intl.NumberFormat(undefined, { minimumFractionDigits: 4, maximumFractionDigits: 4 });

/** Of a place: ten metres are told apart. @param {number} value */
export const degrees = (value) => fine.format(value);

/** In two figures, wherever the point is. @param {number} value */
export const figures = (value) => few.format(value);

/**
 * A score in few figures: scales differ from one similarity to the next.
 * @param {number} value
 */
export function score(value) {
  const size = Math.abs(value);
  if (size >= 100) return decimal(value, 0);
  if (size >= 10) return decimal(value, 1);
  if (size >= 0.1 || size === 0) return decimal(value, 2);
  return figures(value);
}

/** @param {number|null} part */
export const percent = (part) => (part === null ? "–" : share.format(part));

/**
 * @param {number} n
 * @param {string} unit one that Intl knows
 * @param {number} [places]
 */
const measured = (n, unit, places = 0) => new Intl.NumberFormat(undefined, { style: "unit", unit, maximumFractionDigits: places }).format(n);

/** @param {number} n */
export function bytes(n) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
  let at = 0;
  while (n >= 1000 && at < units.length - 1) {
    n /= 1000;
    at += 1;
  }
  return measured(n, units[at], at && n < 10 ? 1 : 0);
}

/** @param {string|null|undefined} iso @returns {string} "" where there is no date */
export function date(iso) {
  const time = iso ? new Date(iso) : null;
  return time && !Number.isNaN(time.getTime()) ? day.format(time) : "";
}

const monthly = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" });

/** "July 2019", in the browser's language. @param {string} month such as 2019-07 */
export function monthName(month) {
  const time = new Date(`${month}-01T00:00:00Z`);
  return Number.isNaN(time.getTime()) ? month : monthly.format(time);
}

const shortMonth = new Intl.DateTimeFormat(undefined, { month: "short", timeZone: "UTC" });
const numeral = new Intl.DateTimeFormat(undefined, { day: "numeric", timeZone: "UTC" });

/** "Jul", in the browser's language. @param {string} month such as 2019-07 */
export function monthShort(month) {
  const time = new Date(`${month}-01T00:00:00Z`);
  return Number.isNaN(time.getTime()) ? month : shortMonth.format(time);
}

/** "4", as the browser's language writes the day of a month. @param {string} day such as 2019-07-04 */
export function dayNumber(day) {
  const time = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(time.getTime()) ? day : numeral.format(time);
}

/** "4 Jul 2019". @param {string} day such as 2019-07-04 */
export const dayName = (day) => date(`${day}T00:00:00`) || day;

/** @param {string} iso */
export function when(iso) {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : moment.format(time);
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return measured(Math.max(1, Math.round(seconds)), "second");
  if (seconds < 5400) return measured(Math.round(seconds / 60), "minute");
  return measured(seconds / 3600, "hour", 1);
}
