// How good a profile is, in words: nothing before it means something, then with its uncertainty.

import { t } from "./texts.js";

/** @typedef {NonNullable<import("./types.js").Similarity["figures"]>} Figures */

/** @param {Figures} figures a sentence, or what it still takes */
export function accuracy(figures) {
  const { agreement, agreement_plain: plain, interval } = figures;
  if (figures.needed || agreement === null || plain === null || !interval) {
    return t.accuracy.needed(figures.needed);
  }
  return t.accuracy.said(agreement, interval, plain, claim(figures));
}

/** Only what the uncertainty allows. @param {Figures} figures */
export function claim({ verdict, gain }) {
  return t.accuracy.claim(gain && verdict !== "unknown" ? verdict : "unclear", gain ?? [0, 0]);
}
