// Names for what travels between page and server, for the type checker and for readers; no code.
// The shapes themselves are the server's: "likewise-api" is made from its OpenAPI description by
// ``make check-page``, so that neither side can change alone.

/** @typedef {import("likewise-api").paths} Paths */
/** @typedef {import("likewise-api").components["schemas"]} Shapes */

/** @typedef {Shapes["PictureOut"]} Picture */
/** @typedef {Shapes["PictureMore"]} PictureMore */
/** @typedef {Shapes["HitOut"]} Hit */
/** @typedef {NonNullable<Hit["verdict"]>} Verdict */
/** @typedef {Picture & Partial<Pick<Hit, "score"|"verdict"|"reasons"|"stars"|"favourite"|"hidden">>} Item a picture, or a hit with its score */
/** @typedef {Shapes["LibraryPictureOut"]} LibraryPicture */
/** @typedef {Shapes["FolderOut"]} Folder */
/** @typedef {Shapes["DuplicateGroupOut"]} DuplicateGroup */
/** @typedef {Shapes["ReasonOut"]} Reason */
/** @typedef {Shapes["QueryIn"]} Query the picture of a question */
/** @typedef {Pick<Shapes["SearchIn"], "query"|"text">} Asked a picture, typed words, or both */
/** @typedef {NonNullable<Query["region"]>} Box x, y, width, height */
/** @typedef {Shapes["SimilarityOut"]} Similarity */
/** @typedef {Shapes["SimilaritiesOut"]} Similarities */
/** @typedef {Shapes["ExplainOut"]} Explanation */
/** @typedef {Shapes["LineOut"]} Line */
/** @typedef {Shapes["ExampleOut"]} Example */
/** @typedef {Shapes["WordOut"]} LearnedWord */
/** @typedef {Shapes["DirectionOut"]} Direction */
/** @typedef {Shapes["MoveOut"]} Move */
/** @typedef {Shapes["CurveOut"]} CurvePoint */
/** @typedef {Shapes["LearnedOut"]} Learned */
/** @typedef {Shapes["CollectionOut"]} Collection */
/** @typedef {Shapes["RunningOut"]} Running */
/** @typedef {Shapes["ModelOut"]} Model */
/** @typedef {Shapes["PointsOut"]} MapPoints */
/** @typedef {Shapes["MeOut"]} Me who looks at the page: its owner, or a guest who may answer questions */
/** @typedef {Shapes["QuestionOut"]} Comparison */
/** @typedef {Shapes["ProgressOut"]} CompareProgress */
/** @typedef {Shapes["SuggestionOut"]} Suggestion */
/** @typedef {Shapes["TaggedOut"]} Tagged */
/** @typedef {Shapes["EventsOut"]} Events the data of each event, by its name */

/** @typedef {"get"|"post"|"delete"} Method */
/**
 * The places that can be asked in a way.
 * @template {Method} M
 * @typedef {{[P in keyof Paths]: Paths[P] extends Record<M, {parameters: object}> ? P : never}[keyof Paths]} PlaceOf
 */
/**
 * What such a place is sent: parts of its path, what follows the question mark, and a body.
 * @template {Method} M
 * @template {PlaceOf<M>} P
 * @typedef {Paths[P] extends Record<M, infer O extends {parameters: {path?: unknown, query?: unknown}}>
 *   ? Pick<O["parameters"], "path"|"query"> & BodyOf<O> & {signal?: AbortSignal|undefined} : never} Sent
 */
/**
 * @template O
 * @typedef {O extends {requestBody: {content: infer C}}
 *   ? C extends {"application/json": infer B} ? {json: B} : {raw: Blob} : {}} BodyOf
 */
/**
 * What it answers.
 * @template {Method} M
 * @template {PlaceOf<M>} P
 * @typedef {Paths[P] extends Record<M, {responses: infer R}>
 *   ? R[keyof R & (200|201|202)] extends {content: {"application/json": infer A}} ? A : never : never} Answer
 */

export {};
