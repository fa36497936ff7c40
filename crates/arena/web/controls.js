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
  at('cut').addEventListener('click', () => network.cut());
  seconds.addEventListener('input', label);
  offline.addEventListener('click', () => {
    network.goOffline(seconds.value * 1000);
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
    at('slow-for').textContent = network.delayMs === 0 ? 'off' : `+${network.delayMs} ms each way`;
  });
  label();
}
