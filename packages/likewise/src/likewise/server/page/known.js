// What several views need to know of the server: the collection and its similarities.  Kept until
// something changes; whoever shows it asks again when told.

import { api } from "./api.js";

/** @template T @param {() => Promise<T>} load */
function kept(load) {
  /** @type {Promise<T>|null} */
  let answer = null;
  return {
    get: () => {
      answer ??= load().catch((error) => {
        answer = null;
        throw error;
      });
      return answer;
    },
    forget: () => {
      answer = null;
    },
  };
}

export const collection = kept(api.collection);
export const similarities = kept(api.similarities);

export function forgetAll() {
  collection.forget();
  similarities.forget();
}

/**
 * The profile that learns while one ranks by a similarity: itself, or the one in use.
 * @param {string} by
 * @param {import("./types.js").Similarities} known
 * @param {import("./types.js").Collection} about
 */
export function profileFor(by, known, about) {
  const found = known.items.find((one) => one.name === by);
  return found?.learned ? found.name : about.profile;
}
