// The real server as a process of its own, on free ports, ended by the test that started it.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';

/** Where the binary is: `REJOIN_BIN`, or where cargo puts it; nothing when it was not built. */
export function findBinary() {
  const root = new URL('../../../../', import.meta.url).pathname;
  const target = process.env.CARGO_TARGET_DIR ?? `${root}target`;
  const places = [process.env.REJOIN_BIN, `${target}/debug/rejoin`, `${target}/release/rejoin`];
  return places.find((place) => place && existsSync(place)) ?? null;
}

/** Why tests against a server cannot run here; false when they can. */
export const noServer = findBinary() === null && 'there is no rejoin binary: cargo build -p rejoin, or set REJOIN_BIN';

/** Starts a server that keeps everything in memory, or in a folder; on a free port, or a given one; with or without `--dev`. */
export async function serve(more = [], { data = null, port = 0, isDev = true } = {}) {
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith('REJOIN_'));
  const place = data === null ? ['--memory'] : ['--data', data];
  const settings = ['serve', '--listen', `127.0.0.1:${port}`, '--admin-listen', '127.0.0.1:0', ...place, ...(isDev ? ['--dev'] : []), '--guard', 'open', ...more];
  const child = spawn(findBinary(), settings, {
    cwd: tmpdir(),
    env: Object.fromEntries(environment),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const said = [];
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      said.push(line);
      const found = /ws:\/\/\S+\/play/.exec(line);
      if (found) resolve(new URL(found[0]));
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${said.join('\n')}`)));
    child.once('error', reject);
  });
  return {
    url: url.href,
    port: Number(url.port),
    /** Tells it to stop, and waits until it has. */
    async stop(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill(signal);
      await exit;
    },
  };
}
