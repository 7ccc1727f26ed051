// All talk with the server.  Every failure becomes an ApiError whose message a person can act on.

/** @typedef {import("./types.js").Query} Query */

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
 * @param {string} method
 * @param {string} path
 * @param {{json?: unknown, raw?: Blob, signal?: AbortSignal}} [more]
 * @returns {Promise<any>}
 */
async function call(method, path, { json, raw, signal } = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      credentials: "same-origin",
      headers: json === undefined ? {} : { "Content-Type": "application/json" },
      body: raw ?? (json === undefined ? undefined : JSON.stringify(json)),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError("offline", "Likewise does not answer. Is it still running in its terminal?", 0);
  }
  let said = null;
  try {
    said = await answer.json();
  } catch (error) {
    if (signal?.aborted) throw error;
  }
  if (answer.ok) return said;
  if (answer.status === 401) {
    throw new ApiError("unknown_visitor", "This page may no longer ask: open the address that Likewise printed when it started.", 401);
  }
  const { kind = "error", message = `The server answered ${answer.status} and did not say why.` } = said?.error ?? {};
  throw new ApiError(kind, message, answer.status);
}

/** @param {Record<string, string|number|undefined>} values those that are set */
function params(values) {
  const made = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined && value !== "") made.set(key, String(value));
  }
  return made.toString();
}

/** @param {unknown} error */
export const aborted = (error) => error instanceof DOMException && error.name === "AbortError";

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** @param {string} id */
const picturePath = (id) => `/api/pictures/${encodeURIComponent(id)}`;

/** @param {string} name */
const profilePath = (name) => `/api/profiles/${encodeURIComponent(name)}`;

/** @param {string} name */
const mapPath = (name) => `/api/maps/${encodeURIComponent(name)}`;

export const api = {
  /** @returns {Promise<import("./types.js").Collection>} */
  collection: () => call("GET", "/api/collection"),

  /**
   * @param {number} offset
   * @param {number} limit
   * @returns {Promise<{total: number, items: {path: string, problem: string}[]}>}
   */
  problems: (offset, limit) => call("GET", `/api/collection/problems?${params({ offset, limit })}`),

  /** @param {string} folder @returns {Promise<{job: number}>} */
  add: (folder) => call("POST", "/api/collection/add", { json: { folder } }),

  /** @returns {Promise<{job: number}>} */
  sync: () => call("POST", "/api/collection/sync", { json: {} }),

  /** @returns {Promise<{wrong: string[]}>} */
  verify: () => call("POST", "/api/collection/verify", { json: {} }),

  /**
   * @param {Record<string, string|number|undefined>} wanted offset, limit, sort, order and filters
   * @param {AbortSignal} [signal]
   * @returns {Promise<import("./types.js").PageAnswer>}
   */
  pictures: (wanted, signal) => call("GET", `/api/pictures?${params(wanted)}`, { signal }),

  /** @param {string} id @returns {Promise<import("./types.js").PictureMore>} */
  picture: (id) => call("GET", picturePath(id)),

  /** @param {Blob} raw @returns {Promise<import("./types.js").Upload>} */
  upload: (raw) => call("POST", "/api/uploads", { raw }),

  /**
   * @param {object} wanted
   * @param {AbortSignal} [signal]
   * @returns {Promise<import("./types.js").SearchAnswer>}
   */
  search: (wanted, signal) => call("POST", "/api/search", { json: wanted, signal }),

  /**
   * @param {Query} query
   * @param {string} picture
   * @param {string|null} by
   * @returns {Promise<import("./types.js").Explanation>}
   */
  explain: (query, picture, by) => call("POST", "/api/explain", { json: { query, picture, by } }),

  /**
   * @param {{query: Query, liked?: string[], disliked?: string[], shown?: string[]|null, profile: string}} said
   * @returns {Promise<{judgement: number, contradicts: number[], learned: import("./types.js").Figures|null}>}
   */
  judge: (said) => call("POST", "/api/judge", { json: said }),

  /**
   * @param {number|null} judgement null: the last one
   * @param {string} profile
   * @returns {Promise<{judgement: number}>}
   */
  undo: (judgement, profile) => call("POST", "/api/undo", { json: { judgement, profile } }),

  /** @returns {Promise<import("./types.js").Similarities>} */
  similarities: () => call("GET", "/api/similarities"),

  /** @param {string} name */
  use: (name) => call("POST", "/api/similarities/use", { json: { name } }),

  /** @param {{name: string, base: string|null, copy_of: string|null}} profile */
  newProfile: (profile) => call("POST", "/api/profiles", { json: profile }),

  /** @param {string} prefix @param {number} limit @returns {Promise<{items: {tag: string, pictures: number, sources: Record<string, number>}[]}>} */
  tags: (prefix, limit) => call("GET", `/api/tags?${params({ prefix, limit })}`),

  /** @param {number} offset @param {number} limit @returns {Promise<{total: number, items: import("./types.js").Picture[]}>} */
  untagged: (offset, limit) => call("GET", `/api/tags/untagged?${params({ offset, limit })}`),

  /** @param {string} id @returns {Promise<import("./types.js").Tagged>} */
  tagsOf: (id) => call("GET", `${picturePath(id)}/tags`),

  /** @param {{pictures: string[], add?: string[], remove?: string[]}} said @returns {Promise<{lines: number[]}>} */
  tagMany: (said) => call("POST", "/api/tags/set", { json: said }),

  /** @param {string} picture @param {string} tag @returns {Promise<{lines: number[]}>} */
  acceptTag: (picture, tag) => call("POST", "/api/tags/accept", { json: { picture, tag } }),

  /** @param {string} picture @param {string} tag @returns {Promise<{lines: number[]}>} */
  rejectTag: (picture, tag) => call("POST", "/api/tags/reject", { json: { picture, tag } }),

  /** @param {number[]} lines @returns {Promise<{lines: number[]}>} */
  undoTags: (lines) => call("POST", "/api/tags/undo", { json: { lines } }),

  /** @param {number} above @returns {Promise<{job: number}>} */
  tagAll: (above) => call("POST", "/api/tags/all", { json: { above } }),

  /** @param {string} place @returns {Promise<{job: number}>} */
  exportXmp: (place) => call("POST", "/api/tags/export", { json: { place } }),

  /** @returns {Promise<import("./types.js").Me>} */
  me: () => call("GET", "/api/me"),

  /** @param {number} n @param {string} profile @param {number} seed @returns {Promise<{questions: import("./types.js").Comparison[], progress: import("./types.js").CompareProgress}>} */
  questions: (n, profile, seed) => call("GET", `/api/compare/questions?${params({ n, profile, seed })}`),

  /** @param {{anchor: string, nearer: string, farther: string, profile: string, once: string}} said @returns {Promise<{number: number, progress: import("./types.js").CompareProgress}>} */
  compare: (said) => call("POST", "/api/compare/answers", { json: said }),

  /** @param {number} number @param {string} profile @returns {Promise<{number: number, progress: import("./types.js").CompareProgress}>} */
  uncompare: (number, profile) => call("POST", "/api/compare/undo", { json: { number, profile } }),

  /** @param {string} profile @returns {Promise<import("./types.js").CompareReport>} */
  compareReport: (profile) => call("GET", `/api/compare/report?${params({ profile })}`),

  /** @returns {Promise<{items: {name: string, made: string, answers: number}[]}>} */
  shares: () => call("GET", "/api/compare/shares"),

  /** @param {string} name @param {string} profile @returns {Promise<{name: string, address: string}>} */
  share: (name, profile) => call("POST", "/api/compare/shares", { json: { name, profile } }),

  /** @param {string} name */
  unshare: (name) => call("POST", "/api/compare/unshare", { json: { name } }),

  /** @returns {Promise<{items: import("./types.js").Model[]}>} */
  models: () => call("GET", "/api/models"),

  /** @param {{kind: "map"|"metric", name: string, space?: string|null, profile?: string}} wanted @returns {Promise<{job: number}>} */
  learnModel: (wanted) => call("POST", "/api/models", { json: wanted }),

  /** @param {string} name */
  forgetModel: (name) => call("DELETE", `/api/models/${encodeURIComponent(name)}`),

  /** @param {string} name @returns {Promise<import("./types.js").MapPoints>} */
  map: (name) => call("GET", mapPath(name)),

  /** @param {string} name @param {number} number @param {string} version */
  sheetAddress: (name, number, version) => `${mapPath(name)}/sheets/${number}?${params({ version })}`,

  /** @param {string} name @returns {Promise<{tags: string[], counts: number[], points: number[]}>} */
  mapTags: (name) => call("GET", `${mapPath(name)}/tags`),

  /** @param {string} name @param {{query: Query, by: string}} asked @returns {Promise<{ranks: number[]}>} */
  mapLikeness: (name, asked) => call("POST", `${mapPath(name)}/likeness`, { json: asked }),

  /** @param {string} name @returns {Promise<import("./types.js").Learned>} */
  learned: (name) => call("GET", `${profilePath(name)}/learned`),

  /** @param {string} name @param {number} position */
  rollBack: (name, position) => call("POST", `${profilePath(name)}/rollback`, { json: { position } }),
};

/**
 * The address of a thumbnail sharp enough for its box.
 * @param {import("./types.js").Picture} picture
 * @param {number} side pixels of the box's longer side
 */
export function thumbnail(picture, side) {
  const wanted = side * Math.min(devicePixelRatio || 1, 2);
  return `${picture.thumbnail}?side=${wanted > 360 ? 640 : 320}`;
}
