// Somebody who opens the arena in a browser of their own, and what they see there.

/** A browser's profile with one tab on the arena, and everything that went wrong in it. */
export async function visit(browser, server, { host = '127.0.0.1', ...settings } = {}) {
  const context = await browser.newContext(settings);
  const errors = [];
  const requests = [];
  context.on('request', (request) => requests.push(request.url()));
  const open = async () => {
    const page = await context.newPage();
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text());
    });
    await page.goto(`http://${host}:${server.port}/arena`);
    return page;
  };
  const page = await open();
  return { context, page, open, errors, requests };
}

/** Waits until the tab's hero is in the arena; what is known of it. */
export async function playing(page) {
  await page.locator('#state[data-state=connected]').waitFor();
  await page.locator('#me[data-id]').waitFor({ state: 'attached' });
  return me(page);
}

/** The own hero, and in `dx` and `dy` the way to the next coin. */
export async function me(page) {
  const { name, ...figures } = await page.locator('#me').evaluate((hero) => ({ ...hero.dataset }));
  return { name, ...Object.fromEntries(Object.entries(figures).map(([field, value]) => [field, Number(value)])) };
}

/** Waits until the own hero is as it should be. */
export async function until(page, what, holds, timeout = 60_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const hero = await me(page);
    if (await holds(hero)) return hero;
    if (Date.now() > end) throw new Error(`never ${what}; last seen: ${JSON.stringify(hero)}`);
    await page.waitForTimeout(30);
  }
}

/** Runs after coins until there are this many points. */
export async function earn(page, points) {
  const held = new Set();
  const press = async (key, isDown) => {
    if (held.has(key) === isDown) return;
    await page.keyboard[isDown ? 'down' : 'up'](key);
    held[isDown ? 'add' : 'delete'](key);
  };
  const steer = async (dx, dy) => {
    const wanted = { d: dx > 16, a: dx < -16, s: dy > 16, w: dy < -16 };
    for (const [key, isDown] of Object.entries(wanted)) await press(key, isDown);
  };
  await until(page, 'rich enough', async (hero) => {
    const isDone = hero.score >= points;
    await (isDone ? steer(0, 0) : steer(hero.dx, hero.dy));
    return isDone;
  });
  return me(page);
}

/** What the strip says of the last return, once it says something else than before. */
export async function returned(page, rung) {
  await page.locator(`#rung[data-rung=${rung}]`).waitFor({ timeout: 60_000 });
  const field = (id) => page.locator(`#${id}`).innerText();
  const [said, replayed, lost] = await Promise.all([field('rung'), field('replayed'), field('lost')]);
  return { said, replayed: Number(replayed), lost: Number(lost) };
}

/** Moves a slider as a hand does. */
export async function slide(page, id, value) {
  await page.locator(id).fill(String(value));
}
