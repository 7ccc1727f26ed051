// All talk with the server.  Every failure becomes an ApiError whose message a person can act on.

import { t } from "./texts.js";

/** @typedef {import("./types.js").Query} Query */
/** @typedef {import("./types.js").Shapes} Shapes */
/** @typedef {NonNullable<import("./types.js").Sent<"get", "/api/library/months">["query"]>} LibraryFilters */

/** What somebody says, which arrives although they leave the page. @type {Set<string>} */
const LASTING = new Set([
  "/api/judge", "/api/undo", "/api/compare/answers", "/api/compare/undo", "/api/tags/set", "/api/tags/accept", "/api/tags/reject", "/api/tags/undo",
  "/api/tags/settle", "/api/library/marks", "/api/library/marks/restore", "/api/library/albums/add", "/api/library/albums/take", "/api/actions/undo",
]);
const SMALL = 4096; // bytes of such a request: a browser allows 64 KiB for all of them together

export class ApiError extends Error {
  /**
   * @param {string} kind
   * @param {string} message
   * @param {number} status 0: no answer at all
   */
  constructor(kind, message, status) {
    super(message.charAt(0).toUpperCase() + message.slice(1));
    this.kind = kind;
    this.status = status;
  }
}

/**
 * Place, body and answer are checked against the server's own description.
 * @template {import("./types.js").Method} M
 * @template {import("./types.js").PlaceOf<M>} P
 * @param {M} method
 * @param {P} place with {names} in it that ``path`` fills
 * @param {import("./types.js").Sent<M, P>} sent
 * @returns {Promise<import("./types.js").Answer<M, P>>}
 */
async function call(method, place, sent) {
  const { path, query, json, raw, signal } = /** @type {Loose} */ (sent);
  const body = raw ?? (json === undefined ? null : JSON.stringify(json));
  let answer;
  try {
    answer = await fetch(addressOf(place, path, query), {
      method: method.toUpperCase(),
      signal: signal ?? null,
      credentials: "same-origin",
      headers: json === undefined ? {} : { "Content-Type": "application/json" },
      body,
      keepalive: LASTING.has(place) && typeof body === "string" && body.length < SMALL,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError("offline", t.api.offline, 0);
  }
  let said = null;
  try {
    said = await answer.json();
  } catch (error) {
    if (signal?.aborted) throw error;
  }
  if (answer.ok) return said;
  if (answer.status === 401) {
    throw new ApiError("unknown_visitor", t.api.unknownVisitor, 401);
  }
  const { kind = "error", message = t.api.noReason(answer.status) } = said?.error ?? {};
  throw new ApiError(kind, message, answer.status);
}

/** @typedef {Record<string, string|number|null|undefined>} Values */
/** @typedef {{path?: Values, query?: Values, json?: unknown, raw?: Blob, signal?: AbortSignal}} Loose what any place may be sent */

/**
 * @param {string} place
 * @param {Values} [path]
 * @param {Values} [query] those that are set
 */
function addressOf(place, path = {}, query = {}) {
  const made = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") made.set(key, String(value));
  }
  const filled = place.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(path[name])));
  const asked = made.toString();
  return asked ? `${filled}?${asked}` : filled;
}

/** @param {unknown} error */
export const aborted = (error) => error instanceof DOMException && error.name === "AbortError";

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

export const api = {
  collection: () => call("get", "/api/collection", {}),

  /** @param {number} offset @param {number} limit */
  problems: (offset, limit) => call("get", "/api/collection/problems", { query: { offset, limit } }),

  /** @param {string} folder */
  add: (folder) => call("post", "/api/collection/add", { json: { folder } }),

  sync: () => call("post", "/api/collection/sync", {}),

  describe: () => call("post", "/api/collection/describe", {}),

  /** @param {number} job */
  stop: (job) => call("post", "/api/collection/stop", { json: { job } }),

  verify: () => call("post", "/api/collection/verify", {}),

  /**
   * @param {NonNullable<import("./types.js").Sent<"get", "/api/pictures">["query"]>} query
   * @param {AbortSignal} [signal]
   */
  pictures: (query, signal) => call("get", "/api/pictures", { query, signal }),

  /** @param {string} picture */
  picture: (picture) => call("get", "/api/pictures/{picture}", { path: { picture } }),

  /** @param {string} picture */
  facts: (picture) => call("get", "/api/pictures/{picture}/facts", { path: { picture } }),

  /** @param {string} picture */
  reveal: (picture) => call("post", "/api/pictures/{picture}/reveal", { path: { picture } }),

  /** @param {Blob} raw */
  upload: (raw) => call("post", "/api/uploads", { raw }),

  /** @param {Shapes["SearchIn"]} json @param {AbortSignal} [signal] */
  search: (json, signal) => call("post", "/api/search", { json, signal }),

  /** @param {Query} query @param {string} picture @param {string|null} by */
  explain: (query, picture, by) => call("post", "/api/explain", { json: { query, picture, by } }),

  /** @param {Shapes["JudgeIn"]} json */
  judge: (json) => call("post", "/api/judge", { json }),

  /** @param {number|null} judgement null: the last one @param {string} profile */
  undo: (judgement, profile) => call("post", "/api/undo", { json: { judgement, profile } }),

  similarities: () => call("get", "/api/similarities", {}),

  /** @param {string} name */
  use: (name) => call("post", "/api/similarities/use", { json: { name } }),

  /** @param {Shapes["ProfileIn"]} json */
  newProfile: (json) => call("post", "/api/profiles", { json }),

  /** @param {string} prefix @param {number} limit */
  tags: (prefix, limit) => call("get", "/api/tags", { query: { prefix, limit } }),

  /** @param {number} offset @param {number} limit */
  untagged: (offset, limit) => call("get", "/api/tags/untagged", { query: { offset, limit } }),

  /** @param {string} picture */
  tagsOf: (picture) => call("get", "/api/pictures/{picture}/tags", { path: { picture } }),

  /** @param {Shapes["TagManyIn"]} json */
  tagMany: (json) => call("post", "/api/tags/set", { json }),

  /** @param {string} picture @param {string} tag */
  acceptTag: (picture, tag) => call("post", "/api/tags/accept", { json: { picture, tag } }),

  /** @param {string} picture @param {string} tag */
  rejectTag: (picture, tag) => call("post", "/api/tags/reject", { json: { picture, tag } }),

  /** @param {Shapes["SaveIn"]} json */
  saveTag: (json) => call("post", "/api/tags/save", { json }),

  /** @param {number[]} lines */
  undoTags: (lines) => call("post", "/api/tags/undo", { json: { lines } }),

  /** @param {number} above */
  tagAll: (above) => call("post", "/api/tags/all", { json: { above } }),

  /** @param {string} tag @param {number} offset @param {number} limit */
  suggested: (tag, offset, limit) => call("get", "/api/tags/suggested", { query: { tag, offset, limit } }),

  /** @param {Shapes["SettleIn"]} json */
  settleTags: (json) => call("post", "/api/tags/settle", { json }),

  /** @param {number} limit */
  actions: (limit) => call("get", "/api/actions", { query: { limit } }),

  /** @param {number} action */
  undoAction: (action) => call("post", "/api/actions/undo", { json: { action } }),

  /** @param {Shapes["RemoveIn"]} json */
  remove: (json) => call("post", "/api/pictures/remove", { json }),

  /** @param {string} place */
  planXmp: (place) => call("post", "/api/tags/export/plan", { json: { place } }),

  /** @param {string} place */
  exportXmp: (place) => call("post", "/api/tags/export", { json: { place } }),

  /** @param {LibraryFilters} query */
  months: (query) => call("get", "/api/library/months", { query }),

  /** @param {string} month @param {NonNullable<import("./types.js").Sent<"get", "/api/library/months/{month}">["query"]>} query */
  month: (month, query) => call("get", "/api/library/months/{month}", { path: { month }, query }),

  /** @param {LibraryFilters} query */
  folders: (query) => call("get", "/api/library/folders", { query }),

  cameras: () => call("get", "/api/library/cameras", {}),

  /** @param {LibraryFilters} query */
  places: (query) => call("get", "/api/library/places", { query }),

  /** @param {Shapes["MarkIn"]} json */
  mark: (json) => call("post", "/api/library/marks", { json }),

  /** @param {Shapes["RestoreMarksIn"]} json */
  restoreMarks: (json) => call("post", "/api/library/marks/restore", { json }),

  /** @param {string} picture */
  about: (picture) => call("get", "/api/library/pictures/{picture}", { path: { picture } }),

  albums: () => call("get", "/api/library/albums", {}),

  /** @param {string} album @param {string[]} pictures */
  addToAlbum: (album, pictures) => call("post", "/api/library/albums/add", { json: { album, pictures } }),

  /** @param {string} album @param {string[]} pictures */
  takeFromAlbum: (album, pictures) => call("post", "/api/library/albums/take", { json: { album, pictures } }),

  /** @param {string} album @param {string} name */
  renameAlbum: (album, name) => call("post", "/api/library/albums/rename", { json: { album, name } }),

  /** @param {string} album */
  deleteAlbum: (album) => call("post", "/api/library/albums/delete", { json: { album } }),

  duplicates: () => call("get", "/api/library/duplicates", {}),

  findDuplicates: () => call("post", "/api/library/duplicates", {}),

  me: () => call("get", "/api/me", {}),

  keys: () => call("get", "/api/keys", {}),

  /** @param {Shapes["KeyIn"]} json */
  addKey: (json) => call("post", "/api/keys", { json }),

  /** @param {number} key */
  revokeKey: (key) => call("post", "/api/keys/{key}/revoke", { path: { key } }),

  /** @param {number} key */
  takeBackKey: (key) => call("post", "/api/keys/{key}/take-back", { path: { key } }),

  /** @param {number} n @param {string} profile @param {number} seed */
  questions: (n, profile, seed) => call("get", "/api/compare/questions", { query: { n, profile, seed } }),

  /** @param {Shapes["AnswerIn"]} json */
  compare: (json) => call("post", "/api/compare/answers", { json }),

  /** @param {number} number @param {string} profile */
  uncompare: (number, profile) => call("post", "/api/compare/undo", { json: { number, profile } }),

  /** @param {string} profile */
  waiting: (profile) => call("get", "/api/compare/waiting", { query: { profile } }),

  /** @param {string|null} answers @param {string} profile */
  takeIn: (answers, profile) => call("post", "/api/compare/take-in", { json: { answers, profile } }),

  /** @param {string} profile */
  compareReport: (profile) => call("get", "/api/compare/report", { query: { profile } }),

  shares: () => call("get", "/api/compare/shares", {}),

  /** @param {string} name @param {string} profile */
  share: (name, profile) => call("post", "/api/compare/shares", { json: { name, profile } }),

  /** @param {string} name */
  unshare: (name) => call("post", "/api/compare/unshare", { json: { name } }),

  models: () => call("get", "/api/models", {}),

  /** @param {Shapes["LearnIn"]} json */
  learnModel: (json) => call("post", "/api/models", { json }),

  /** @param {string} name */
  forgetModel: (name) => call("delete", "/api/models/{name}", { path: { name } }),

  /** @param {string} name */
  map: (name) => call("get", "/api/maps/{name}", { path: { name } }),

  /** @param {string} name @param {number} number @param {string} version */
  sheetAddress: (name, number, version) => addressOf(SHEET, { name, number }, { version }),

  /** @param {string} name */
  mapTags: (name) => call("get", "/api/maps/{name}/tags", { path: { name } }),

  /** @param {string} name @param {Shapes["ColourIn"]} json */
  mapLikeness: (name, json) => call("post", "/api/maps/{name}/likeness", { path: { name }, json }),

  /** @param {string} name */
  learned: (name) => call("get", "/api/profiles/{name}/learned", { path: { name } }),

  /** @param {string} name @param {number} position */
  rollBack: (name, position) => call("post", "/api/profiles/{name}/rollback", { path: { name }, json: { position } }),
};

/** @satisfies {keyof import("./types.js").Paths} */
const SHEET = "/api/maps/{name}/sheets/{number}";

/**
 * The address of a thumbnail sharp enough for its box.
 * @param {import("./types.js").Picture} picture
 * @param {number} side pixels of the box's longer side
 */
export function thumbnail(picture, side) {
  const wanted = side * Math.min(devicePixelRatio || 1, 2);
  return `${picture.thumbnail}?side=${wanted > 360 ? 640 : 320}`;
}
