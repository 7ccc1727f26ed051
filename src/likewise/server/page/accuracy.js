// How good a profile is, in words: nothing before it means something, then with its uncertainty.

import { count, counted, percent } from "./format.js";

/** @typedef {NonNullable<import("./types.js").Similarity["figures"]>} Figures */

/** @param {number} share */
const points = (share) => Math.max(1, Math.round(100 * Math.abs(share)));

/** @param {Figures} figures a sentence, or what it still takes */
export function accuracy(figures) {
  const { agreement, agreement_plain: plain, interval } = figures;
  if (figures.needed || agreement === null || plain === null || !interval) {
    return `How accurate it is can be said after ${count(figures.needed)} more ${figures.needed === 1 ? "judgement" : "judgements"} with both + and −.`;
  }
  return `Accuracy ${percent(agreement)} (${range(interval)}), ${percent(plain)} without learning: ${claim(figures)}.`;
}

/** Only what the uncertainty allows. @param {Figures} figures */
export function claim({ verdict, gain }) {
  if (!gain || verdict === "unclear" || verdict === "unknown") return "no clear difference yet";
  const [low, high] = verdict === "better" ? gain : [gain[1], gain[0]];
  return `${verdict} by ${points(low)} to ${points(high)} points`;
}

/** @param {[number, number]} interval */
export const range = ([low, high]) => `${Math.round(100 * low)} to ${percent(high)}`;

/** @param {Figures} figures */
export const judged = (figures) => counted(figures.judgements, "judgement");
