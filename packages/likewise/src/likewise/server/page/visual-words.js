// Whether a collection has visual words.

/** @param {import("./types.js").Collection} about */
export const lacksWords = (about) => !about.spaces.some((space) => space.name === "words" && space.generation > 0);
