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
/** @typedef {{name: string, kind: "space"|"profile"|"metric"|"map", learned: boolean, spaces: string[], figures: Figures|null}} Similarity */
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
 * @property {{job: number, what: string, since: string|null}|null} job the number is 0 where another program does it
 * @property {string} similarity
 * @property {string} profile
 * @property {boolean} deep
 * @property {string|null} hint
 */
/** @typedef {{upload: string, width: number, height: number, image: string}} Upload */

/**
 * A learned metric or map.
 * @typedef {object} Model
 * @property {string} name
 * @property {"metric"|"map"} kind
 * @property {string} space
 * @property {string} profile
 * @property {string} made
 * @property {boolean} stale made for vectors that are no more
 * @property {number} since lines of the log it has not learned from
 * @property {boolean} learned false: there was too little to learn from
 * @property {number|null} agreement on what was held out
 * @property {number|null} agreement_plain of the space alone, on the same
 * @property {Record<string, unknown>} figures
 * @property {string} told one sentence: what it was made of, and how good it is
 */
/**
 * @typedef {object} MapPoints most important first; sheet n shows pictures n * on_a_sheet and on
 * @property {string} name
 * @property {string} version
 * @property {string[]} ids
 * @property {number[]} x
 * @property {number[]} y
 * @property {number[]|null} columns side by side, each near its place; null: too many
 * @property {number[]|null} rows
 * @property {number} on_a_sheet
 * @property {number} across
 * @property {number} sprite side of a picture on a sheet
 */
/** @typedef {{guest: boolean, name: string}} Me who looks at the page: its owner, or a guest who may answer questions */
/** @typedef {{anchor: Picture, left: Picture, right: Picture}} Comparison */
/** @typedef {{yours: number, all: number, agreement: number|null, tested: number}} CompareProgress */
/**
 * @typedef {object} CompareReport
 * @property {{name: string, answers: number, agreement: number|null, with_others: number|null}[]} people
 * @property {{questions: number, agreement: number}|null} repeated
 */
/** @typedef {{tag: string, confidence: number, calibrated: boolean, because: {picture: Picture, weight: number}[]}} Suggestion */
/** @typedef {{picture: Picture, tags: Record<string, string[]>, refused: string[], suggestions: Suggestion[]}} Tagged tags with who says so */

export {};
