// Visual words: what they are for and what they cost, where a collection has none.

/** @param {import("./types.js").Collection} about */
export const lacksWords = (about) => !about.spaces.some((space) => space.name === "words" && space.generation > 0);

export const WORDS_USE = "Visual words find the same thing seen again, and small details in large pictures; and they show which places of two pictures agree.";
export const WORDS_COST = "They take .05 to .2 s of processor time a picture, once; you can search meanwhile.";
