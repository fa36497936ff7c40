/**
 * What a browser knows and a socket does not: that the network has gone or is there again, and that
 * somebody looks again at a page whose timers hardly ran meanwhile. Outside of pages nothing is known.
 */

/**
 * Calls `hasten` when it is worth while to try at once, or to ask whether the connection lives; `doubt`
 * when there is reason to think that it does not.
 * @param {{ hasten: () => void, doubt: () => void }} listener
 * @returns {() => void} stops watching
 */
export function watchSurroundings({ hasten, doubt }) {
  const { document } = globalThis;
  const looked = () => {
    if (document.visibilityState === 'visible') hasten();
  };
  globalThis.addEventListener?.('online', hasten);
  globalThis.addEventListener?.('offline', doubt);
  document?.addEventListener('visibilitychange', looked);
  return () => {
    globalThis.removeEventListener?.('online', hasten);
    globalThis.removeEventListener?.('offline', doubt);
    document?.removeEventListener('visibilitychange', looked);
  };
}
