// A cable between a player and a server: a small TCP relay that can be cut, and plugged in again, perhaps
// into another server.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** A cable into the server on this port of this machine. */
export async function cable(port) {
  const pairs = new Set();
  let isPlugged = true;
  let isSilent = false;
  let target = port;
  /** Who dialled meanwhile, and hears nothing. @type {Set<import('node:net').Socket>} */
  const waiting = new Set();
  const relay = createServer((near) => {
    if (isPlugged) forward(near);
    else if (isSilent) waiting.add(near.on('error', () => near.destroy()));
    else near.destroy();
  });
  function forward(near) {
    const far = connect(target, '127.0.0.1');
    const pair = [near, far];
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const [from, to] of [[near, far], [far, near]]) {
      from.setNoDelay(true);
      from.pipe(to);
      from.on('error', end);
      from.on('close', end);
    }
  }
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    url: `ws://127.0.0.1:${relay.address().port}/play`,
    /** Ends what goes through it; new connections are let through. */
    cut() {
      for (const pair of [...pairs]) for (const socket of pair) socket.destroy();
    },
    /** Cuts it, and lets nothing through until it is plugged in again. */
    unplug() {
      isPlugged = false;
      isSilent = false;
      this.cut();
    },
    /** The same, but who dials is not refused: nothing answers. A browser slows down whoever is refused often. */
    mute() {
      this.unplug();
      isSilent = true;
    },
    plug(into = target) {
      target = into;
      isPlugged = true;
      for (const near of waiting) forward(near);
      waiting.clear();
    },
    close() {
      this.unplug();
      for (const near of waiting) near.destroy();
      relay.close();
    },
  };
}
