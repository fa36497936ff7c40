/**
 * Where names stand: inside what can be seen, and not on top of each other. Sizes are units of the ground.
 */

const GAP = 4;
/** A label that finds no free place within so many steps stands where it would. */
const STEPS_MAX = 6;

/**
 * @typedef {{ left: number, top: number, right: number, bottom: number }} Box
 * @typedef {{ x: number, y: number, width: number, height: number, below: number }} Label
 *   `x`, `y`: the middle of its lower edge, above its hero; `below`: its lower edge if it stands below the hero
 */

/**
 * The middle of each label's lower edge, in their order: who comes first stands where it wants to.
 * @param {Label[]} labels
 * @param {Box} seen
 */
export function layOut(labels, seen) {
  /** @type {Box[]} */
  const taken = [];
  return labels.map((label) => {
    const half = label.width / 2;
    const x = Math.min(Math.max(label.x, seen.left + half), seen.right - half);
    const step = label.height + GAP;
    const isAbove = label.y - label.height >= seen.top;
    // Away from the hero, whichever side it stands on.
    const [first, way] = isAbove ? [label.y, -1] : [label.below, 1];
    const boxAt = (/** @type {number} */ y) => ({ left: x - half, top: y - label.height, right: x + half, bottom: y });
    const isFree = (/** @type {Box} */ box) =>
      box.top >= seen.top && box.bottom <= seen.bottom && !taken.some((other) => overlap(box, other));
    const places = Array.from({ length: STEPS_MAX }, (_, index) => first + way * index * step);
    const y = [...places, label.below].find((place) => isFree(boxAt(place))) ?? first;
    taken.push(boxAt(y));
    return { x, y };
  });
}

/**
 * @param {Box} one
 * @param {Box} other
 */
function overlap(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
