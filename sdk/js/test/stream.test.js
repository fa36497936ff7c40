// Server-sent events, read from an answer in whatever pieces it comes.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { events } from '../src/stream.js';

/** An answer that comes in pieces of this size, and says whether it was let go. */
function answer(text, size) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const told = { cancelled: false };
  const body = new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, (at += size)));
    },
    cancel() {
      told.cancelled = true;
    },
  });
  return { answer: new Response(body), told };
}

test('events are read however they are cut', async () => {
  const text = 'event: begin\ndata: {}\n\n: beat\n\nevent:ended\ndata:{"name":"ä"}\n\nevent: x\n';
  for (let size = 1; size <= text.length; size += 1) {
    const read = [];
    for await (const event of events(answer(text, size).answer)) read.push(event);
    assert.deepEqual(read, [{ name: 'begin', data: {} }, { name: 'ended', data: { name: 'ä' } }], `in pieces of ${size}`);
  }
});

test('whoever has heard enough lets go, and an event without an end is too much', async () => {
  const { answer: first, told } = answer('event: a\ndata: 1\n\nevent: b\ndata: 2\n\n', 18);
  for await (const { data } of events(first)) if (data === 1) break;
  assert.ok(told.cancelled);
  const endless = answer('x'.repeat(1_100_000), 100_000).answer;
  await assert.rejects(async () => {
    for await (const event of events(endless)) assert.fail(`${event}`);
  }, /more than 1048576/);
});
