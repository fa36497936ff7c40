/**
 * Server-sent events read from an answer: browsers' own EventSource sends no key with its request.
 */

/** The largest event, in characters. */
const EVENT_MAX = 1_048_576;

/**
 * The events of an answer that is a stream of them, until it is over.
 * @param {Response} answer
 * @returns {AsyncGenerator<{ name: string, data: any }, void, void>}
 */
export async function* events(answer) {
  if (!answer.body) return;
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let waiting = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      waiting += decoder.decode(value, { stream: true });
      const blocks = waiting.split('\n\n');
      waiting = /** @type {string} */ (blocks.pop());
      for (const block of blocks) {
        const event = read(block);
        if (event) yield event;
      }
      if (waiting.length > EVENT_MAX) throw new Error(`an event has more than ${EVENT_MAX} characters`);
    }
  } finally {
    // Whoever has heard enough lets go of the connection.
    await reader.cancel().catch(() => {});
  }
}

/**
 * The event in these lines; none in a comment.
 * @param {string} block
 */
function read(block) {
  const fields = new Map(block.split('\n').map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
  }));
  const [name, data] = [fields.get('event'), fields.get('data')];
  return name !== undefined && data !== undefined ? { name, data: JSON.parse(data) } : undefined;
}
