// A static web server for the module and its test page, and a browser that opens it.

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const CHROMIUM = [process.env.CHROMIUM_BIN, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const chromium = CHROMIUM.find((place) => place && existsSync(place)) ?? null;
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css' };

/** Why tests in a browser cannot run here; false when they can. */
export const noBrowser = chromium === null && 'there is no chromium: apt-get install chromium, or set CHROMIUM_BIN';

/** Where the SDK's own test page and what it loads are. */
const ofTests = (path) => (path.startsWith('/src/') ? path.slice(1) : `test/house${path}`);

/** Serves `src/` and the page on a free port; or what else is below `root`. */
export async function site(root = new URL('../../', import.meta.url), fileOf = ofTests) {
  const server = createServer(async (request, response) => {
    const file = fileOf(new URL(request.url, 'http://site/').pathname);
    try {
      const body = await readFile(new URL(file, root));
      response.writeHead(200, { 'content-type': TYPES[file.split('.').pop()] ?? 'text/plain' }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: server.address().port, close: () => server.close() };
}

/** Starts the browser. `phone.test` is this machine by a name that makes no secure context. */
export async function launch() {
  const playwright = await import('playwright-core');
  return playwright.chromium.launch({
    executablePath: chromium,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--host-resolver-rules=MAP phone.test 127.0.0.1'],
  });
}
