// Where names stand in the arena: what can be said without a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { layOut } from '../../crates/arena/web/labels.js';

const seen = { left: 0, top: 0, right: 1600, bottom: 900 };
/** The label of a hero at this place, as the picture makes them. */
const label = (x, y, width = 120) => ({ x, y: y - 36, below: y + 70, width, height: 26 });

test('a name near an edge is moved inside, and one near the top stands below its hero', () => {
  const [left, right, top] = layOut([label(30, 400), label(1590, 400), label(800, 30)], seen);
  assert.equal(left.x, 60);
  assert.equal(right.x, 1540);
  assert.deepEqual(top, { x: 800, y: 100 });
});

test('names of heroes that stand together do not cover each other', () => {
  const labels = [label(500, 400), label(510, 402), label(495, 398), label(505, 405)];
  const boxes = layOut(labels, seen).map(({ x, y }) => ({ left: x - 60, right: x + 60, top: y - 26, bottom: y }));
  boxes.forEach((one, at) => {
    for (const other of boxes.slice(at + 1)) {
      const isApart = one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top;
      assert.ok(isApart, JSON.stringify([one, other]));
    }
  });
});
