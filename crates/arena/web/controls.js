/** The buttons and sliders with which a player breaks the network, to see what comes of it. */

const at = (id) => /** @type {any} */ (document.getElementById(id));

/**
 * @param {import('./network.js').Network} network
 * @param {{ online: () => void }} told `online`: there is a network again
 */
export function wireControls(network, { online }) {
  const [offline, seconds, slow] = [at('offline'), at('offline-seconds'), at('slow')];
  const label = () => {
    at('offline-for').textContent = `${network.isOffline ? Math.ceil(network.offlineMs / 1000) : seconds.value} s`;
    offline.disabled = network.isOffline;
  };
  at('cut').addEventListener('click', (event) => {
    network.cut();
    backToGame(event);
  });
  seconds.addEventListener('input', label);
  offline.addEventListener('click', (event) => {
    network.goOffline(seconds.value * 1000);
    backToGame(event);
    const count = setInterval(() => {
      label();
      if (network.isOffline) return;
      clearInterval(count);
      // After a dial that has just been refused.
      setTimeout(online, 20);
    }, 100);
    label();
  });
  slow.addEventListener('input', () => {
    network.delayMs = Number(slow.value);
    at('slow-for').textContent = network.delayMs === 0 ? 'off' : `+${network.delayMs} ms`;
  });
  label();
}

/**
 * A button that was clicked keeps the focus, and the space bar, which zaps, would press it again. Whoever
 * pressed it by key stays on it.
 * @param {MouseEvent} event
 */
export function backToGame(event) {
  if (event.detail > 0) at('canvas').focus({ preventScroll: true });
}
