// Rows of pictures that fill the width, in boxes of their own aspect.
//
// A chunk (one page of results) is laid out on its own, so that a jump to the ten-thousandth result
// needs no page before it.  Breaks are chosen for all rows of a chunk together: the sum of squared
// deviations from the wanted height is smallest (a shortest path over the possible breaks), so
// that no row is left over or torn at the end of a chunk.

/** @typedef {{first: number, top: number, height: number, left: number[], width: number[]}} Row */

const TALLEST = 6; // aspects beyond 1:6 and 6:1 are cut off: a panorama shall not flatten its row
const GREATEST = 1.7; // a last row is not stretched beyond this

/** @param {{width: number, height: number}|null} picture null: not known yet */
export function aspect(picture, place = 0) {
  if (!picture || !(picture.width > 0) || !(picture.height > 0)) return [1.5, 1.33, 0.75, 1.5, 1][place % 5];
  return Math.min(TALLEST, Math.max(1 / TALLEST, picture.width / picture.height));
}

/**
 * @param {number[]} aspects width / height of each picture
 * @param {number} width of the whole row
 * @param {number} wanted height
 * @param {number} gap between pictures and between rows
 * @param {boolean} last whether nothing follows: the last row may then stay short
 * @returns {{rows: Row[], height: number}}
 */
export function justify(aspects, width, wanted, gap, last) {
  const n = aspects.length;
  const best = new Float64Array(n + 1).fill(Infinity);
  const from = new Int32Array(n + 1);
  best[0] = 0;
  for (let start = 0; start < n; start++) {
    if (best[start] === Infinity) continue;
    let sum = 0;
    for (let end = start + 1; end <= n; end++) {
      sum += aspects[end - 1];
      const height = (width - gap * (end - start - 1)) / sum;
      const free = last && end === n && height > wanted;
      const off = free ? 0 : Math.log(Math.max(height, 1) / wanted);
      const cost = best[start] + off * off;
      if (cost < best[end]) {
        best[end] = cost;
        from[end] = start;
      }
      if (height < wanted / 3) break;
    }
  }
  const breaks = [];
  for (let end = n; end > 0; end = from[end]) breaks.push(end);
  breaks.push(0);
  breaks.reverse();

  /** @type {Row[]} */
  const rows = [];
  let top = 0;
  for (let i = 0; i + 1 < breaks.length; i++) {
    const first = breaks[i];
    const end = breaks[i + 1];
    let sum = 0;
    for (let k = first; k < end; k++) sum += aspects[k];
    let height = (width - gap * (end - first - 1)) / sum;
    if (last && end === n && height > wanted) height = i ? Math.min(height, wanted) : Math.min(height, wanted * GREATEST);
    const left = [];
    const widths = [];
    let x = 0;
    for (let k = first; k < end; k++) {
      left.push(x);
      widths.push(aspects[k] * height);
      x += aspects[k] * height + gap;
    }
    rows.push({ first, top, height, left, width: widths });
    top += height + gap;
  }
  return { rows, height: top };
}
