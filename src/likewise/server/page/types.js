// The shapes that travel between page and server, for the type checker and for readers; no code.

/**
 * A picture of the collection.
 * @typedef {object} Picture
 * @property {string} id opaque; never taken apart
 * @property {string} name
 * @property {string} folder
 * @property {number} width upright, in pixels
 * @property {number} height
 * @property {string|null} date
 * @property {string} thumbnail
 * @property {string} image
 */
/** @typedef {"liked"|"disliked"} Verdict */
/** @typedef {Picture & {score?: number, verdict?: Verdict|null}} Item a picture, or a hit with its score */
/** @typedef {Picture & {tags: string[], path: string, metadata: Record<string, unknown>, format: string}} PictureMore */
/** @typedef {[number, number, number, number]} Box x, y, width, height */
/** @typedef {{picture?: string, upload?: string, region?: Box}} Query */
/** @typedef {{folder?: string, tag?: string, after?: string, before?: string}} Where */
/**
 * @typedef {object} SearchAnswer
 * @property {number} total
 * @property {Item[]} items
 * @property {string} by
 * @property {string|null} profile
 * @property {{liked: number, disliked: number}} learned
 * @property {number} ms
 * @property {{highest: number|null, lowest: number|null}} scores
 */
/** @typedef {{total: number, items: Item[]}} PageAnswer */
/**
 * @typedef {object} Figures
 * @property {number} judgements
 * @property {number|null} agreement
 * @property {number|null} agreement_plain
 * @property {number} changed
 * @property {number} sparsity
 * @property {string|null} space
 */
/** @typedef {{name: string, learned: boolean, spaces: string[], figures: Figures|null}} Similarity */
/** @typedef {{default: string, items: Similarity[]}} Similarities */
/** @typedef {{contribution: number, query: [number, number][], picture: [number, number][]}} SharedWord */
/** @typedef {{score: number, shared: number, words: SharedWord[], query_size: [number, number], picture_size: [number, number]}} Explanation */
/**
 * A line of a profile's log.
 * @typedef {object} Line
 * @property {number} number
 * @property {string} kind
 * @property {string} made
 * @property {number} session
 * @property {boolean} stands
 * @property {Picture|null} query
 * @property {Picture[]} liked
 * @property {Picture[]} disliked
 * @property {number|null} about
 * @property {number[]} contradicts
 */
/** @typedef {{picture: Picture, box: Box|null}} Example box in pixels of the upright picture */
/** @typedef {{word: number, weight: number, change: number, frequency: number, examples: Example[]}} LearnedWord */
/** @typedef {{n: number, learned: number, plain: number}} CurvePoint */
/**
 * @typedef {object} Learned
 * @property {string} profile
 * @property {string|null} space
 * @property {number} version
 * @property {Figures} figures
 * @property {LearnedWord[]} gained
 * @property {LearnedWord[]} lost
 * @property {CurvePoint[]} curve
 * @property {Line[]} versions
 */
/** @typedef {{name: string, kind: string, generation: number, width: number, pictures: number, bytes: number}} Space */
/**
 * @typedef {object} Collection
 * @property {string} name
 * @property {number} pictures
 * @property {number} problems
 * @property {string[]} folders
 * @property {Space[]} spaces
 * @property {number} bytes
 * @property {{what: string, since: number|null}|null} job
 * @property {string} similarity
 * @property {string} profile
 * @property {boolean} deep
 * @property {string|null} hint
 */
/** @typedef {{upload: string, width: number, height: number, image: string}} Upload */

export {};
